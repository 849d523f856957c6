DROP VIEW IF EXISTS golden;
CREATE VIEW golden AS SELECT id, email FROM customer WHERE email LIKE 'a%';
