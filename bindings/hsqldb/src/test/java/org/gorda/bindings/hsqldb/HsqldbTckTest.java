package org.gorda.bindings.hsqldb;

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
class HsqldbTckTest {

    private static final TckBinding HSQLDB = new HsqldbUnderTest();

    @Nested
    class RowChanges extends RowChangesTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Constraints extends ConstraintsTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Values extends ValuesTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class LargeObjects extends LargeObjectsTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class GeneratedKeys extends GeneratedKeysTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class SchemaChanges extends SchemaChangesTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Users extends UsersTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Transactions extends TransactionsTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class CommitAnswers extends CommitAnswersTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Aborts extends AbortsTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Apply extends ApplyTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class Snapshots extends SnapshotsTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    class CertificationKeys extends CertificationKeysTck {
        @Override
        protected TckBinding tested() {
            return HSQLDB;
        }
    }

    @Nested
    @Order(Integer.MAX_VALUE)
    class Table {
        /** What was written anew in 2008 for a database behind its driver, Sequoia: 8,625 lines. */
        @Test
        void ofItsOwnItHasASixthOfWhatTheOriginalHad() throws IOException {
            assertThat(TckTable.linesOfCode("bindings/hsqldb")).isLessThanOrEqualTo(8625 / 6);
        }

        @Test
        void ofTheDocumentationIsTrue() throws IOException {
            TckTable.verify(HSQLDB);
        }
    }
}
