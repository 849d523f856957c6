package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Pairs of which one at least is on duty: who finds both on takes one off. Serializable transactions keep to that; write skew, two
 * that each take another one off, breaks it. Thread-safe.
 */
final class SkewPairs implements Workload {

    private static final int PAIRS = 6;

    @Override
    public String name() {
        return "skew";
    }

    @Override
    public List<String> schema() {
        List<String> statements =
                new ArrayList<>(List.of("CREATE TABLE DUTY (PAIR INTEGER NOT NULL, SIDE CHAR(5) NOT NULL,"
                        + " ON_DUTY SMALLINT NOT NULL, PRIMARY KEY (SIDE, PAIR))"));
        for (int pair = 0; pair < PAIRS; pair++) {
            statements.add("INSERT INTO DUTY VALUES (" + pair + ", 'left', 1), (" + pair + ", 'right', 1)");
        }
        return statements;
    }

    @Override
    public Operation next(SplittableRandom random) {
        return new Turn(random.nextInt(PAIRS), random.nextBoolean() ? "left" : "right");
    }

    /** Takes one side off if the other one is on, or puts it on. */
    private static final class Turn extends Operation {
        private final int pair;
        private final String side;
        private int own = -1;
        private int other = -1;

        Turn(int pair, String side) {
            super(Isolation.SERIALIZABLE, false);
            this.pair = pair;
            this.side = side;
        }

        @Override
        boolean changes() {
            return own == 0 || other == 1; // else it must stay
        }

        @Override
        void run(Connection connection) throws SQLException {
            other = duty(connection, pair, side.equals("left") ? "right" : "left");
            own = duty(connection, pair, side);
            if (!changes()) {
                return;
            }
            try (PreparedStatement update =
                    connection.prepareStatement("UPDATE DUTY SET ON_DUTY = ? WHERE PAIR = ? AND SIDE = ?")) {
                update.setInt(1, 1 - own);
                update.setInt(2, pair);
                update.setString(3, side);
                update.executeUpdate();
            }
        }

        @Override
        String function() {
            return "turn";
        }

        @Override
        String value(boolean ended) {
            return "{:pair " + pair + ", :side :" + side + (ended ? ", :own " + own + ", :other " + other : "") + "}";
        }
    }

    private static int duty(Connection connection, int pair, String side) throws SQLException {
        try (PreparedStatement select =
                connection.prepareStatement("SELECT ON_DUTY FROM DUTY WHERE PAIR = ? AND SIDE = ?")) {
            select.setInt(1, pair);
            select.setString(2, side);
            try (ResultSet rows = select.executeQuery()) {
                rows.next();
                return rows.getInt(1);
            }
        }
    }

    @Override
    public void check(List<Recorded> history, Connection replica, Findings findings) throws SQLException {
        for (Recorded recorded : history) {
            if (recorded.operation() instanceof Turn turn
                    && recorded.outcome() == Outcome.OK
                    && turn.own == 0
                    && turn.other == 0) {
                findings.add("write skew", "nobody was on duty in " + turn.value(true));
            }
        }
        for (int pair = 0; pair < PAIRS; pair++) {
            if (duty(replica, pair, "left") == 0 && duty(replica, pair, "right") == 0) {
                findings.add("write skew", "nobody is on duty of pair " + pair);
            }
        }
    }
}
