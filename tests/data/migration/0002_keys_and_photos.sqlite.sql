ALTER TABLE buildings ADD COLUMN heating TEXT CONSTRAINT buildings_heating_check CHECK (heating IN ('gas', 'it''s other'));
ALTER TABLE buildings ADD COLUMN storeys INTEGER NOT NULL DEFAULT 1 CONSTRAINT buildings_storeys_check CHECK (storeys BETWEEN 1 AND 2147483647);
ALTER TABLE inspections ADD COLUMN rating REAL CONSTRAINT inspections_rating_check CHECK (rating BETWEEN 0 AND 5);
ALTER TABLE inspections ADD COLUMN reviewer_id INTEGER CONSTRAINT inspections_reviewer_id_fkey REFERENCES inspectors (id) ON DELETE SET NULL;
CREATE TABLE manufacturers (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    CONSTRAINT manufacturers_name_key UNIQUE (name),
    CONSTRAINT manufacturers_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT manufacturers_name_check CHECK (length(CAST(name AS BLOB)) <= 65536)
) STRICT;
CREATE TABLE keys (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    building_id     INTEGER NOT NULL,
    holder_id       TEXT,
    manufacturer_id INTEGER,
    label           TEXT NOT NULL,
    secret          TEXT,
    copies          INTEGER,
    created_at      TEXT NOT NULL,
    client_id       INTEGER NOT NULL,
    CONSTRAINT keys_building_id_label_key UNIQUE (building_id, label),
    CONSTRAINT keys_building_id_fkey FOREIGN KEY (building_id, client_id)
        REFERENCES buildings (id, client_id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT keys_holder_id_fkey FOREIGN KEY (holder_id) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT keys_manufacturer_id_fkey FOREIGN KEY (manufacturer_id) REFERENCES manufacturers (id) ON DELETE RESTRICT,
    CONSTRAINT keys_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT keys_label_check CHECK (length(CAST(label AS BLOB)) <= 65536),
    CONSTRAINT keys_copies_check CHECK (copies BETWEEN 0 AND 99),
    CONSTRAINT keys_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT keys_check CHECK (label <> secret)
) STRICT;
CREATE TABLE photos (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    report_lead_id INTEGER NOT NULL,
    client_id      INTEGER NOT NULL,
    CONSTRAINT photos_report_lead_id_fkey FOREIGN KEY (report_lead_id)
        REFERENCES reports_lead (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT photos_id_check CHECK (id BETWEEN 1 AND 9007199254740991)
) STRICT;
