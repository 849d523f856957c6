package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.jooq.impl.DSL.count;
import static org.jooq.impl.DSL.field;
import static org.jooq.impl.DSL.name;
import static org.jooq.impl.DSL.sum;
import static org.jooq.impl.DSL.table;

import com.zaxxer.hikari.HikariDataSource;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import javax.sql.DataSource;
import org.jooq.DSLContext;
import org.jooq.Field;
import org.jooq.Query;
import org.jooq.Record;
import org.jooq.SQLDialect;
import org.jooq.Table;
import org.jooq.exception.DataAccessException;
import org.jooq.exception.IntegrityConstraintViolationException;
import org.jooq.impl.DSL;
import org.jooq.impl.SQLDataType;

/** A shop as one writes it with jOOQ; it knows nothing of replication. */
final class JooqShop implements Application {

    private static final Table<Record> CUSTOMER = table(name("CUSTOMER"));
    private static final Field<Integer> CUSTOMER_ID = field(name("CUSTOMER", "ID"), SQLDataType.INTEGER.identity(true));
    private static final Field<String> EMAIL = field(name("CUSTOMER", "EMAIL"), SQLDataType.VARCHAR);
    private static final Field<String> NAME = field(name("CUSTOMER", "NAME"), SQLDataType.VARCHAR);
    private static final Field<Integer> POINTS = field(name("CUSTOMER", "POINTS"), SQLDataType.INTEGER);
    private static final Field<String> TIER = field(name("CUSTOMER", "TIER"), SQLDataType.VARCHAR);

    private static final Table<Record> PRODUCT = table(name("PRODUCT"));
    private static final Field<Long> PRODUCT_ID = field(name("PRODUCT", "ID"), SQLDataType.BIGINT.identity(true));
    private static final Field<String> SKU = field(name("PRODUCT", "SKU"), SQLDataType.CHAR(8));
    private static final Field<String> PRODUCT_NAME = field(name("PRODUCT", "NAME"), SQLDataType.VARCHAR);
    private static final Field<BigDecimal> PRICE = field(name("PRODUCT", "PRICE"), SQLDataType.DECIMAL(10, 2));
    private static final Field<String> DESCRIPTION = field(name("PRODUCT", "DESCRIPTION"), SQLDataType.CLOB);
    private static final Field<byte[]> PICTURE = field(name("PRODUCT", "PICTURE"), SQLDataType.BLOB);

    private static final Table<Record> ORDERS = table(name("ORDERS"));
    private static final Field<Long> ORDER_ID = field(name("ORDERS", "ID"), SQLDataType.BIGINT);
    private static final Field<Integer> ORDER_CUSTOMER = field(name("ORDERS", "CUSTOMER_ID"), SQLDataType.INTEGER);
    private static final Field<LocalDate> PLACED = field(name("ORDERS", "PLACED"), SQLDataType.LOCALDATE);

    private static final Table<Record> LINE = table(name("ORDER_LINE"));
    private static final Field<Long> LINE_ORDER = field(name("ORDER_LINE", "ORDER_ID"), SQLDataType.BIGINT);
    private static final Field<Short> LINE_NO = field(name("ORDER_LINE", "LINE_NO"), SQLDataType.SMALLINT);
    private static final Field<Long> LINE_PRODUCT = field(name("ORDER_LINE", "PRODUCT_ID"), SQLDataType.BIGINT);
    private static final Field<Integer> QUANTITY = field(name("ORDER_LINE", "QUANTITY"), SQLDataType.INTEGER);
    private static final Field<BigDecimal> UNIT_PRICE =
            field(name("ORDER_LINE", "UNIT_PRICE"), SQLDataType.DECIMAL(10, 2));

    private static final Table<Record> TAG = table(name("TAG"));
    private static final Field<Long> TAG_PRODUCT = field(name("TAG", "PRODUCT_ID"), SQLDataType.BIGINT);
    private static final Field<String> WORD = field(name("TAG", "WORD"), SQLDataType.VARCHAR(30));

    private final DataSource dataSource;
    private final DSLContext db;

    JooqShop(DataSource dataSource) {
        this.dataSource = dataSource;
        db = DSL.using(dataSource, SQLDialect.DERBY);
    }

    @Override
    public void run(Runnable midway) throws Exception {
        Steps steps = new Steps(dataSource);
        FlywayMigrations.flyway(dataSource).migrate();
        steps.once("customers", this::registersCustomers);
        steps.once("product", this::addsAProductWithPicture);
        steps.once("orders", () -> placesOrders(midway));
        steps.once("violations", () -> violationsAreTheEnginesOwn(product()));
        steps.once(
                "nested", () -> nestedTransactionIsRolledBackAlone(customers().get(0)));
        steps.once("deletes", () -> deletesCascade(customers().get(1), product()));
        steps.once("keys", this::changesKeysAndMerges);
        check();
    }

    @Override
    public void check() {
        assertThat(db.fetchCount(CUSTOMER)).isEqualTo(3 + 20 - 1 + 50 + 1);
        assertThat(db.fetchCount(ORDERS)).isEqualTo(4 + 19);
        assertThat(db.fetchCount(LINE)).isEqualTo(6 + 3 * 19);
        assertThat(db.fetchCount(TAG)).isEqualTo(3);
        assertThat(db.fetchCount(TAG, WORD.eq("tea!"))).isEqualTo(2);
    }

    private List<Integer> customers() {
        return db.select(CUSTOMER_ID)
                .from(CUSTOMER)
                .where(EMAIL.like("jooq%"))
                .orderBy(CUSTOMER_ID)
                .fetch(CUSTOMER_ID);
    }

    private long product() {
        return db.select(PRODUCT_ID).from(PRODUCT).where(SKU.eq("JUG-0001")).fetchSingle(PRODUCT_ID);
    }

    private void registersCustomers() {
        List<Integer> ids = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Integer id = db.insertInto(CUSTOMER, EMAIL, NAME)
                    .values("jooq" + i + "@example.org", "J. Ooq the " + i + "th")
                    .returningResult(CUSTOMER_ID)
                    .fetchOne(CUSTOMER_ID);
            assertThat(id).isNotNull();
            ids.add(id);
        }
        assertThat(ids).doesNotHaveDuplicates().isSorted();
        List<Query> batch = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            batch.add(db.insertInto(CUSTOMER, EMAIL, NAME).values("batch" + i + "@example.org", "B " + i));
        }
        assertThat(db.batch(batch).execute()).containsOnly(1);
    }

    private void addsAProductWithPicture() {
        byte[] picture = new byte[200_000];
        for (int i = 0; i < picture.length; i++) {
            picture[i] = (byte) (i * 31);
        }
        String description = "Ein schöner Krug, 美しい急須. ".repeat(5000);
        Long id = db.insertInto(PRODUCT, SKU, PRODUCT_NAME, PRICE, DESCRIPTION, PICTURE)
                .values("JUG-0001", "Jug", new BigDecimal("12.30"), description, picture)
                .returningResult(PRODUCT_ID)
                .fetchOne(PRODUCT_ID);
        Record read = db.select(DESCRIPTION, PICTURE)
                .from(PRODUCT)
                .where(PRODUCT_ID.eq(id))
                .fetchSingle();
        assertThat(read.get(DESCRIPTION)).isEqualTo(description);
        assertThat(Arrays.equals(read.get(PICTURE), picture)).isTrue();
        db.update(PRODUCT)
                .set(PICTURE, Arrays.copyOf(picture, 70_000))
                .where(PRODUCT_ID.eq(id))
                .execute();
    }

    private void placesOrders(Runnable midway) {
        List<Integer> customers = customers();
        long product = product();
        for (Integer customer : customers) {
            if (db.fetchExists(ORDERS, ORDER_CUSTOMER.eq(customer))) {
                continue; // placed before an interruption
            }
            db.transaction(configuration -> {
                DSLContext in = configuration.dsl();
                long order = in.nextval("ORDER_NUMBER").longValue();
                in.insertInto(ORDERS, ORDER_ID, ORDER_CUSTOMER, PLACED)
                        .values(order, customer, LocalDate.of(2026, 3, 1))
                        .execute();
                var batch = in.batch(in.insertInto(LINE, LINE_ORDER, LINE_NO, LINE_PRODUCT, QUANTITY, UNIT_PRICE)
                                .values((Long) null, null, null, null, null))
                        .bind(order, (short) 1, product, 3, new BigDecimal("12.30"))
                        .bind(order, (short) 2, 100L, 1, new BigDecimal("4.50"))
                        .bind(order, (short) 3, null, 7, new BigDecimal("0.01"));
                assertThat(batch.execute()).containsOnly(1);
                BigDecimal total = in.select(sum(QUANTITY.times(UNIT_PRICE)))
                        .from(LINE)
                        .where(LINE_ORDER.eq(order))
                        .fetchSingle()
                        .value1();
                in.update(CUSTOMER)
                        .set(POINTS, POINTS.plus(total.intValue()))
                        .where(CUSTOMER_ID.eq(customer))
                        .execute();
                if (customer.equals(customers.get(10))) {
                    midway.run();
                }
            });
        }
        assertThatThrownBy(() -> db.transaction(configuration -> {
                    configuration.dsl().update(CUSTOMER).set(TIER, "silver").execute();
                    throw new IllegalStateException("changed my mind");
                }))
                .hasMessage("changed my mind");
        assertThat(db.fetchCount(CUSTOMER, TIER.eq("silver"))).isZero();
    }

    private void violationsAreTheEnginesOwn(long product) {
        assertThatThrownBy(() -> db.insertInto(CUSTOMER, EMAIL, NAME)
                        .values("ada@example.org", "Another")
                        .execute())
                .isInstanceOfSatisfying(
                        IntegrityConstraintViolationException.class,
                        e -> assertThat(e.sqlState()).isEqualTo("23505"));
        assertThatThrownBy(() -> db.insertInto(ORDERS, ORDER_ID, ORDER_CUSTOMER, PLACED)
                        .values(1L, 1_000_000, LocalDate.of(2026, 3, 1))
                        .execute())
                .isInstanceOfSatisfying(
                        DataAccessException.class, e -> assertThat(e.sqlState()).isEqualTo("23503"));
        assertThatThrownBy(() -> db.update(PRODUCT)
                        .set(PRICE, new BigDecimal("-1"))
                        .where(PRODUCT_ID.eq(product))
                        .execute())
                .isInstanceOfSatisfying(
                        DataAccessException.class, e -> assertThat(e.sqlState()).isEqualTo("23513"));
        assertThatThrownBy(() -> db.update(CUSTOMER).set(NAME, (String) null).execute())
                .isInstanceOfSatisfying(
                        DataAccessException.class, e -> assertThat(e.sqlState()).isEqualTo("23502"));
    }

    /** jOOQ's nested transactions are savepoints, of which Derby's client allows one in a transaction. */
    private void nestedTransactionIsRolledBackAlone(int customer) {
        for (int i = 0; i < 3; i++) {
            int attempt = i;
            db.transaction(outer -> {
                outer.dsl()
                        .update(CUSTOMER)
                        .set(TIER, "silver")
                        .where(CUSTOMER_ID.eq(customer))
                        .execute();
                try {
                    outer.dsl().transaction(inner -> {
                        inner.dsl()
                                .insertInto(CUSTOMER, EMAIL, NAME)
                                .values("nested" + attempt + "@example.org", "N")
                                .execute();
                        if (attempt != 1) {
                            throw new IllegalStateException("not this one");
                        }
                    });
                } catch (IllegalStateException e) {
                    assertThat(attempt).isNotEqualTo(1);
                }
            });
        }
        assertThat(db.select(EMAIL).from(CUSTOMER).where(EMAIL.like("nested%")).fetch(EMAIL))
                .containsExactly("nested1@example.org");
        assertThat(db.select(TIER)
                        .from(CUSTOMER)
                        .where(CUSTOMER_ID.eq(customer))
                        .fetchSingle(TIER))
                .isEqualTo("silver");
    }

    private void deletesCascade(int customer, long product) {
        int lines = db.fetchCount(LINE);
        assertThat(db.deleteFrom(CUSTOMER).where(CUSTOMER_ID.eq(customer)).execute())
                .isEqualTo(1);
        assertThat(db.fetchCount(ORDERS, ORDER_CUSTOMER.eq(customer))).isZero();
        assertThat(db.fetchCount(LINE)).isEqualTo(lines - 3);
        db.deleteFrom(PRODUCT).where(PRODUCT_ID.eq(product)).execute();
        assertThat(db.fetchCount(LINE, LINE_PRODUCT.eq(product))).isZero();
        assertThat(db.select(count()).from(LINE).where(LINE_PRODUCT.isNull()).fetchSingle(0, int.class))
                .isGreaterThan(19);
    }

    /** Keys of many rows change in one statement, each to one that another row had. */
    private void changesKeysAndMerges() {
        db.update(LINE)
                .set(LINE_NO, LINE_NO.plus((short) 1))
                .where(LINE_NO.ge((short) 2))
                .execute();
        if (isClient()) {
            // Derby's server ends the connection at a prepared MERGE, also without GORDA.
            db.update(TAG).set(WORD, "tea!").execute();
            db.insertInto(TAG, TAG_PRODUCT, WORD)
                    .select(db.select(PRODUCT_ID, SKU)
                            .from(PRODUCT)
                            .where(PRODUCT_ID.notIn(db.select(TAG_PRODUCT).from(TAG))))
                    .execute();
        } else {
            int merged = db.mergeInto(TAG)
                    .using(PRODUCT)
                    .on(TAG_PRODUCT.eq(PRODUCT_ID))
                    .whenMatchedThenUpdate()
                    .set(WORD, WORD.concat("!"))
                    .whenNotMatchedThenInsert(TAG_PRODUCT, WORD)
                    .values(PRODUCT_ID, SKU)
                    .execute();
            assertThat(merged).isEqualTo(db.fetchCount(PRODUCT));
        }
        assertThat(db.fetchCount(TAG, WORD.eq("tea!"))).isEqualTo(2);
    }

    private boolean isClient() {
        return dataSource instanceof HikariDataSource pool && pool.getJdbcUrl().startsWith("jdbc:gorda://");
    }
}
