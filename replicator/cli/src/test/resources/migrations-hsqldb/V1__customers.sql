CREATE TABLE customer (
    id INTEGER GENERATED ALWAYS AS IDENTITY (START WITH 1 INCREMENT BY 1),
    email VARCHAR(120) NOT NULL,
    full_name VARCHAR(100) NOT NULL,
    created TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL,
    CONSTRAINT pk_customer PRIMARY KEY (id),
    CONSTRAINT uq_customer_email UNIQUE (email)
);
-- Data in the same script.
INSERT INTO customer (email, full_name) VALUES
    ('ada@example.org', 'Ada Lovelace; first'),
    ('grace@example.org', 'Grace Hopper');
CREATE SEQUENCE order_number AS BIGINT START WITH 5000 INCREMENT BY 5;
CREATE TABLE orders (
    id BIGINT NOT NULL,
    customer_id INTEGER NOT NULL,
    placed DATE NOT NULL,
    CONSTRAINT pk_orders PRIMARY KEY (id),
    CONSTRAINT fk_orders FOREIGN KEY (customer_id) REFERENCES customer (id) ON DELETE CASCADE
);
CREATE INDEX ix_orders_placed ON orders (placed, customer_id);
INSERT INTO orders (id, customer_id, placed) SELECT 5000 + id, id, DATE '2026-01-15' FROM customer;
