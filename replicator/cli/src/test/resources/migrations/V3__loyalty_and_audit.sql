ALTER TABLE customer ADD COLUMN tier VARCHAR(10) DEFAULT 'basic' NOT NULL;
ALTER TABLE customer ADD COLUMN points INTEGER;
UPDATE customer SET points = (
    SELECT CAST(COALESCE(SUM(l.quantity * l.unit_price), 0) AS INTEGER)
    FROM orders o JOIN order_line l ON l.order_id = o.id WHERE o.customer_id = customer.id);
ALTER TABLE customer ALTER COLUMN points SET DEFAULT 0;
ALTER TABLE customer ALTER COLUMN points NOT NULL;
UPDATE customer SET tier = 'gold' WHERE email LIKE 'a%';
ALTER TABLE customer ADD CONSTRAINT ck_tier CHECK (tier IN ('basic', 'silver', 'gold'));
RENAME COLUMN customer.full_name TO name;

CREATE TABLE audit (
    id BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    order_id BIGINT NOT NULL,
    what VARCHAR(20) NOT NULL
);

CREATE TRIGGER order_placed AFTER INSERT ON orders
    REFERENCING NEW AS added FOR EACH ROW
    INSERT INTO audit (order_id, what) VALUES (added.id, 'placed');
CREATE TRIGGER order_gone AFTER DELETE ON orders
    REFERENCING OLD AS removed FOR EACH ROW
    INSERT INTO audit (order_id, what) VALUES (removed.id, 'gone');

INSERT INTO orders (id, customer_id, placed) VALUES (NEXT VALUE FOR order_number, 1, DATE('2026-02-01'));

CREATE VIEW order_total (order_id, customer, total) AS
    SELECT o.id, c.name, SUM(l.quantity * l.unit_price)
    FROM orders o JOIN customer c ON c.id = o.customer_id JOIN order_line l ON l.order_id = o.id
    GROUP BY o.id, c.name;
