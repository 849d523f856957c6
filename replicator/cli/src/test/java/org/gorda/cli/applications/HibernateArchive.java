package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import jakarta.persistence.OptimisticLockException;
import jakarta.persistence.PersistenceException;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.hibernate.Hibernate;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

/** An archive as one writes it with Hibernate, which also makes its tables and finds its dialect itself. */
final class HibernateArchive implements Application {

    private static final int DOCUMENTS = 12;
    private static final int PAGES = 3;
    private static final int READERS = 3;
    private static final int READINGS = 8;

    private final DataSource pool;

    HibernateArchive(DataSource pool) {
        this.pool = pool;
    }

    private SessionFactory sessions(String schema) {
        Configuration configuration = new Configuration()
                .addAnnotatedClass(Document.class)
                .addAnnotatedClass(Page.class)
                .setProperty("hibernate.hbm2ddl.auto", schema)
                .setProperty("hibernate.jdbc.batch_size", "10");
        configuration.getProperties().put("hibernate.connection.datasource", pool);
        return configuration.buildSessionFactory();
    }

    @Override
    public void run(Runnable midway) throws Exception {
        Steps steps = new Steps(pool);
        try (SessionFactory sessions = sessions("update")) {
            steps.once("documents", () -> storesDocuments(sessions, midway));
            steps.once("stale", () -> staleCopyLoses(sessions));
            steps.once("readers", () -> readersCountAtOnce(sessions));
            steps.once("changes", () -> changesAndRemoves(sessions));
        }
        check();
    }

    private static void storesDocuments(SessionFactory sessions, Runnable midway) {
        for (int i = 0; i < DOCUMENTS; i++) {
            int number = i;
            sessions.inTransaction(session -> {
                if (find(session, number) == null) { // else stored before an interruption
                    session.persist(document(number));
                    session.flush();
                    if (number == DOCUMENTS / 2) {
                        midway.run();
                    }
                }
            });
        }
    }

    private static Document document(int number) {
        Document document = new Document();
        document.title = "document " + number;
        document.received = LocalDateTime.of(2026, 1, 1 + number, 12, 30, 15, 123_456_000);
        document.text = text(number);
        document.scan = scan(number);
        document.original = Hibernate.getLobHelper().createBlob(scan(number + 1));
        for (int page = 1; page <= PAGES; page++) {
            document.pages.add(new Page(document, page));
        }
        return document;
    }

    private static String text(int number) {
        return ("Zeile " + number + ": äöü € 漢字\n").repeat(3000);
    }

    private static byte[] scan(int number) {
        byte[] scan = new byte[150_000];
        new Random(number).nextBytes(scan);
        return scan;
    }

    private static Document find(Session session, int number) {
        return session.createSelectionQuery("from Document where title = :title", Document.class)
                .setParameter("title", "document " + number)
                .getSingleResultOrNull();
    }

    private static Page page(Session session, int number, int pageNumber) {
        return session.createSelectionQuery(
                        "from Page p where p.document.title = :title and p.pageNumber = :page", Page.class)
                .setParameter("title", "document " + number)
                .setParameter("page", pageNumber)
                .getSingleResult();
    }

    /** Two have read the same version; who writes second is told. */
    private static void staleCopyLoses(SessionFactory sessions) {
        try (Session first = sessions.openSession();
                Session second = sessions.openSession()) {
            first.beginTransaction();
            second.beginTransaction();
            page(first, 0, 1).readers = 1;
            page(second, 0, 1).readers = 2;
            first.getTransaction().commit();
            assertThatThrownBy(() -> second.getTransaction().commit())
                    .satisfies(e -> assertThat(isOptimistic(e)).isTrue());
        }
        assertThat(sessions.<Integer>fromTransaction(session -> page(session, 0, 1).readers))
                .isEqualTo(1);
    }

    private static boolean isOptimistic(Throwable failure) {
        return failure instanceof OptimisticLockException || failure.getCause() instanceof OptimisticLockException;
    }

    private static void readersCountAtOnce(SessionFactory sessions) throws Exception {
        ExecutorService readers = Executors.newFixedThreadPool(READERS);
        List<Future<?>> ends = new ArrayList<>();
        for (int reader = 0; reader < READERS; reader++) {
            ends.add(readers.submit(() -> {
                for (int i = 0; i < READINGS; i++) {
                    reads(sessions);
                }
            }));
        }
        for (Future<?> end : ends) {
            end.get(60, TimeUnit.SECONDS);
        }
        readers.shutdown();
    }

    private static void reads(SessionFactory sessions) {
        boolean counted = false;
        while (!counted) {
            try {
                sessions.inTransaction(session -> page(session, 1, 1).readers++);
                counted = true;
            } catch (PersistenceException e) { // another was faster, or a deadlock's victim: once more
                assertThat(isOptimistic(e) || e instanceof org.hibernate.exception.LockAcquisitionException)
                        .as(e.toString())
                        .isTrue();
            }
        }
    }

    private static void changesAndRemoves(SessionFactory sessions) {
        sessions.inTransaction(session -> {
            Document document = find(session, 2);
            document.text = "short";
            document.scan = null;
            document.pages.remove(1);
            document.pages.add(new Page(document, 9));
        });
        sessions.inTransaction(session -> session.remove(find(session, 3)));
        sessions.inTransaction(session -> assertThat(
                        session.createMutationQuery("update Page p set p.weight = p.weight * 2 where p.pageNumber = 3")
                                .executeUpdate())
                .isEqualTo(DOCUMENTS - 1));
    }

    @Override
    public void check() {
        try (SessionFactory sessions = sessions("validate")) {
            sessions.inTransaction(session -> {
                assertThat(session.createSelectionQuery("select count(*) from Document", Long.class)
                                .getSingleResult())
                        .isEqualTo(DOCUMENTS - 1);
                assertThat(session.createSelectionQuery("select count(*) from Page", Long.class)
                                .getSingleResult())
                        .isEqualTo((DOCUMENTS - 1) * PAGES);
                for (int number : new int[] {0, DOCUMENTS / 2, DOCUMENTS - 1}) {
                    Document document = find(session, number);
                    assertThat(document.text).isEqualTo(text(number));
                    assertThat(document.scan).isEqualTo(scan(number));
                    assertThat(bytes(document)).isEqualTo(scan(number + 1));
                    assertThat(document.pages).hasSize(PAGES);
                }
                assertThat(find(session, 2).text).isEqualTo("short");
                assertThat(page(session, 1, 1).readers).isEqualTo(READERS * READINGS);
            });
        }
    }

    private static byte[] bytes(Document document) {
        try {
            return document.original.getBytes(1, (int) document.original.length());
        } catch (java.sql.SQLException e) {
            throw new AssertionError(e);
        }
    }
}
