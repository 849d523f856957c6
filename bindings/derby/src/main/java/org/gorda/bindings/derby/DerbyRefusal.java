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
        super(messageId(refusal.cause()), null, new Object[] {refusal.message()});
        this.text = refusal.message();
    }

    private static String messageId(Refusal.Cause cause) {
        String severity = cause.endsSession() ? "C" : cause.endsTransaction() ? "T" : "S";
        return cause.sqlState() + "." + severity + ".GORDA";
    }

    /** An unsupported feature, refused at the statement that needs it. */
    static DerbyRefusal unsupported(String message) {
        return new DerbyRefusal(new Refusal(Refusal.Cause.UNSUPPORTED, message));
    }

    @Override
    public String getMessage() {
        return text;
    }
}
