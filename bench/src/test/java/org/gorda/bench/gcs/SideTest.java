package org.gorda.bench.gcs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.junit.jupiter.api.Test;

/** What a member's digest tells: members that differ in it must fail the run. */
final class SideTest {

    private static final int SIZE = 100;

    /** Delivers what it is told to, keeps what it sends. */
    private static final class Scripted extends Side {
        private final List<byte[]> sent = new ArrayList<>();

        Scripted(int member, Service.Order order) {
            super(configuration(member), order);
        }

        @Override
        void join() {}

        @Override
        boolean formed() {
            return true;
        }

        @Override
        boolean leads() {
            return false;
        }

        @Override
        void multicast(byte[] payload) {
            sent.add(payload);
            delivered(ByteBuffer.wrap(payload));
        }
    }

    private static GroupConfiguration configuration(int member) {
        List<MemberId> members = Stream.of("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3")
                .map(MemberId::new)
                .toList();
        return GroupConfiguration.builder("test", members.get(member), Path.of("unused"))
                .members(members)
                .build();
    }

    private static List<byte[]> messages(int sender, int count) throws InterruptedException {
        Scripted side = new Scripted(sender, Service.Order.TOTAL);
        Side.Sent sent = side.send(SIZE, 2, Long.MAX_VALUE, count);
        assertThat(sent.count()).isEqualTo(count);
        return side.sent;
    }

    private static int digest(Service.Order order, List<byte[]> delivered) throws InterruptedException {
        Scripted side = new Scripted(2, order);
        delivered.forEach(payload -> side.delivered(ByteBuffer.wrap(payload)));
        return side.awaitDelivered(delivered.size());
    }

    @Test
    void totalOrderTellsAnyTwoOrdersApartAndFifoOnlyThoseOfOneSender() throws InterruptedException {
        List<byte[]> one = messages(0, 2);
        List<byte[]> other = messages(1, 1);
        List<byte[]> before = List.of(other.get(0), one.get(0), one.get(1));
        List<byte[]> between = List.of(one.get(0), other.get(0), one.get(1));
        List<byte[]> wrong = List.of(other.get(0), one.get(1), one.get(0));
        List<byte[]> twice = List.of(other.get(0), one.get(0), one.get(0));
        assertThat(digest(Service.Order.TOTAL, before)).isNotEqualTo(digest(Service.Order.TOTAL, between));
        assertThat(digest(Service.Order.FIFO, before)).isEqualTo(digest(Service.Order.FIFO, between));
        for (List<byte[]> bad : List.of(wrong, twice)) {
            assertThat(digest(Service.Order.TOTAL, before)).isNotEqualTo(digest(Service.Order.TOTAL, bad));
            assertThat(digest(Service.Order.FIFO, before)).isNotEqualTo(digest(Service.Order.FIFO, bad));
        }
    }

    @Test
    void whoDeliversMoreThanWasSentFails() throws InterruptedException {
        Scripted side = new Scripted(2, Service.Order.FIFO);
        messages(0, 3).forEach(payload -> side.delivered(ByteBuffer.wrap(payload)));
        assertThatThrownBy(() -> side.awaitDelivered(2))
                .isInstanceOf(BenchException.class)
                .hasMessageContaining("delivered 3 messages where 2 were sent");
    }
}
