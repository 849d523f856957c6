package org.gorda.junit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.gorda.gapi.FileTree;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionConfigurationException;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import org.junit.platform.commons.support.AnnotationSupport;

/** Starts and ends what {@link GordaCluster} asks for. */
final class GordaClusterExtension implements BeforeAllCallback, BeforeEachCallback, ParameterResolver {

    private static final ExtensionContext.Namespace NAMESPACE =
            ExtensionContext.Namespace.create(GordaClusterExtension.class);

    /** A group and where it keeps everything, ended with the class that it was started for. Immutable. */
    @SuppressWarnings("deprecation") // before 5.13 JUnit closes nothing else
    private record Started(TestCluster cluster, Path directory)
            implements AutoCloseable, ExtensionContext.Store.CloseableResource {
        @Override
        public void close() throws IOException {
            cluster.close();
            FileTree.delete(directory);
        }
    }

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        if (started(context) != null) { // by the class that this one is nested in
            return;
        }
        GordaCluster wanted = AnnotationSupport.findAnnotation(context.getRequiredTestClass(), GordaCluster.class)
                .orElseThrow();
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("protocol", wanted.protocol());
        for (String setting : wanted.settings()) {
            int equals = setting.indexOf('=');
            if (equals < 1) {
                throw new ExtensionConfigurationException(
                        "setting '" + setting + "' of @GordaCluster is not key=value");
            }
            settings.put(setting.substring(0, equals), setting.substring(equals + 1));
        }
        Path directory = Files.createTempDirectory("gorda-cluster");
        TestCluster cluster = new TestCluster(wanted.replicas(), directory, settings);
        context.getStore(NAMESPACE).put(Started.class, new Started(cluster, directory));
    }

    private static Started started(ExtensionContext context) {
        return context.getStore(NAMESPACE).get(Started.class, Started.class);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        started(context).cluster().heal();
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == TestCluster.class;
    }

    @Override
    public TestCluster resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return started(context).cluster();
    }
}
