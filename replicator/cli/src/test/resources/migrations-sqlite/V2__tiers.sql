ALTER TABLE customer ADD COLUMN tier VARCHAR(10) DEFAULT 'basic' NOT NULL;
ALTER TABLE customer ADD COLUMN points INTEGER;
UPDATE customer SET points = (SELECT COUNT(*) FROM orders o WHERE o.customer_id = customer.id);
UPDATE customer SET tier = 'gold' WHERE email LIKE 'a%';
CREATE TRIGGER order_gone AFTER DELETE ON orders BEGIN
    UPDATE customer SET points = points - 1 WHERE id = OLD.customer_id;
END;
