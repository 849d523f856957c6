package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Derby's driver makes of a replica's refusal. */
class TranslationTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "40001.T.GORDA : [0] the primary has changed: run it again",
                "DERBY SQL error: ERRORCODE: 30000, SQLSTATE: 40001, SQLERRMC: the primary has changed: run it again\u001440001.T.GORDA"
            })
    void aRefusalSaysWhatTheReplicaSaid(String message) {
        assertThatThrownBy(() -> {
                    throw Translation.translate(new SQLException(message, "40001", 30000));
                })
                .isInstanceOf(SQLTransactionRollbackException.class)
                .hasMessage("the primary has changed: run it again");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Table/View 'T' does not exist.",
                "DERBY SQL error: ERRORCODE: 20000, SQLSTATE: 42X05, SQLERRMC: T\u001442X05"
            })
    void whatDerbySaysItselfStaysAsItIs(String message) {
        SQLException told = new SQLException(message, "42X05", 20000);
        assertThat(Translation.translate(told) == told).isTrue();
    }
}
