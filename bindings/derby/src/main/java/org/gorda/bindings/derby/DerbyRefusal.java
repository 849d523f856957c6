package org.gorda.bindings.derby;

import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.Refusal;

/**
 * A refusal as Derby throws it. The message identifier is one that Derby does not know, so that its text is ours; its first five
 * characters are the SQLSTATE, and the letter behind the dot tells Derby how much it ends: a statement, the transaction, the
 * session. The text is the argument too, by which it reaches clients of the network server.
 */
final class DerbyRefusal extends StandardException {

    private static final long serialVersionUID = 1L;

    private final String text;

    DerbyRefusal(Refusal refusal) {
        this(refusal, refusal.cause().endsTransaction());
    }

    private DerbyRefusal(Refusal refusal, boolean endsTransaction) {
        super(messageId(refusal.cause(), endsTransaction), null, new Object[] {refusal.message()});
        this.text = refusal.message();
    }

    private static String messageId(Refusal.Cause cause, boolean endsTransaction) {
        String severity = cause.endsSession() ? "C" : endsTransaction ? "T" : "S";
        return cause.sqlState() + "." + severity + ".GORDA";
    }

    /** Of a commit that the listener was asked for: nothing else can become of the transaction. */
    static DerbyRefusal ofCommit(Refusal refusal) {
        return new DerbyRefusal(refusal, true);
    }

    /** An unsupported feature, refused at the statement that needs it. */
    static DerbyRefusal unsupported(String message) {
        return new DerbyRefusal(Refusal.unsupported(message));
    }

    @Override
    public String getMessage() {
        return text;
    }
}
