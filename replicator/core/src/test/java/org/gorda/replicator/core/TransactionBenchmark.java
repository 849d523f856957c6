package org.gorda.replicator.core;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** What a transaction costs in what a replica computes for it: no database, no group, one thread. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class TransactionBenchmark {

    /** What a transaction changes. */
    public enum Shape {
        /** An account, its teller and its branch by a number, and a new row of history. */
        TPCB(4),
        /** A hundred rows by a text of 22 characters, a text of 100 in each. */
        ROWS(100);

        private final int rows;

        Shape(int rows) {
            this.rows = rows;
        }
    }

    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId OTHER = new MemberId("db2:7800");
    private static final GroupId GROUP = new GroupId(1, 2);
    private static final SessionId SESSION = new SessionId(3, 4);

    /** Of all write sets together: what a certifier knows is larger than the processor's caches. */
    private static final int KEYS = 100_000;

    private static final int HEADROOM = ReplicaMessage.WRITE_SET_HEADER_BYTES;
    private static final TableShape ACCOUNTS = table("ACCOUNTS");
    private static final TableShape TELLERS = table("TELLERS");
    private static final TableShape BRANCHES = table("BRANCHES");
    private static final TableShape HISTORY = table("HISTORY");
    private static final TableShape TEXTS = table("TEXTS");
    private static final long CONSTRAINT = KeyHasher.constraint("APP", "ACCOUNTS", List.of("ID"));
    private static final String FILLER = "x".repeat(100);

    @Param
    public Shape shape;

    private final WriteSetWriter writer = new WriteSetWriter(HEADROOM, 1 << 20, Path.of("none"));
    private final KeyHasher hasher = new KeyHasher();
    private final Certifier certifier = new Certifier();
    private final List<WriteSet> writeSets = new ArrayList<>();
    private String[] texts;
    private ReplicaCore core;
    private int next;
    private long index;
    private long committed;

    private static TableShape table(String name) {
        return new TableShape("APP", name, List.of(new TableShape.Column("ID", SqlType.BIGINT)), List.of(1));
    }

    @Setup
    public void fill() {
        SplittableRandom random = new SplittableRandom(1);
        texts = random.longs(shape.rows)
                .mapToObj(each -> String.format("%022d", each & Long.MAX_VALUE))
                .toArray(String[]::new);
        for (int i = 0; i < KEYS / shape.rows; i++) {
            writeSets.add(encode(random.nextLong()));
        }
        core = new ReplicaCore(SELF, 1, ReplicationProtocol.PRIMARY_BACKUP, effects());
        deliver(ReplicaMessage.encode(new ReplicaMessage.Primary(OTHER, 1)));
        deliver(ReplicaMessage.encode(
                new ReplicaMessage.ChangeProtocol(ReplicationProtocol.CERTIFICATION, core.epoch())));
    }

    private Effects effects() {
        return (Effects) Proxy.newProxyInstance(
                Effects.class.getClassLoader(), new Class<?>[] {Effects.class}, (proxy, method, arguments) -> {
                    committed += method.getName().equals("commit") ? 1 : 0;
                    return null;
                });
    }

    private void deliver(ByteBuffer payload) {
        index++;
        core.delivered(new Message(new Position(GROUP, 1, index), new MessageId(OTHER, 1, index), payload));
    }

    private WriteSet nextWriteSet() {
        next = (next + 1) % writeSets.size();
        return writeSets.get(next);
    }

    private WriteSet encode(long seed) {
        writer.clear();
        if (shape == Shape.TPCB) {
            for (TableShape table : List.of(ACCOUNTS, TELLERS, BRANCHES)) {
                writer.update(table);
                writer.putInteger(SqlType.BIGINT, seed & 0xfffff);
                writer.changed(1);
                writer.column(3);
                writer.putInteger(SqlType.INTEGER, 4711);
            }
            writer.insert(HISTORY, 6);
            for (int column = 0; column < 4; column++) {
                writer.putInteger(SqlType.INTEGER, seed & 0xfffff);
            }
            writer.putTimestamp(2026, 11, 23, 3_600, 0);
            writer.putString(SqlType.VARCHAR, texts[0]);
        } else {
            for (String text : texts) {
                writer.update(TEXTS);
                writer.putString(SqlType.VARCHAR, text);
                writer.changed(1);
                writer.column(2);
                writer.putString(SqlType.VARCHAR, FILLER);
            }
        }
        for (int i = 0; i < shape.rows; i++) {
            writer.key(KeyMode.WRITTEN, hasher.begin(seed + i).value());
        }
        return writer.finish();
    }

    /** Encodes a write set, with its checksum, and the keys that are given. */
    @Benchmark
    public WriteSet encode() {
        return encode(next++);
    }

    /** Takes it from its bytes and reads all values, as an applier does. */
    @Benchmark
    public Object decode() {
        WriteSet source = nextWriteSet();
        WriteSetReader reader = new WriteSetReader(WriteSet.decode(source.bytes(), source.preceding()));
        Object last = null;
        WriteSetReader.Kind kind = reader.next();
        while (kind != null) {
            if (kind == WriteSetReader.Kind.UPDATE) {
                last = reader.readValue();
            }
            for (int left = reader.count(); left > 0; left--) {
                if (kind == WriteSetReader.Kind.UPDATE) {
                    reader.column();
                }
                last = reader.readValue();
            }
            kind = reader.next();
        }
        return last;
    }

    /** Makes the keys of all rows: of numbers, or of texts. */
    @Benchmark
    public long hash() {
        long all = 0;
        for (String text : texts) {
            hasher.begin(CONSTRAINT);
            if (shape == Shape.TPCB) {
                hasher.addInteger(next++);
            } else {
                hasher.addText(text);
            }
            all ^= hasher.value();
        }
        return all;
    }

    /** Certifies one that has seen all before it, and remembers its keys. */
    @Benchmark
    public Object certify() {
        index++;
        Conflict conflict = certifier.certify(
                nextWriteSet(), index - 1, index - 1, index, new TransactionId(SESSION, index), OTHER);
        if (conflict != null) {
            throw new IllegalStateException("conflict at " + index);
        }
        return certifier;
    }

    /** All that the core does when it is delivered: decodes it, certifies it, notes the outcome, and hands it to who applies it. */
    @Benchmark
    public long deliver() {
        long before = committed;
        ByteBuffer commit = nextWriteSet().precededBy(HEADROOM);
        TransactionId id = new TransactionId(SESSION, index);
        ReplicaMessage.putWriteSetHeader(commit, id, core.epoch(), index, index, 0);
        deliver(commit.rewind());
        if (committed != before + 1) {
            throw new IllegalStateException("not committed at " + index);
        }
        return committed;
    }
}
