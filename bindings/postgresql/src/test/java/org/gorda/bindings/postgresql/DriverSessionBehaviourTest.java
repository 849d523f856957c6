package org.gorda.bindings.postgresql;

import java.util.List;
import java.util.stream.Stream;

/** What a connection has beside its statements: settings, cursors, COPY, metadata; and what is refused. */
class DriverSessionBehaviourTest extends DriverComparison {

    @Override
    Stream<List<Behaviour>> compared() {
        return Stream.of(
                CursorBehaviours.all(),
                CopyBehaviours.all(),
                SessionBehaviours.all(),
                MetadataBehaviours.all(),
                RefusedBehaviours.all());
    }
}
