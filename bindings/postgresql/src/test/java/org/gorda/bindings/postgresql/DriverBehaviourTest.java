package org.gorda.bindings.postgresql;

import java.util.List;
import java.util.stream.Stream;

/** What is executed, and what comes of it. */
class DriverBehaviourTest extends DriverComparison {

    @Override
    Stream<List<Behaviour>> compared() {
        return Stream.of(
                TypeBehaviours.all(), StatementBehaviours.all(), TransactionBehaviours.all(), ErrorBehaviours.all());
    }
}
