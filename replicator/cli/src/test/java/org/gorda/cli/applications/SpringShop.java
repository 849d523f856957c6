package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.Date;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.simple.SimpleJdbcInsert;
import org.springframework.jdbc.support.GeneratedKeyHolder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/** A shop as one writes it with Spring's JdbcTemplate; it knows nothing of replication. */
final class SpringShop implements Application {

    private static final int CLERKS = 4;
    private static final int SALES = 25;

    private final DataSource dataSource;
    private final JdbcTemplate jdbc;
    private final NamedParameterJdbcTemplate named;
    private final TransactionTemplate transaction;
    private final TransactionTemplate nested;
    private final TransactionTemplate reading;

    SpringShop(DataSource dataSource) {
        this.dataSource = dataSource;
        jdbc = new JdbcTemplate(dataSource);
        named = new NamedParameterJdbcTemplate(jdbc);
        JdbcTransactionManager transactions = new JdbcTransactionManager(dataSource);
        transaction = new TransactionTemplate(transactions);
        nested = new TransactionTemplate(transactions);
        nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
        reading = new TransactionTemplate(transactions);
        reading.setReadOnly(true);
        reading.setIsolationLevel(TransactionDefinition.ISOLATION_REPEATABLE_READ);
    }

    @Override
    public void run(Runnable midway) throws Exception {
        Steps steps = new Steps(dataSource);
        FlywayMigrations.flyway(dataSource).migrate();
        steps.once("customers", this::registersCustomers);
        steps.once("lobs", this::storesAndReadsLobs);
        steps.once("violations", this::violationsAreTheEnginesOwn);
        steps.once("savepoints", this::savepoints);
        steps.once("clerks", () -> clerksWorkAtOnce(midway));
        steps.once("deletes", this::deletesCascade);
        steps.once("batch", this::batchThatFailsInTheMiddleIsRolledBack);
        steps.once("temporary", this::temporaryTablesStayHere);
        check();
    }

    @Override
    public void check() {
        assertThat(count("customer WHERE email LIKE 'batch%'")).isEqualTo(120);
        assertThat(count("orders WHERE note LIKE 'clerk%'")).isEqualTo(CLERKS * SALES - ofCustomer(2));
        assertThat(count("orders WHERE customer_id = 2")).isZero();
        assertThat(count("product WHERE sku LIKE 'LOB%'")).isEqualTo(3);
        assertThat(count("tag WHERE word LIKE 'from %'")).isEqualTo(count("product"));
    }

    private int count(String what) {
        return jdbc.queryForObject("SELECT COUNT(*) FROM " + what, Integer.class);
    }

    /** How many sales are to a customer. */
    private static int ofCustomer(int customer) {
        int sales = 0;
        for (int clerk = 0; clerk < CLERKS; clerk++) {
            for (int number = 0; number < SALES; number++) {
                sales += customer(clerk, number) == customer ? 1 : 0;
            }
        }
        return sales;
    }

    private static int customer(int clerk, int number) {
        return 1 + (clerk + number) % 3;
    }

    private void registersCustomers() {
        GeneratedKeyHolder keys = new GeneratedKeyHolder();
        jdbc.update(
                connection -> {
                    var insert = connection.prepareStatement(
                            "INSERT INTO customer (email, name) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS);
                    insert.setString(1, "spring@example.org");
                    insert.setString(2, "S. Pring");
                    return insert;
                },
                keys);
        assertThat(jdbc.queryForObject("SELECT id FROM customer WHERE email = 'spring@example.org'", Integer.class))
                .isEqualTo(keys.getKey().intValue());

        SimpleJdbcInsert insert = new SimpleJdbcInsert(dataSource)
                .withTableName("CUSTOMER")
                .usingColumns("EMAIL", "NAME")
                .usingGeneratedKeyColumns("ID");
        Number first = insert.executeAndReturnKey(Map.of("EMAIL", "simple1@example.org", "NAME", "One"));
        Number second = insert.executeAndReturnKey(Map.of("EMAIL", "simple2@example.org", "NAME", "Two"));
        assertThat(second.intValue()).isGreaterThan(first.intValue());

        List<Object[]> rows = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            rows.add(new Object[] {"batch" + i + "@example.org", "B" + i});
        }
        for (int[] counts :
                jdbc.batchUpdate("INSERT INTO customer (email, name) VALUES (?, ?)", rows, 50, (ps, row) -> {
                    ps.setObject(1, row[0]);
                    ps.setObject(2, row[1]);
                })) {
            assertThat(counts).containsOnly(1);
        }
        assertThat(named.update(
                        "UPDATE customer SET points = points + :more WHERE email LIKE :who",
                        Map.of("more", 5, "who", "batch%")))
                .isEqualTo(120);
    }

    private void storesAndReadsLobs() {
        byte[] picture = new byte[1_000_000];
        new java.util.Random(7).nextBytes(picture);
        String description = "0123456789 äöü €\n".repeat(20_000);
        transaction.executeWithoutResult(status -> {
            jdbc.update("INSERT INTO product (sku, name, price, description, picture) VALUES (?, ?, ?, ?, ?)", ps -> {
                ps.setString(1, "LOB-0001");
                ps.setString(2, "Large");
                ps.setBigDecimal(3, new BigDecimal("1.00"));
                ps.setCharacterStream(4, new StringReader(description));
                ps.setBinaryStream(5, new ByteArrayInputStream(picture));
            });
            jdbc.update("INSERT INTO product (sku, name, price, description, picture) "
                    + "SELECT 'LOB-0002', name, price, description, picture FROM product WHERE sku = 'LOB-0001'");
        });
        transaction.executeWithoutResult(status -> {
            byte[] read = jdbc.queryForObject(
                    "SELECT picture FROM product WHERE sku = 'LOB-0002'",
                    (row, number) -> row.getBlob(1).getBytes(1, picture.length));
            assertThat(java.util.Arrays.equals(read, picture)).isTrue();
            String text =
                    jdbc.queryForObject("SELECT description FROM product WHERE sku = 'LOB-0002'", (row, number) -> {
                        var clob = row.getClob(1);
                        return clob.getSubString(1, (int) clob.length());
                    });
            assertThat(text).isEqualTo(description);
        });
        // Written through a locator of the connection's own.
        transaction.executeWithoutResult(status -> jdbc.execute((java.sql.Connection connection) -> {
            var blob = connection.createBlob();
            try (var out = blob.setBinaryStream(1)) {
                out.write(picture, 0, 50_000);
            } catch (java.io.IOException e) {
                throw new SQLException(e);
            }
            var clob = connection.createClob();
            clob.setString(1, description.substring(0, 40_000));
            try (var update = connection.prepareStatement(
                    "UPDATE product SET picture = ?, description = ? WHERE sku = 'LOB-0001'")) {
                update.setBlob(1, blob);
                update.setClob(2, clob);
                assertThat(update.executeUpdate()).isEqualTo(1);
            }
            return null;
        }));
        // A row with LOBs changes elsewhere, and a LOB is cleared.
        jdbc.update("UPDATE product SET price = price * 2 WHERE sku LIKE 'LOB%'");
        jdbc.update("INSERT INTO product (sku, name, price, description) VALUES ('LOB-0003', 'Empty', 0, '')");
        jdbc.update("UPDATE product SET picture = NULL, sku = 'LOB-0004' WHERE sku = 'LOB-0002'");
    }

    private void violationsAreTheEnginesOwn() {
        assertThatThrownBy(() -> jdbc.update("INSERT INTO customer (email, name) VALUES ('ada@example.org', 'A')"))
                .isInstanceOf(DuplicateKeyException.class)
                .hasRootCauseInstanceOf(Exception.class)
                .satisfies(e ->
                        assertThat(((SQLException) e.getCause()).getSQLState()).isEqualTo("23505"));
        assertThatThrownBy(() -> jdbc.update("INSERT INTO tag (product_id, word) VALUES (1, 'nowhere')"))
                .isInstanceOf(DataIntegrityViolationException.class)
                .satisfies(e ->
                        assertThat(((SQLException) e.getCause()).getSQLState()).isEqualTo("23503"));
        // A violation in the middle of a transaction takes only its statement with it.
        transaction.executeWithoutResult(status -> {
            jdbc.update("UPDATE customer SET points = points + 1000 WHERE email = 'ada@example.org'");
            assertThatThrownBy(() -> jdbc.update("UPDATE customer SET points = 0, tier = 'none'"))
                    .isInstanceOf(DataIntegrityViolationException.class);
            assertThatThrownBy(() -> jdbc.update("INSERT INTO customer (email, name) "
                            + "SELECT 'copy' || email, name FROM customer UNION ALL SELECT email, name FROM customer"))
                    .isInstanceOf(DuplicateKeyException.class);
            jdbc.update("UPDATE customer SET tier = 'gold' WHERE email = 'grace@example.org'");
        });
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM customer WHERE email LIKE 'copy%'", Integer.class))
                .isZero();
    }

    /** One at a time, as Derby's client allows. */
    private void savepoints() {
        transaction.executeWithoutResult(outer -> {
            jdbc.update("INSERT INTO customer (email, name) VALUES ('outer@example.org', 'O')");
            nested.executeWithoutResult(inner -> {
                jdbc.update("INSERT INTO customer (email, name) VALUES ('inner1@example.org', 'I')");
                jdbc.update("UPDATE customer SET name = 'I1' WHERE email = 'inner1@example.org'");
            });
            nested.executeWithoutResult(inner -> {
                jdbc.update("INSERT INTO customer (email, name) VALUES ('inner2@example.org', 'I')");
                jdbc.update("DELETE FROM customer WHERE email LIKE 'batch%'");
                inner.setRollbackOnly();
            });
        });
        assertThat(jdbc.queryForList(
                        "SELECT name FROM customer WHERE email LIKE 'inner%' OR email LIKE 'outer%' ORDER BY name",
                        String.class))
                .containsExactly("I1", "O");
        transaction.executeWithoutResult(status -> {
            jdbc.update("DELETE FROM customer");
            status.setRollbackOnly();
        });
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM customer WHERE email LIKE 'batch%'", Integer.class))
                .isEqualTo(120);
    }

    /** Several threads update the same few rows; a deadlock's victim runs again, and so does who lost the connection. */
    private void clerksWorkAtOnce(Runnable midway) throws Exception {
        Set<String> before =
                Set.copyOf(jdbc.queryForList("SELECT note FROM orders WHERE note LIKE 'clerk%'", String.class));
        ExecutorService clerks = Executors.newFixedThreadPool(CLERKS);
        List<Future<?>> ends = new ArrayList<>();
        for (int clerk = 0; clerk < CLERKS; clerk++) {
            int number = clerk;
            ends.add(clerks.submit(() -> {
                for (int i = 0; i < SALES; i++) {
                    if (!before.contains(note(number, i))) {
                        sells(number, i, number == 0 && i == SALES / 2 ? midway : () -> {});
                    }
                }
            }));
        }
        for (Future<?> end : ends) {
            end.get(90, TimeUnit.SECONDS);
        }
        clerks.shutdown();
        assertThat(count("orders WHERE note LIKE 'clerk%'")).isEqualTo(CLERKS * SALES);
        // A connection that only reads may be at a replica that is a little behind.
        Awaitility.await()
                .atMost(Duration.ofSeconds(10))
                .until(() ->
                        reading.<Integer>execute(status -> count("orders WHERE note LIKE 'clerk%'")) == CLERKS * SALES);
    }

    private void sells(int clerk, int number, Runnable inTransaction) {
        boolean sold = false;
        while (!sold) {
            try {
                transaction.executeWithoutResult(status -> {
                    sells(clerk, number);
                    inTransaction.run();
                });
                sold = true;
            } catch (RuntimeException e) {
                // X0Y84 is Derby's own when several take from one sequence at once, also without replication.
                if (!Interruptions.isOne(e)
                        && !(e.getCause() instanceof SQLException sql
                                && String.valueOf(sql.getSQLState()).matches("40...|X0Y84"))) {
                    throw e;
                }
            }
        }
    }

    private static String note(int clerk, int number) {
        return "clerk " + clerk + " sale " + number;
    }

    private void sells(int clerk, int number) {
        long order = jdbc.queryForObject("VALUES NEXT VALUE FOR order_number", Long.class);
        jdbc.update(
                "INSERT INTO orders (id, customer_id, placed, note) VALUES (?, ?, ?, ?)",
                order,
                customer(clerk, number),
                Date.valueOf("2026-04-01"),
                note(clerk, number));
        jdbc.update(
                "INSERT INTO order_line (order_id, line_no, product_id, quantity, unit_price) "
                        + "SELECT CAST(? AS BIGINT), 1, id, 1, price FROM product WHERE sku = ?",
                order,
                number % 2 == 0 ? "TEA-0001" : "TEA-0002");
        jdbc.update("UPDATE customer SET points = points + 1 WHERE id = ?", customer(clerk, number));
    }

    private void deletesCascade() {
        int audited = jdbc.queryForObject("SELECT COUNT(*) FROM audit WHERE what = 'gone'", Integer.class);
        int orders = jdbc.queryForObject("SELECT COUNT(*) FROM orders WHERE customer_id = 2", Integer.class);
        assertThat(jdbc.update("DELETE FROM customer WHERE id = 2")).isEqualTo(1);
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM orders WHERE customer_id = 2", Integer.class))
                .isZero();
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM audit WHERE what = 'gone'", Integer.class))
                .isEqualTo(audited + orders);
        jdbc.update("DELETE FROM product WHERE sku = 'TEA-0002'");
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM order_line WHERE product_id IS NULL", Integer.class))
                .isPositive();
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM tag WHERE word = 'tea'", Integer.class))
                .isEqualTo(1);
    }

    private void batchThatFailsInTheMiddleIsRolledBack() {
        assertThatThrownBy(() -> transaction.executeWithoutResult(status -> jdbc.batchUpdate(
                        "INSERT INTO customer (email, name) VALUES (?, 'X')",
                        List.of(
                                new Object[] {"x1@example.org"},
                                new Object[] {"x2@example.org"},
                                new Object[] {"ada@example.org"},
                                new Object[] {"x3@example.org"}))))
                .isInstanceOf(DataIntegrityViolationException.class);
        assertThat(jdbc.queryForObject("SELECT COUNT(*) FROM customer WHERE name = 'X'", Integer.class))
                .isZero();
    }

    private void temporaryTablesStayHere() {
        transaction.executeWithoutResult(status -> {
            jdbc.execute(
                    "DECLARE GLOBAL TEMPORARY TABLE session.basket (word VARCHAR(30)) ON COMMIT DELETE ROWS NOT LOGGED");
            jdbc.update("INSERT INTO session.basket SELECT sku FROM product");
            jdbc.update("INSERT INTO tag (product_id, word) SELECT p.id, 'from ' || b.word FROM product p "
                    + "JOIN session.basket b ON b.word = p.sku");
            jdbc.execute("DROP TABLE session.basket");
        });
    }
}
