package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import org.gorda.gapi.tck.AbortsTck;
import org.gorda.gapi.tck.ApplyTck;
import org.gorda.gapi.tck.CertificationKeysTck;
import org.gorda.gapi.tck.CommitAnswersTck;
import org.gorda.gapi.tck.ConstraintsTck;
import org.gorda.gapi.tck.GeneratedKeysTck;
import org.gorda.gapi.tck.LargeObjectsTck;
import org.gorda.gapi.tck.RowChangesTck;
import org.gorda.gapi.tck.SchemaChangesTck;
import org.gorda.gapi.tck.SnapshotsTck;
import org.gorda.gapi.tck.TckBinding;
import org.gorda.gapi.tck.TckTable;
import org.gorda.gapi.tck.TransactionsTck;
import org.gorda.gapi.tck.UsersTck;
import org.gorda.gapi.tck.ValuesTck;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestClassOrder;

/** All suites of the contract for bindings. */
@TestClassOrder(ClassOrderer.OrderAnnotation.class)
class PostgresTckTest {

    private static final TckBinding POSTGRESQL = new PostgresUnderTest();

    @Nested
    class RowChanges extends RowChangesTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Constraints extends ConstraintsTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Values extends ValuesTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class LargeObjects extends LargeObjectsTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class GeneratedKeys extends GeneratedKeysTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class SchemaChanges extends SchemaChangesTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Users extends UsersTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Transactions extends TransactionsTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class CommitAnswers extends CommitAnswersTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Aborts extends AbortsTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Apply extends ApplyTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class Snapshots extends SnapshotsTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    class CertificationKeys extends CertificationKeysTck {
        @Override
        protected TckBinding tested() {
            return POSTGRESQL;
        }
    }

    @Nested
    @Order(Integer.MAX_VALUE)
    class Table {
        /** What was written anew in 2008 for PostgreSQL: 12,858 lines. */
        @Test
        void itHasLessThanTwoThirdsOfWhatTheOriginalHad() throws IOException {
            assertThat(TckTable.linesOfCode("bindings/postgresql")).isLessThanOrEqualTo(12858 * 2 / 3);
        }

        @Test
        void ofTheDocumentationIsTrue() throws IOException {
            TckTable.verify(POSTGRESQL);
        }
    }
}
