package org.gorda.replicator.node;

import java.io.PrintWriter;
import java.io.Writer;
import java.net.InetAddress;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Driver;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

/** Derby as it is without us: its classes loaded once more, beside those with our modules. Confined to the test's thread. */
@SuppressWarnings("try") // what Derby declares
final class PlainDerby implements AutoCloseable {

    private static final List<String> ONE_CLASS_OF_EACH_JAR = List.of(
            "org.apache.derby.iapi.jdbc.AutoloadedDriver",
            "org.apache.derby.shared.common.error.StandardException",
            "org.apache.derby.drda.NetworkServerControl",
            "org.apache.derby.jdbc.BasicEmbeddedDataSource40",
            PlainDerby.class.getName());

    private final URLClassLoader classes;
    private final Driver driver;
    private final Object server;

    /** Starts the engine, and its network server at a port of this machine. */
    PlainDerby(int port) throws Exception {
        List<URL> jars = new ArrayList<>();
        for (String name : ONE_CLASS_OF_EACH_JAR) {
            jars.add(Class.forName(name, false, PlainDerby.class.getClassLoader())
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation());
        }
        classes = new URLClassLoader(jars.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
        driver = (Driver) classes.loadClass("org.apache.derby.iapi.jdbc.AutoloadedDriver")
                .getConstructor()
                .newInstance();
        Class<?> control = classes.loadClass("org.apache.derby.drda.NetworkServerControl");
        server = control.getConstructor(InetAddress.class, int.class)
                .newInstance(InetAddress.getLoopbackAddress(), port);
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(classes); // the server's threads take theirs from it
        try {
            control.getMethod("start", PrintWriter.class).invoke(server, new PrintWriter(Writer.nullWriter()));
        } finally {
            thread.setContextClassLoader(before);
        }
        NodeGroup.patiently("Derby's server answers").ignoreExceptions().until(() -> {
            control.getMethod("ping").invoke(server);
            return true;
        });
    }

    ClassLoader classes() {
        return classes;
    }

    Driver driver() {
        return driver;
    }

    @Override
    public void close() throws Exception {
        server.getClass().getMethod("shutdown").invoke(server);
        try {
            driver.connect("jdbc:derby:;shutdown=true", new Properties());
        } catch (SQLException e) {
            // as it tells of every shutdown
        }
        classes.close();
    }
}
