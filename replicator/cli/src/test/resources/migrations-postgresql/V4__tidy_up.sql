ALTER TABLE customer ADD COLUMN points INTEGER NOT NULL DEFAULT 0;
UPDATE customer SET points = (SELECT count(*) FROM orders o WHERE o.customer_id = customer.id);
ALTER TABLE customer RENAME COLUMN email TO address;
CREATE VIEW golden AS SELECT id, address FROM customer WHERE tier = 'gold';
ALTER TABLE audit ALTER COLUMN what TYPE VARCHAR(20);
