package org.gorda.gapi;

/** The types of SQL values that can be replicated, each with the code that stands for it on the wire. */
public enum SqlType {
    BOOLEAN(1),
    SMALLINT(2),
    INTEGER(3),
    BIGINT(4),
    REAL(5),
    DOUBLE(6),
    /** DECIMAL and NUMERIC. */
    DECIMAL(7),
    /** Of fixed length, padded with blanks. */
    CHAR(8),
    VARCHAR(9),
    LONGVARCHAR(10),
    CLOB(11),
    /** Of fixed length. */
    BINARY(12),
    VARBINARY(13),
    LONGVARBINARY(14),
    BLOB(15),
    DATE(16),
    TIME(17),
    TIMESTAMP(18),
    /** As its text. */
    XML(19);

    private static final SqlType[] BY_CODE = new SqlType[20];

    static {
        for (SqlType type : values()) {
            BY_CODE[type.code] = type;
        }
    }

    private final byte code;

    SqlType(int code) {
        this.code = (byte) code;
    }

    byte code() {
        return code;
    }

    /** Whether its values may be long. */
    boolean isTextOrBinary() {
        return (compareTo(CHAR) >= 0 && compareTo(BLOB) <= 0) || this == XML;
    }

    /**
     * What stands for it where databases of different kinds must have the same: for long texts, and for long binaries, each has a name of its own.
     */
    public SqlType shared() {
        return switch (this) {
            case LONGVARCHAR -> CLOB;
            case LONGVARBINARY -> BLOB;
            default -> this;
        };
    }

    static SqlType of(int code) {
        if (code <= 0 || code >= BY_CODE.length) {
            throw new MalformedWriteSetException("unknown type of value " + code);
        }
        return BY_CODE[code];
    }
}
