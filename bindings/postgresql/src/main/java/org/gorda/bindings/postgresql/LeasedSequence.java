package org.gorda.bindings.postgresql;

import java.math.BigInteger;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorRange;
import org.gorda.gapi.GeneratorState;
import org.jspecify.annotations.Nullable;

/**
 * A sequence whose values are leased, as the database shows it. Immutable.
 *
 * @param era another one after each schema change
 * @param id by which the server knows it
 * @param name by which the server's messages call it
 * @param next where it goes on for who leases first since the last schema change
 * @param hasLease whether something is leased
 * @param last the last value of that
 * @param left how many values are left of that
 */
record LeasedSequence(
        long era,
        long id,
        String name,
        Generator generator,
        boolean cycles,
        long increment,
        long low,
        long high,
        BigInteger next,
        boolean hasLease,
        long last,
        long left) {

    private static final String ALL =
            "SELECT l.era, b.relid::oid, c.relname, n.of_table, n.nspname, n.relname, b.cycles, b.increment, b.low, b.high, b.next, b.last,"
                    + " (b.last - coalesce(CASE WHEN b.first IS NOT NULL THEN pg_sequence_last_value(b.relid) END, b.first::numeric - b.increment))"
                    + " / b.increment FROM gorda.leasing l, gorda.generator b JOIN pg_class c ON c.oid = b.relid"
                    + " JOIN gorda.named n ON n.relid = b.relid WHERE l.leases ORDER BY b.relid";

    /** All that there are. */
    static List<LeasedSequence> all(SqlSession session) throws SQLException {
        List<LeasedSequence> all = new ArrayList<>();
        for (List<@Nullable String> row : session.query(ALL)) {
            String left = row.get(12);
            all.add(new LeasedSequence(
                    number(row, 0),
                    number(row, 1),
                    Objects.requireNonNull(row.get(2)),
                    new Generator(
                            "t".equals(row.get(3)),
                            Objects.requireNonNull(row.get(4)),
                            Objects.requireNonNull(row.get(5))),
                    "t".equals(row.get(6)),
                    number(row, 7),
                    number(row, 8),
                    number(row, 9),
                    new BigInteger(Objects.requireNonNull(row.get(10))),
                    row.get(11) != null,
                    row.get(11) == null ? 0 : number(row, 11),
                    left == null ? 0 : Math.max(0, (long) Double.parseDouble(left))));
        }
        return all;
    }

    private static long number(List<@Nullable String> row, int column) {
        return Long.parseLong(Objects.requireNonNull(row.get(column)));
    }

    /** Whether it has no values left, as the database knows. */
    boolean isUsedUp() {
        return next.compareTo(BigInteger.valueOf(low)) < 0 || next.compareTo(BigInteger.valueOf(high)) > 0;
    }

    GeneratorState state() {
        return new GeneratorState(generator, next.longValueExact(), increment, low, high);
    }

    /** Whether values go on from the last one that is leased. */
    boolean isContinuedBy(GeneratorRange range) {
        return hasLease && range.first() - increment == last;
    }

    /** How many values it has in all; there may be more than a long can count. */
    BigInteger size() {
        return BigInteger.valueOf(high)
                .subtract(BigInteger.valueOf(low))
                .divide(BigInteger.valueOf(increment).abs());
    }
}
