ALTER TABLE customer ADD COLUMN tier VARCHAR(10) DEFAULT 'basic' NOT NULL;
ALTER TABLE customer ADD COLUMN points INTEGER;
UPDATE customer SET points = (SELECT COUNT(*) FROM orders o WHERE o.customer_id = customer.id);
ALTER TABLE customer ALTER COLUMN points SET DEFAULT 0;
ALTER TABLE customer ADD CONSTRAINT ck_tier CHECK (tier IN ('basic', 'gold'));
UPDATE customer SET tier = 'gold' WHERE email LIKE 'a%';
