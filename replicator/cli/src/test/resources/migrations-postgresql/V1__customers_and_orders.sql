CREATE TYPE tier AS ENUM ('basic', 'gold');

CREATE TABLE customer (
    id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    email TEXT NOT NULL UNIQUE,
    tier tier NOT NULL DEFAULT 'basic',
    created TIMESTAMPTZ NOT NULL DEFAULT now()
);

CREATE TABLE orders (
    id BIGSERIAL PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer ON DELETE CASCADE,
    lines JSONB NOT NULL DEFAULT '[]'
);

CREATE INDEX ON orders (customer_id);

-- Data in the same script as the schema, in one transaction.
INSERT INTO customer (email) VALUES ('ada@example.org'), ('grace@example.org'), ('edsger@example.org');
INSERT INTO orders (customer_id, lines) SELECT id, jsonb_build_array(email) FROM customer;
