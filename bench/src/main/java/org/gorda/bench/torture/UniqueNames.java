package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;

/** Names that several clients want at once: each has one owner at most, whoever was told to be it. Thread-safe. */
final class UniqueNames implements Workload {

    /** The SQLSTATE that says so. */
    static final String TAKEN = "23505";

    /** So many want each name. */
    private static final int WANTED_BY = 4;

    private final Function<SplittableRandom, Isolation> isolation;
    private final AtomicLong last = new AtomicLong();

    /** @param isolation draws a transaction's level */
    UniqueNames(Function<SplittableRandom, Isolation> isolation) {
        this.isolation = isolation;
    }

    @Override
    public String name() {
        return "unique";
    }

    @Override
    public List<String> schema() {
        return List.of("CREATE TABLE NAMES (OWNER BIGINT NOT NULL PRIMARY KEY, NAME VARCHAR(40) NOT NULL UNIQUE)");
    }

    @Override
    public Operation next(SplittableRandom random) {
        long owner = last.incrementAndGet();
        return new Claim(isolation.apply(random), owner, "name " + owner / WANTED_BY);
    }

    /** Takes a name. */
    static final class Claim extends Operation {
        private final long owner;
        private final String name;

        Claim(Isolation isolation, long owner, String name) {
            super(isolation, false);
            this.owner = owner;
            this.name = name;
        }

        @Override
        void run(Connection connection) throws SQLException {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO NAMES VALUES (?, ?)")) {
                insert.setLong(1, owner);
                insert.setString(2, name);
                insert.executeUpdate();
            }
        }

        long owner() {
            return owner;
        }

        String name() {
            return name;
        }

        @Override
        String function() {
            return "claim";
        }

        @Override
        String value(boolean ended) {
            return "{:owner " + owner + ", :name \"" + name + "\"}";
        }
    }

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        Map<Long, String> names = new HashMap<>();
        try (Statement statement = replica.createStatement();
                ResultSet rows = statement.executeQuery("SELECT OWNER, NAME FROM NAMES")) {
            while (rows.next()) {
                names.put(rows.getLong(1), rows.getString(2));
            }
        }
        Map<String, Long> owners = new HashMap<>();
        names.forEach((owner, name) -> {
            if (owners.put(name, owner) != null) {
                findings.add(Findings.DUPLICATED, name + " is there more than once");
            }
        });
        Map<String, Long> told = new HashMap<>();
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Claim claim) {
                check(claim, recorded.outcome(), claim.name.equals(names.remove(claim.owner)), told, findings);
            }
        }
        names.forEach(
                (owner, name) -> findings.add("from nowhere", owner + " has " + name + ", which it did not claim"));
    }

    private static void check(Claim claim, Outcome outcome, boolean there, Map<String, Long> told, Findings findings) {
        if (outcome == Outcome.FAILED && there) {
            findings.add("resurrected", "refused, and there: " + claim.value(true));
        } else if (outcome == Outcome.OK) {
            Long other = told.put(claim.name, claim.owner);
            if (other != null) {
                findings.add(
                        Findings.DUPLICATED, "both " + other + " and " + claim.owner + " were given " + claim.name);
            }
            if (!there) {
                findings.add(Findings.LOST, "claim " + claim.value(true));
            }
        }
    }
}
