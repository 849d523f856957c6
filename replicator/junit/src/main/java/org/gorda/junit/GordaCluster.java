package org.gorda.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Gives a test class a group of replicas of one empty Derby database, each a process of its own on this machine, while its tests run;
 * test methods take it as a parameter of type {@link TestCluster}. Before each test all faults of the one before are healed; what is
 * in the database stays.
 *
 * <pre>{@code
 * @GordaCluster(replicas = 3)
 * class OrdersTest {
 *     @Test
 *     void ordersSurvive(TestCluster cluster) throws SQLException {
 *         new Orders(cluster.url()).place("tea");
 *         cluster.crash(cluster.primary());
 *         assertThat(new Orders(cluster.url()).all()).containsExactly("tea");
 *         cluster.heal();
 *         cluster.requireIdentical();
 *     }
 * }
 * }</pre>
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
@ExtendWith(GordaClusterExtension.class)
public @interface GordaCluster {

    /** How many, 1 to 9. */
    int replicas() default 3;

    /** By its name: primary-backup, certification or asynchronous. */
    String protocol() default "primary-backup";

    /** More settings of all replicas, each as {@code key=value}; docs/jdbc.md has them. */
    String[] settings() default {};
}
