-- A table that was never right: its rows move, keys are made new, and the old one goes.
CREATE TABLE tag_old (product_sku CHAR(8) NOT NULL PRIMARY KEY, tags VARCHAR(100));
INSERT INTO tag_old SELECT sku, 'tea' FROM product WHERE sku LIKE 'TEA%';

CREATE TABLE tag (
    id INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY,
    product_id BIGINT NOT NULL,
    word VARCHAR(30) NOT NULL
);
ALTER TABLE tag ADD CONSTRAINT pk_tag PRIMARY KEY (id);
ALTER TABLE tag ADD CONSTRAINT uq_tag UNIQUE (product_id, word);
ALTER TABLE tag ADD FOREIGN KEY (product_id) REFERENCES product (id) ON DELETE CASCADE;
INSERT INTO tag (product_id, word) SELECT p.id, o.tags FROM product p JOIN tag_old o ON o.product_sku = p.sku;
DROP TABLE tag_old;

DROP INDEX ux_line_product;
ALTER TABLE product DROP COLUMN weight;
ALTER TABLE product ALTER COLUMN name SET DATA TYPE VARCHAR(250);
ALTER TABLE order_line DROP CONSTRAINT ck_quantity;
ALTER TABLE order_line ADD CONSTRAINT ck_quantity CHECK (quantity BETWEEN 1 AND 1000);
