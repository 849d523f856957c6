package org.gorda.bindings.postgresql;

import static org.gorda.bindings.postgresql.Behaviour.EXTENDED;
import static org.gorda.bindings.postgresql.Behaviour.SIMPLE;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Reader;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.postgresql.copy.CopyIn;
import org.postgresql.copy.CopyOut;

/** The driver's COPY, which one gets by unwrapping. Each in autocommit mode and in a transaction. */
final class CopyBehaviours {

    private CopyBehaviours() {}

    static List<Behaviour> all() {
        return List.of(
                both("COPY in, texts", client -> copyIn(client, "COPY t FROM STDIN", "4\t40\tfour\n5\t\\N\tä\\tb\n")),
                both(
                        "COPY in, CSV of some columns",
                        client -> copyIn(
                                client, "COPY t (s, id) FROM STDIN (FORMAT csv, HEADER)", "s,id\n\"a,\"\"b\",4\n,5\n")),
                both("COPY in with FREEZE, as pgbench fills its tables", client -> {
                    client.begin();
                    client.run("TRUNCATE t");
                    copyIn(client, "COPY t FROM STDIN (FREEZE)", "4\t40\tfour\n");
                    client.run("INSERT INTO t VALUES (5)");
                    client.attempt("commit", c -> c.connection().commit());
                }),
                both("COPY in of nothing", client -> copyIn(client, "COPY t FROM STDIN", "")),
                both(
                        "COPY in that fails in its middle",
                        client -> copyIn(client, "COPY t FROM STDIN", "4\t40\tfour\nno\t1\tx\n5\t1\tx\n")),
                both(
                        "COPY in that meets a key that is there",
                        client -> copyIn(client, "COPY t FROM STDIN", "4\t40\tfour\n1\t1\tx\n")),
                both(
                        "COPY in into a table that is not there",
                        client -> copyIn(client, "COPY missing FROM STDIN", "4\n")),
                both(
                        "COPY in that ignores errors",
                        client -> copyIn(client, "COPY t FROM STDIN (ON_ERROR ignore)", "4\t40\tfour\nno\t1\tx\n")),
                both(
                        "COPY in from a reader that fails",
                        client -> client.attempt(
                                "copy",
                                c -> c.postgres().getCopyAPI().copyIn("COPY t FROM STDIN", new Reader() {
                                    private int reads;

                                    @Override
                                    public int read(char[] target, int offset, int length) throws IOException {
                                        if (reads++ > 0) {
                                            throw new IOException("the file ends");
                                        }
                                        "4\t4\tx\n".getChars(0, 6, target, offset);
                                        return 6;
                                    }

                                    @Override
                                    public void close() {}
                                }))),
                both(
                        "COPY in, piece by piece",
                        client -> client.attempt("pieces", c -> {
                            CopyIn copy = c.postgres().getCopyAPI().copyIn("COPY t FROM STDIN");
                            c.see("columns", copy.getFieldCount());
                            c.see("format", copy.getFormat());
                            byte[] all = "4\t40\tfour\n5\t50\tfive\n".getBytes(StandardCharsets.UTF_8);
                            for (int i = 0; i < all.length; i += 3) {
                                copy.writeToCopy(all, i, Math.min(3, all.length - i));
                                copy.flushCopy();
                            }
                            c.see("active", copy.isActive());
                            c.see("rows", copy.endCopy());
                            c.see("handled", copy.getHandledRowCount());
                        })),
                both("COPY in that is cancelled", client -> {
                    client.attempt("cancel", c -> {
                        CopyIn copy = c.postgres().getCopyAPI().copyIn("COPY t FROM STDIN");
                        copy.writeToCopy("4\t40\tfour\n".getBytes(StandardCharsets.UTF_8), 0, 10);
                        copy.cancelCopy();
                        c.see("active", copy.isActive());
                    });
                }),
                both("another statement during a COPY", client -> {
                    client.attempt("during", c -> {
                        CopyIn copy = c.postgres().getCopyAPI().copyIn("COPY t FROM STDIN");
                        c.see("active", copy.isActive());
                        copy.cancelCopy();
                    });
                    client.run("INSERT INTO t VALUES (7)");
                }),
                both(
                        "COPY out and in, binary",
                        client -> client.attempt("binary", c -> {
                            ByteArrayOutputStream out = new ByteArrayOutputStream();
                            c.see(
                                    "out",
                                    c.postgres()
                                            .getCopyAPI()
                                            .copyOut(
                                                    "COPY (SELECT id + 10, a, s FROM t ORDER BY id) TO STDOUT (FORMAT binary)",
                                                    out));
                            c.see("bytes", out.toByteArray());
                            c.see(
                                    "in",
                                    c.postgres()
                                            .getCopyAPI()
                                            .copyIn(
                                                    "COPY t FROM STDIN BINARY",
                                                    new ByteArrayInputStream(out.toByteArray())));
                            c.postgres()
                                    .getCopyAPI()
                                    .copyIn("COPY t FROM STDIN BINARY", new ByteArrayInputStream(new byte[] {1, 2, 3}));
                        })),
                both("COPY out", client -> {
                    copyOut(client, "COPY t TO STDOUT");
                    copyOut(client, "COPY (SELECT i FROM generate_series(1, 5) i) TO STDOUT (FORMAT csv, HEADER)");
                    copyOut(client, "COPY (UPDATE t SET a = a + 1 RETURNING id, a) TO STDOUT");
                    copyOut(client, "COPY missing TO STDOUT");
                }),
                both(
                        "COPY out that fails in its middle",
                        client -> copyOut(client, "COPY (SELECT 10 / (3 - i) FROM generate_series(1, 5) i) TO STDOUT")),
                both(
                        "COPY out that is cancelled",
                        client -> client.attempt("cancel", c -> {
                            CopyOut copy = c.postgres()
                                    .getCopyAPI()
                                    .copyOut("COPY (SELECT * FROM generate_series(1, 1000000)) TO STDOUT");
                            c.see("row", copy.readFromCopy());
                            copy.cancelCopy();
                            c.see("active", copy.isActive());
                        })),
                both("10,000 rows in and out", client -> {
                    StringBuilder rows = new StringBuilder();
                    for (int i = 10; i < 10_010; i++) {
                        rows.append(i).append("\t1\tx\n");
                    }
                    copyIn(client, "COPY t FROM STDIN", rows.toString());
                    client.run("SELECT count(*), sum(id) FROM t", "DELETE FROM t WHERE id > 100");
                }),
                both("COPY by a statement", client -> client.run("COPY t FROM STDIN", "COPY t TO STDOUT", "SELECT 1"))
                        .in(SIMPLE),
                both("COPY out by a statement", client -> client.run("COPY t TO STDOUT", "SELECT 1")),
                both("COPY of what only reads", client -> copyIn(client, "SELECT 1", "x")),
                both("COPY out of what goes in", client -> copyOut(client, "COPY t FROM STDIN")),
                both("COPY in of what goes out", client -> copyIn(client, "COPY t TO STDOUT", "x")),
                both("COPY of what only writes", client -> copyIn(client, "INSERT INTO t VALUES (7)", "x")));
    }

    private static Behaviour both(String name, Behaviour.Body body) {
        return Behaviour.of(name, client -> {
                    body.run(client);
                    client.run("SELECT count(*) FROM t");
                    client.attempt("fresh", c -> c.execute("DELETE FROM t WHERE id > 3"));
                    client.begin();
                    client.run("INSERT INTO t VALUES (99)");
                    body.run(client);
                    client.run("SELECT count(*) FROM t");
                    client.commit();
                })
                .in(EXTENDED, SIMPLE);
    }

    private static void copyIn(Observer client, String sql, String rows) {
        client.attempt(sql, c -> c.see("in", c.postgres().getCopyAPI().copyIn(sql, new StringReader(rows))));
    }

    private static void copyOut(Observer client, String sql) {
        StringWriter out = new StringWriter();
        client.attempt(sql, c -> c.see("out", c.postgres().getCopyAPI().copyOut(sql, out)));
        client.see("written", out.toString());
    }
}
