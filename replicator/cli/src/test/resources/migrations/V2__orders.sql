CREATE SEQUENCE order_number AS BIGINT START WITH 5000 INCREMENT BY 5;

CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer_id INTEGER NOT NULL,
    placed DATE NOT NULL,
    note VARCHAR(500),
    PRIMARY KEY (id),
    FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE
);

CREATE TABLE order_line (
    order_id BIGINT NOT NULL,
    line_no SMALLINT NOT NULL,
    product_id BIGINT,
    quantity INTEGER NOT NULL,
    unit_price DECIMAL(10, 2) NOT NULL,
    CONSTRAINT pk_order_line PRIMARY KEY (order_id, line_no),
    CONSTRAINT fk_line_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
    CONSTRAINT fk_line_product FOREIGN KEY (product_id) REFERENCES product (id) ON DELETE SET NULL,
    CONSTRAINT ck_quantity CHECK (quantity > 0)
);

CREATE INDEX ix_orders_placed ON orders (placed DESC, customer_id);
CREATE UNIQUE INDEX ux_line_product ON order_line (order_id, product_id);

INSERT INTO orders (id, customer_id, placed, note)
    SELECT NEXT VALUE FOR order_number, id, DATE('2026-01-15'), 'first order of ' || full_name FROM customer;

INSERT INTO order_line (order_id, line_no, product_id, quantity, unit_price)
    SELECT o.id, 1, p.id, 2, p.price FROM orders o CROSS JOIN product p WHERE p.sku = 'TEA-0001';
INSERT INTO order_line (order_id, line_no, product_id, quantity, unit_price)
    SELECT o.id, 2, p.id, 1, p.price FROM orders o CROSS JOIN product p WHERE p.sku = 'POT-0001';
