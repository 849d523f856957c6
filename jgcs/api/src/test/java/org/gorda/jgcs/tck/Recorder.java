package org.gorda.jgcs.tck;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;

/** The user of a member under test: keeps what it is told. Thread-safe. */
public final class Recorder implements GroupListener {

    private final List<Message> messages = new ArrayList<>();
    private final List<String> texts = new ArrayList<>();
    private final List<String> direct = new ArrayList<>();
    private final List<String> gaps = new ArrayList<>();
    private View view = View.NOTHING;
    private Position caughtUp = Position.START;
    private GroupException stopped;
    private Consumer<Message> before = message -> {};
    private boolean mayForm = true;

    /** Whether it may form a group when it joins next. */
    public synchronized void mayForm(boolean value) {
        mayForm = value;
    }

    @Override
    public synchronized boolean mayForm() {
        return mayForm;
    }

    /** Called before a message is recorded, on the delivery thread: may throw, and may take its time. */
    public synchronized void before(Consumer<Message> hook) {
        before = hook;
    }

    @Override
    public void onMessage(Message message) {
        Consumer<Message> hook;
        synchronized (this) {
            hook = before;
        }
        hook.accept(message);
        synchronized (this) {
            messages.add(message);
            int bytes = message.payload().remaining();
            texts.add(
                    bytes > 200
                            ? bytes + " bytes"
                            : StandardCharsets.UTF_8
                                    .decode(message.payload().duplicate())
                                    .toString());
        }
    }

    @Override
    public synchronized void onCaughtUp(Position upTo) {
        caughtUp = upTo;
    }

    @Override
    public synchronized void onView(View next) {
        view = next;
    }

    @Override
    public synchronized void onGap(Position firstHeld, String reason) {
        gaps.add(firstHeld + ": " + reason);
    }

    @Override
    public synchronized void onDirect(MemberId from, ByteBuffer payload) {
        direct.add(from + ": " + StandardCharsets.UTF_8.decode(payload.duplicate()));
    }

    /** What others have sent to this member alone. */
    public synchronized List<String> direct() {
        return List.copyOf(direct);
    }

    @Override
    public synchronized void onStop(GroupException cause) {
        stopped = cause;
    }

    /** A new run of the member begins. */
    public synchronized void restarted() {
        stopped = null;
        before = message -> {};
    }

    public synchronized List<Message> messages() {
        return List.copyOf(messages);
    }

    /** The messages as text, the long ones as their length. */
    public synchronized List<String> texts() {
        return List.copyOf(texts);
    }

    public synchronized int count() {
        return messages.size();
    }

    /** The position behind which to join. */
    public synchronized Position last() {
        return messages.isEmpty()
                ? Position.START
                : messages.get(messages.size() - 1).position();
    }

    /** The last place in the order up to which everything was delivered. */
    public synchronized Position caughtUp() {
        return caughtUp;
    }

    public synchronized View view() {
        return view;
    }

    public synchronized List<String> gaps() {
        return List.copyOf(gaps);
    }

    public synchronized GroupException stopped() {
        return stopped;
    }
}
