package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Function;
import java.util.stream.Stream;
import org.gorda.bench.workload.Parameter;
import org.gorda.bench.workload.Parameters;

/**
 * The transactions of a workload of the proof as a load test: nobody writes down what clients are told, and in the end what the database
 * holds is checked, as far as it can be without that. For databases that quote names and put texts together as standard SQL does.
 * Thread-safe.
 */
public final class ProofLoad implements org.gorda.bench.workload.Workload {

    private static final String MIXED = "mixed";

    private static final Parameter ISOLATION = Parameter.word(
            "isolation",
            word(Isolation.READ_COMMITTED),
            Stream.concat(Stream.of(MIXED), Arrays.stream(Isolation.values()).map(ProofLoad::word))
                    .toList(),
            "Of the transactions; mixed draws one for each.");

    /** Lists that get longer. */
    public static final Kind LIST_APPEND = new Kind(
            "list-append",
            "Appends to lists and reads them: one to four steps each, half of them on 3 lists of 12.",
            List.of(ISOLATION),
            values -> new ProofLoad(
                    "LISTS",
                    new ListAppend(
                            level(values),
                            Promise.LOCKS,
                            ThreadLocalRandom.current().nextInt(1 << 30))));

    /** Money that goes from account to account. */
    public static final Kind BANK = new Kind(
            "bank",
            "Moves money between 16 accounts and notes it, or sums up all of them; no money is made or lost.",
            List.of(ISOLATION),
            values -> new ProofLoad(
                    "Account",
                    new BankTransfers(
                            Dialect.DERBY,
                            level(values),
                            ThreadLocalRandom.current().nextLong(1L << 62))));

    /** What a client does, until it is done. Immutable. */
    private record Current(String name, Operation operation) {}

    private final String table;
    private final Workload workload;
    private final Map<Integer, Current> byClient = new ConcurrentHashMap<>();

    /** @param table which is there if all are, as the database writes it */
    private ProofLoad(String table, Workload workload) {
        this.table = table;
        this.workload = workload;
    }

    private static String word(Isolation level) {
        return level.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    private static Function<SplittableRandom, Isolation> level(Parameters values) {
        String chosen = values.text(ISOLATION.name());
        List<Isolation> levels = Arrays.stream(Isolation.values())
                .filter(level -> chosen.equals(MIXED) || chosen.equals(word(level)))
                .toList();
        return random -> levels.get(random.nextInt(levels.size()));
    }

    @Override
    public Kind kind() {
        return workload instanceof BankTransfers ? BANK : LIST_APPEND;
    }

    /** In one transaction, as the proof does it. */
    @Override
    public void load(Connection connection, Loading progress) throws SQLException {
        connection.setAutoCommit(false);
        if (!isLoaded(connection)) {
            try (Statement statement = connection.createStatement()) {
                for (String line : workload.schema()) {
                    statement.execute(line);
                }
            }
        }
        connection.commit();
    }

    @Override
    public boolean isLoaded(Connection connection) throws SQLException {
        for (String name : List.of(table, table.toLowerCase(Locale.ROOT))) {
            try (ResultSet tables = connection.getMetaData().getTables(null, null, name, new String[] {"TABLE"})) {
                if (tables.next()) {
                    return true;
                }
            }
        }
        return false;
    }

    @Override
    public void run(Connection connection, Choices choices) throws SQLException {
        Operation operation = operation(choices);
        connection.setTransactionIsolation(operation.isolation().jdbc());
        connection.setReadOnly(operation.readOnly());
        operation.run(connection);
        connection.commit();
    }

    /** The proof's workloads number what they write: a transaction that is run again writes the same. */
    private Operation operation(Choices choices) {
        Current current = byClient.get(choices.client());
        if (current == null || !current.name().equals(choices.name())) {
            current = new Current(choices.name(), workload.next(choices.random()));
            byClient.put(choices.client(), current);
        }
        return current.operation();
    }

    @Override
    public Check check(Connection connection) throws SQLException {
        Findings findings = new Findings();
        workload.checkState(connection, findings);
        return new Check(
                findings.isEmpty(), findings.isEmpty() ? workload.name() : String.join("; ", findings.lines()));
    }
}
