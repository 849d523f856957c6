package org.gorda.gapi;

/**
 * The database does not hold what an ordered change expects: this replica has diverged from the others and must stop before it
 * answers anything wrong.
 */
public final class DivergenceException extends ReflectionException {

    private static final long serialVersionUID = 1L;

    public DivergenceException(String message) {
        super(message);
    }

    public DivergenceException(String message, Throwable cause) {
        super(message, cause);
    }
}
