package org.gorda.bindings.derby;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.PushbackInputStream;
import java.io.Reader;
import org.apache.derby.iapi.services.io.StreamStorable;
import org.apache.derby.iapi.types.DataValueDescriptor;
import org.apache.derby.iapi.types.RawToBinaryFormatStream;
import org.apache.derby.iapi.types.ReaderToUTF8Stream;
import org.apache.derby.iapi.types.StringDataValue;
import org.apache.derby.iapi.types.TypeId;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.gorda.gapi.LongValue;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.WriteSetWriter;

/**
 * Large objects as Derby has them before they are stored and after: streams that begin with a length, binary, or modified UTF-8.
 * They pass through a buffer at a time.
 */
final class StoredStreams {

    /** A value that is not longer is a value in memory again. */
    private static final int SMALL = 32 << 10;

    private static final int CLOB_HEADER_MARK = 0xf0;

    private StoredStreams() {}

    /** Encodes a value that is a stream, and makes it a stream of what was encoded, which is returned. */
    static LongValue write(SqlType type, DataValueDescriptor value, WriteSetWriter out) throws StandardException {
        InputStream stored = stream(value);
        try {
            LongValue written =
                    type == SqlType.BLOB ? out.putBinary(type, binary(stored)) : out.putText(type, text(stored));
            set(type, value, written);
            return written;
        } catch (IOException e) {
            if (e.getCause() instanceof DerbyRefusal refused) {
                throw refused;
            }
            throw StandardException.newException(SQLState.LANG_STREAMING_COLUMN_I_O_EXCEPTION, e, value.getTypeName());
        }
    }

    /** What is not stored yet comes from a client, who may give nothing for any time. */
    private static InputStream stream(DataValueDescriptor value) {
        InputStream stream = ((StreamStorable) value).returnStream();
        boolean isClients = stream instanceof RawToBinaryFormatStream || stream instanceof ReaderToUTF8Stream;
        ReflectedConnection connection = isClients ? ReflectedConnection.current() : null;
        return connection == null ? stream : new ClientStream(stream, connection);
    }

    /** Gives a value of a column the content of a write set's. */
    static void set(SqlType type, DataValueDescriptor target, LongValue content) throws StandardException {
        try {
            if (type == SqlType.BLOB) {
                int length = Math.toIntExact(content.bytes());
                if (length <= SMALL) {
                    target.setValue(content.binary().readAllBytes());
                } else {
                    target.setValue(new RawToBinaryFormatStream(content.binary(), length), length);
                }
            } else {
                int length = Math.toIntExact(content.characters());
                if (length <= SMALL) {
                    target.setValue(all(content.text(), length));
                } else {
                    target.setValue(
                            new ReaderToUTF8Stream(
                                    content.text(),
                                    length,
                                    0,
                                    TypeId.CLOB_NAME,
                                    ((StringDataValue) target).getStreamHeaderGenerator()),
                            length);
                }
            }
        } catch (IOException e) {
            throw StandardException.newException(SQLState.LANG_STREAMING_COLUMN_I_O_EXCEPTION, e, target.getTypeName());
        }
    }

    private static String all(Reader text, int length) throws IOException {
        char[] chars = new char[length];
        int filled = 0;
        while (filled < length) {
            int read = text.read(chars, filled, length - filled);
            if (read < 0) {
                throw new EOFException();
            }
            filled += read;
        }
        return new String(chars);
    }

    /** What follows the length, which has one of four forms and need not be known. */
    private static InputStream binary(InputStream stored) throws IOException {
        int first = stored.read();
        if (first < 0) {
            throw new EOFException();
        }
        int more = (first & 0x80) == 0 ? 3 : first == 0xc0 ? 4 : first == 0xa0 ? 2 : 0;
        for (int i = 0; i < more; i++) {
            if (stored.read() < 0) {
                throw new EOFException();
            }
        }
        return stored;
    }

    /** What follows the length: five bytes with a mark in their middle, or two in databases that an early Derby has made. */
    private static Reader text(InputStream stored) throws IOException {
        PushbackInputStream in = new PushbackInputStream(stored);
        in.read();
        if (in.read() < 0) {
            throw new EOFException();
        }
        int third = in.read();
        if (third == CLOB_HEADER_MARK) {
            in.read();
            in.read();
        } else if (third >= 0) {
            in.unread(third);
        }
        return new ModifiedUtf8Reader(in);
    }

    /** Decodes modified UTF-8 up to the end of the stream or the mark that stands for it. */
    private static final class ModifiedUtf8Reader extends Reader {

        private final InputStream in;
        private final byte[] buffer = new byte[8 << 10];
        private int offset;
        private int limit;
        private boolean ended;

        ModifiedUtf8Reader(InputStream in) {
            this.in = in;
        }

        @Override
        public int read(char[] target, int start, int length) throws IOException {
            int count = 0;
            while (count < length) {
                int next = next();
                if (next < 0) {
                    break;
                }
                target[start + count++] = (char) next;
            }
            return count == 0 && length > 0 ? -1 : count;
        }

        private int next() throws IOException {
            int first = oneByte();
            if (first < 0x80) {
                return first;
            }
            if ((first & 0xe0) == 0xc0) {
                return (first & 0x1f) << 6 | (oneByte() & 0x3f);
            }
            int second = oneByte();
            int third = oneByte();
            if (first == 0xe0 && second == 0 && third == 0) {
                ended = true;
                return -1;
            }
            return (first & 0x0f) << 12 | (second & 0x3f) << 6 | (third & 0x3f);
        }

        private int oneByte() throws IOException {
            if (offset == limit && !ended) {
                offset = 0;
                limit = Math.max(0, in.read(buffer, 0, buffer.length));
                ended = limit == 0;
            }
            return ended ? -1 : buffer[offset++] & 0xff;
        }

        @Override
        public void close() {}
    }
}
