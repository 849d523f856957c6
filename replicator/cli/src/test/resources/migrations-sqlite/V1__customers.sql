CREATE TABLE customer (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    email VARCHAR(120) NOT NULL UNIQUE,
    full_name VARCHAR(100) NOT NULL,
    created TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL
);
-- Data in the same script.
INSERT INTO customer (email, full_name) VALUES
    ('ada@example.org', 'Ada Lovelace; first'),
    ('grace@example.org', 'Grace Hopper');
CREATE TABLE orders (
    id INTEGER PRIMARY KEY NOT NULL,
    customer_id INTEGER NOT NULL REFERENCES customer (id) ON DELETE CASCADE,
    placed DATE NOT NULL
);
CREATE INDEX ix_orders_placed ON orders (placed, customer_id);
INSERT INTO orders (id, customer_id, placed) SELECT 5000 + id, id, '2026-01-15' FROM customer;
