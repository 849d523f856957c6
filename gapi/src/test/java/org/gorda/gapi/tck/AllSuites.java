package org.gorda.gapi.tck;

import java.io.IOException;
import org.junit.jupiter.api.ClassOrderer;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestClassOrder;

/** All suites of the contract for bindings, and then their table in the documentation. A binding runs it as a subclass. */
@TestClassOrder(ClassOrderer.OrderAnnotation.class)
public abstract class AllSuites {

    protected abstract TckBinding tested();

    @Nested
    class RowChanges extends RowChangesTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Constraints extends ConstraintsTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Values extends ValuesTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class LargeObjects extends LargeObjectsTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class GeneratedKeys extends GeneratedKeysTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class SchemaChanges extends SchemaChangesTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Users extends UsersTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Transactions extends TransactionsTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class CommitAnswers extends CommitAnswersTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Aborts extends AbortsTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Apply extends ApplyTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class Snapshots extends SnapshotsTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    class CertificationKeys extends CertificationKeysTck {
        @Override
        protected TckBinding tested() {
            return AllSuites.this.tested();
        }
    }

    @Nested
    @Order(Integer.MAX_VALUE)
    class Table {
        @Test
        void ofTheDocumentationIsTrue() throws IOException {
            TckTable.verify(tested());
        }
    }
}
