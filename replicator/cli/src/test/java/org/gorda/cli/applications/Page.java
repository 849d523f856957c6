package org.gorda.cli.applications;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Version;
import java.math.BigDecimal;

/** An entity with a key from a sequence, of which a block is taken at once. */
@Entity
public class Page {

    enum Side {
        FRONT,
        BACK
    }

    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "page_numbers")
    @SequenceGenerator(name = "page_numbers", sequenceName = "page_numbers", allocationSize = 10)
    Long id;

    @Version
    int version;

    @ManyToOne(optional = false, fetch = FetchType.LAZY)
    Document document;

    int pageNumber;

    @Enumerated(EnumType.STRING)
    Side side;

    @Column(precision = 10, scale = 3)
    BigDecimal weight;

    int readers;

    Page() {}

    Page(Document document, int pageNumber) {
        this.document = document;
        this.pageNumber = pageNumber;
        this.side = pageNumber % 2 == 0 ? Side.BACK : Side.FRONT;
        this.weight = new BigDecimal("4.125");
    }
}
