package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;
import static org.gorda.replicator.node.behaviours.Seen.doing;
import static org.gorda.replicator.node.behaviours.Seen.show;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Reader;
import java.io.StringReader;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.List;
import java.util.Random;

/** Of large objects, by stream and by locator. */
final class LobBehaviours {

    private static final byte[] BYTES = new byte[150_000];
    private static final String TEXT = "äöü € 𝄞 text ".repeat(9_000);

    static {
        new Random(5).nextBytes(BYTES);
    }

    private LobBehaviours() {}

    /** Uses the row of LOBs with an id, in a transaction or not. */
    private interface Use {
        Object of(ResultSet row) throws Exception;
    }

    /** Sets the parameters 1 (BLOB) and 2 (CLOB). */
    private interface Set {
        void parameters(Connection connection, PreparedStatement statement) throws Exception;
    }

    private static void read(List<Behaviour> all, String name, int id, boolean autoCommit, Use use) {
        all.add(new Behaviour("LOB: " + name + (autoCommit ? ", in autocommit mode" : ""), (c, side) -> {
            c.setAutoCommit(autoCommit);
            try (Statement statement = c.createStatement();
                    ResultSet row = statement.executeQuery("SELECT B, C FROM LOBS WHERE ID = " + id)) {
                row.next();
                return use.of(row);
            }
        }));
    }

    private static void write(List<Behaviour> all, String name, Set set) {
        for (boolean autoCommit : new boolean[] {true, false}) {
            all.add(new Behaviour("LOB: set by " + name + (autoCommit ? ", in autocommit mode" : ""), (c, side) -> {
                c.setAutoCommit(autoCommit);
                String seen;
                try (PreparedStatement update = c.prepareStatement("UPDATE LOBS SET B = ?, C = ? WHERE ID = 2")) {
                    seen = attempts(doing(() -> set.parameters(c, update)), () -> update.executeUpdate());
                }
                if (!autoCommit) {
                    c.commit();
                }
                try (Connection other = side.connect();
                        Statement statement = other.createStatement();
                        ResultSet row = statement.executeQuery("SELECT B, C FROM LOBS WHERE ID = 2")) {
                    row.next();
                    return seen + attempts(() -> row.getBytes(1), () -> row.getString(2));
                }
            }));
        }
    }

    static void addTo(List<Behaviour> all) {
        for (boolean autoCommit : new boolean[] {true, false}) {
            read(
                    all,
                    "read by its getters",
                    1,
                    autoCommit,
                    r -> attempts(() -> r.getBytes(1), () -> r.getString(2), () -> r.getBlob(1), () -> r.getClob(2)));
            read(
                    all,
                    "read by streams",
                    1,
                    autoCommit,
                    r -> attempts(() -> r.getBinaryStream(1), () -> r.getCharacterStream(2)));
            read(all, "parts of a BLOB", 1, autoCommit, r -> {
                Blob blob = r.getBlob(1);
                return attempts(
                        blob::length,
                        () -> blob.getBytes(2, 3),
                        () -> blob.getBytes(7, 99),
                        () -> blob.getBytes(0, 1),
                        () -> blob.getBytes(99, 1),
                        () -> blob.getBytes(1, -1),
                        () -> blob.position(new byte[] {3, 4}, 1),
                        () -> blob.position(new byte[] {9}, 1),
                        () -> blob.getBinaryStream(2, 3),
                        blob::getBinaryStream);
            });
            read(all, "parts of a CLOB", 1, autoCommit, r -> {
                Clob clob = r.getClob(2);
                return attempts(
                        clob::length,
                        () -> clob.getSubString(2, 3),
                        () -> clob.getSubString(11, 99),
                        () -> clob.getSubString(0, 1),
                        () -> clob.getSubString(99, 1),
                        () -> clob.position("wor", 1),
                        () -> clob.position("nothing", 1),
                        () -> clob.getCharacterStream(2, 3),
                        clob::getCharacterStream,
                        clob::getAsciiStream);
            });
            read(all, "used after it was freed", 1, autoCommit, r -> {
                Blob blob = r.getBlob(1);
                Clob clob = r.getClob(2);
                blob.free();
                clob.free();
                return attempts(blob::length, clob::length, doing(blob::free), () -> clob.getSubString(1, 1));
            });
            read(all, "used after the next row", 1, autoCommit, r -> {
                Blob blob = r.getBlob(1);
                r.next();
                return attempts(blob::length, () -> blob.getBytes(1, 1));
            });
            read(
                    all,
                    "NULL",
                    2,
                    autoCommit,
                    r -> attempts(
                            () -> r.getBlob(1),
                            r::wasNull,
                            () -> r.getClob(2),
                            () -> r.getBinaryStream(1),
                            () -> r.getString(2)));
            read(
                    all,
                    "empty",
                    3,
                    autoCommit,
                    r -> attempts(
                            () -> r.getBlob(1).length(),
                            () -> r.getClob(2).length(),
                            () -> r.getBytes(1),
                            () -> r.getString(2)));
            read(
                    all,
                    "read twice",
                    1,
                    autoCommit,
                    r -> attempts(
                            () -> r.getBinaryStream(1),
                            () -> r.getBinaryStream(1),
                            () -> r.getBytes(1),
                            () -> r.getClob(2),
                            () -> r.getClob(2)));
        }
        read(all, "used after a commit", 1, false, r -> {
            Blob blob = r.getBlob(1);
            Clob clob = r.getClob(2);
            InputStream stream = r.getStatement().getConnection().createBlob().getBinaryStream();
            r.getStatement().getConnection().commit();
            return attempts(blob::length, () -> clob.getSubString(1, 2), stream::available);
        });
        read(all, "used after a rollback", 1, false, r -> {
            Blob blob = r.getBlob(1);
            r.getStatement().getConnection().rollback();
            return attempt(blob::length);
        });
        write(all, "streams", (c, s) -> {
            s.setBinaryStream(1, new ByteArrayInputStream(BYTES));
            s.setCharacterStream(2, new StringReader(TEXT));
        });
        write(all, "streams with lengths", (c, s) -> {
            s.setBinaryStream(1, new ByteArrayInputStream(BYTES), BYTES.length);
            s.setCharacterStream(2, new StringReader(TEXT), TEXT.length());
        });
        write(all, "setBlob and setClob of streams", (c, s) -> {
            s.setBlob(1, new ByteArrayInputStream(BYTES));
            s.setClob(2, new StringReader(TEXT));
        });
        write(all, "bytes and strings", (c, s) -> {
            s.setBytes(1, BYTES);
            s.setString(2, TEXT);
        });
        write(all, "ASCII", (c, s) -> {
            s.setNull(1, java.sql.Types.BLOB);
            s.setAsciiStream(2, new ByteArrayInputStream("plain text".getBytes(StandardCharsets.US_ASCII)));
        });
        write(all, "NULL", (c, s) -> {
            s.setBlob(1, (Blob) null);
            s.setClob(2, (Clob) null);
        });
        write(all, "objects", (c, s) -> {
            s.setObject(1, new byte[] {1, 2, 3});
            s.setObject(2, "text", java.sql.Types.CLOB);
        });
        write(all, "new locators, written at once", (c, s) -> {
            Blob blob = c.createBlob();
            blob.setBytes(1, BYTES);
            Clob clob = c.createClob();
            clob.setString(1, TEXT);
            s.setBlob(1, blob);
            s.setClob(2, clob);
        });
        write(all, "new locators, written by streams", (c, s) -> {
            Blob blob = c.createBlob();
            try (OutputStream out = blob.setBinaryStream(1)) {
                out.write(BYTES, 0, 50_000);
                out.write(7);
            }
            Clob clob = c.createClob();
            try (Writer out = clob.setCharacterStream(1)) {
                out.write(TEXT);
            }
            s.setBlob(1, blob);
            s.setClob(2, clob);
        });
        changed(all);
    }

    private static void changed(List<Behaviour> all) {
        all.add(new Behaviour("LOB: streams of the wrong length", (c, side) -> {
            c.setAutoCommit(false);
            try (PreparedStatement update = c.prepareStatement("UPDATE LOBS SET B = ?, C = ? WHERE ID = 1")) {
                StringBuilder seen = new StringBuilder();
                for (int more : new int[] {-10, 10}) {
                    seen.append(attempts(
                            doing(() ->
                                    update.setBinaryStream(1, new ByteArrayInputStream(BYTES), BYTES.length + more)),
                            doing(() -> update.setCharacterStream(2, new StringReader(TEXT), TEXT.length())),
                            () -> update.executeUpdate(),
                            doing(() -> update.setBytes(1, BYTES)),
                            doing(() -> update.setCharacterStream(2, new StringReader(TEXT), TEXT.length() + more)),
                            () -> update.executeUpdate()));
                }
                return seen + Seen.query(c, "SELECT LENGTH(B), LENGTH(C) FROM LOBS WHERE ID = 1");
            }
        }));
        for (boolean autoCommit : new boolean[] {true, false}) {
            String mode = autoCommit ? ", in autocommit mode" : "";
            all.add(new Behaviour("LOB: set by locators of another row" + mode, (c, side) -> {
                c.setAutoCommit(autoCommit);
                String seen;
                try (PreparedStatement update = c.prepareStatement("UPDATE LOBS SET B = ?, C = ? WHERE ID = 2");
                        Statement statement = c.createStatement();
                        ResultSet row = statement.executeQuery("SELECT B, C FROM LOBS WHERE ID = 1")) {
                    row.next();
                    seen = attempts(
                            doing(() -> update.setBlob(1, row.getBlob(1))),
                            doing(() -> update.setClob(2, row.getClob(2))),
                            () -> update.executeUpdate());
                }
                if (!autoCommit) {
                    c.commit();
                }
                return seen + attempt(() -> Seen.query(c, "SELECT B, C FROM LOBS WHERE ID = 2"));
            }));
        }
        all.add(new Behaviour("LOB: new ones, changed", (c, side) -> {
            c.setAutoCommit(false);
            Blob blob = c.createBlob();
            Clob clob = c.createClob();
            return attempts(
                    blob::length,
                    () -> blob.setBytes(1, new byte[] {1, 2, 3, 4}),
                    () -> blob.setBytes(3, new byte[] {9, 9, 9, 9}, 1, 2),
                    doing(() -> blob.truncate(3)),
                    () -> show(blob),
                    () -> blob.setBytes(99, new byte[] {1}),
                    () -> blob.setBytes(0, new byte[] {1}),
                    () -> clob.setString(1, "hello"),
                    () -> clob.setString(3, "LL"),
                    doing(() -> clob.truncate(4)),
                    () -> show(clob),
                    () -> clob.setString(99, "x"),
                    doing(() -> clob.truncate(99)));
        }));
        all.add(new Behaviour("LOB: those of a row, changed in place", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement();
                    ResultSet row = statement.executeQuery("SELECT B, C FROM LOBS WHERE ID = 1")) {
                row.next();
                Blob blob = row.getBlob(1);
                String seen = attempts(() -> blob.setBytes(1, new byte[] {7}), () -> show(blob));
                c.commit();
                return seen + Seen.query(c, "SELECT B FROM LOBS WHERE ID = 1");
            }
        }));
        all.add(new Behaviour("LOB: changed by updatable rows", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet row = statement.executeQuery("SELECT ID, B, C FROM LOBS WHERE ID = 2")) {
                row.next();
                row.updateBinaryStream(2, new ByteArrayInputStream(BYTES), BYTES.length);
                row.updateCharacterStream(3, new StringReader(TEXT), TEXT.length());
                row.updateRow();
            }
            c.commit();
            try (Statement statement = c.createStatement();
                    ResultSet row = statement.executeQuery("SELECT B, C FROM LOBS WHERE ID = 2")) {
                row.next();
                return attempts(() -> row.getBytes(1), () -> row.getString(2));
            }
        }));
        all.add(new Behaviour("LOB: of one row read while another is written", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement();
                    ResultSet row = statement.executeQuery("SELECT C FROM LOBS WHERE ID = 1")) {
                row.next();
                Reader reader = row.getCharacterStream(1);
                String first = Character.toString(reader.read());
                Seen.update(c, "UPDATE LOBS SET C = CAST('other' AS CLOB) WHERE ID = 2");
                return first + show(reader);
            }
        }));
        all.add(new Behaviour("LOB: positions of a LOB in a LOB", (c, side) -> {
            c.setAutoCommit(false);
            try (Statement statement = c.createStatement();
                    ResultSet row = statement.executeQuery("SELECT B, C FROM LOBS WHERE ID = 1")) {
                row.next();
                Blob part = c.createBlob();
                part.setBytes(1, new byte[] {5, 6});
                Clob word = c.createClob();
                word.setString(1, "world");
                return attempts(
                        () -> row.getBlob(1).position(part, 1),
                        () -> row.getClob(2).position(word, 1));
            }
        }));
    }
}
