package org.gorda.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.HdrHistogram.Histogram;
import org.junit.jupiter.api.Test;

class DemoTest {

    @Test
    void onlyAnAsynchronousPrimaryThatIsKilledMayLoseSomething() {
        for (Demo.Kill kill : Demo.Kill.values()) {
            assertThat(losing("primary-backup", kill).proved()).as("%s", kill).isFalse();
            assertThat(losing("asynchronous", kill).proved()).as("%s", kill).isEqualTo(kill == Demo.Kill.PRIMARY);
        }
    }

    private static Demo.Result losing(String protocol, Demo.Kill kill) {
        String killed = kill == Demo.Kill.NONE ? null : "replica1";
        Latencies none = Latencies.of(new Histogram(1));
        return new Demo.Result(
                protocol, "group", 3, 8, 100, 10, 0, Map.of(), 0, 1, 0, true, true, kill, killed, 2, null, none);
    }
}
