package org.gorda.bench;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import org.gorda.bench.workload.BenchException;

/**
 * Runs another main class in a process that must not outlive the one that has started it, not even if that is killed: standard input, of which
 * only the other has the writing end, has an end then. The first argument is the main class, the others are for it.
 */
final class EndsWithParent {

    /** As of a process that SIGTERM has ended; nobody is left to ask. */
    private static final int STATUS = 143;

    private EndsWithParent() {}

    public static void main(String[] arguments) throws ReflectiveOperationException {
        Thread watch = new Thread(EndsWithParent::endWithInput, "gorda-parent");
        watch.setDaemon(true);
        watch.start();
        Method main = Class.forName(arguments[0]).getDeclaredMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
        } catch (InvocationTargetException e) {
            throw new BenchException(arguments[0] + " has failed", e.getCause());
        }
    }

    private static void endWithInput() {
        try {
            while (System.in.read() >= 0) {
                // Nothing is said there.
            }
        } catch (IOException e) {
            // As its end.
        }
        System.exit(STATUS);
    }
}
