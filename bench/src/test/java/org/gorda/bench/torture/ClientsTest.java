package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class ClientsTest {

    /** Who only reads does not show that the database takes changes. */
    @Test
    void onlyWhatChangesSomethingCountsAsAChange() {
        List<Workload> workloads = List.of(
                new ListAppend(random -> Isolation.READ_COMMITTED, Promise.LOCKS),
                new BankTransfers(Dialect.DERBY, random -> Isolation.READ_COMMITTED),
                new SkewPairs(),
                new Orders(Dialect.DERBY, random -> Isolation.READ_COMMITTED));
        Findings findings = new Findings();
        List<Clients.Share> shares =
                workloads.stream().map(each -> new Clients.Share(each, 25)).toList();
        try (Clients clients = new Clients("jdbc:derby:memory:clients;create=true", 1, 1, shares, findings)) {
            clients.start();
            Awaitility.await()
                    .atMost(1, TimeUnit.MINUTES)
                    .until(() -> clients.changed().get(0) >= 50);
            clients.stop(Duration.ofMinutes(1));

            long changes = workloads.stream()
                    .flatMap(each -> clients.history(each).stream())
                    .filter(one -> one.outcome() == Outcome.OK)
                    .map(one -> one.operation().value(true))
                    .filter(value -> value.matches(".*:(append|amount|found 1|id \\d|own 0|other 1).*"))
                    .count();
            assertThat(clients.changed()).containsExactly(changes);
            assertThat(findings.counts()).isEmpty();
        }
    }
}
