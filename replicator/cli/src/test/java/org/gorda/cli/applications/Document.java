package org.gorda.cli.applications;

import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Lob;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Version;
import java.sql.Blob;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import org.hibernate.annotations.DynamicUpdate;

/**
 * An entity with large objects and a key that the database makes. Updates write only what has changed, because Derby's client cannot
 * store a Blob again that it has read on the same connection.
 */
@Entity
@DynamicUpdate
public class Document {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    @Version
    int version;

    @Column(length = 80, nullable = false, unique = true)
    String title;

    LocalDateTime received;

    @Lob
    @Column(length = 1_000_000)
    String text;

    @Lob
    @Column(length = 4_000_000)
    byte[] scan;

    @Lob
    @Column(length = 4_000_000)
    Blob original;

    @OneToMany(mappedBy = "document", cascade = CascadeType.ALL, orphanRemoval = true)
    @OrderBy("pageNumber")
    List<Page> pages = new ArrayList<>();
}
