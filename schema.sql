-- The SQLite schema. engine/postgres/schema.sql is its PostgreSQL twin. A test compares both with the models.
--
-- Timestamps are text in the form of the API: `2025-05-05T09:30:15.123456+00:00`, in UTC, without trailing zeros, and
-- without a zero fraction. So their text order is their time order. Dates are `YYYY-MM-DD`. User ids are lower-case UUIDs.
-- AUTOINCREMENT never reuses an id. A reused id would inherit the grants of the deleted row.

-- The resources

CREATE TABLE clients (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CONSTRAINT clients_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT clients_text_check CHECK (length(CAST(name AS BLOB)) <= 65536),
    CONSTRAINT clients_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT clients_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;

CREATE TABLE users (
    id         TEXT PRIMARY KEY NOT NULL,
    email      TEXT NOT NULL,
    name       TEXT NOT NULL,
    role       TEXT NOT NULL,
    client_id  INTEGER,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CONSTRAINT users_email_key UNIQUE (email),
    CONSTRAINT users_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT users_id_check CHECK (length(id) = 36 AND id = lower(id)),
    CONSTRAINT users_role_check CHECK (role IN ('super_admin', 'client_admin', 'client_manager')),
    CONSTRAINT users_check CHECK ((role = 'super_admin') = (client_id IS NULL)),
    CONSTRAINT users_text_check CHECK (length(CAST(email AS BLOB)) <= 65536 AND length(CAST(name AS BLOB)) <= 65536)
) STRICT;
-- E-mail addresses are unique regardless of case.
CREATE UNIQUE INDEX users_lower_email_key ON users (lower(email));
CREATE INDEX users_client_id ON users (client_id);

CREATE TABLE inspectors (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    name  TEXT NOT NULL,
    email TEXT,
    CONSTRAINT inspectors_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT inspectors_text_check CHECK (length(CAST(name AS BLOB)) <= 65536 AND length(CAST(email AS BLOB)) <= 65536)
) STRICT;

CREATE TABLE buildings (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    name          TEXT NOT NULL,
    address       TEXT,
    city          TEXT,
    state         TEXT,
    zip           TEXT,
    client_id     INTEGER NOT NULL,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    latitude      REAL,
    longitude     REAL,
    building_type TEXT,
    floors        INTEGER,
    units         INTEGER,
    CONSTRAINT buildings_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT buildings_id_client_id_key UNIQUE (id, client_id),
    CONSTRAINT buildings_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT buildings_floors_check CHECK (floors BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT buildings_units_check CHECK (units BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT buildings_text_check CHECK (
        length(CAST(name AS BLOB)) <= 65536 AND length(CAST(address AS BLOB)) <= 65536 AND length(CAST(city AS BLOB)) <= 65536
        AND length(CAST(state AS BLOB)) <= 65536 AND length(CAST(zip AS BLOB)) <= 65536 AND length(CAST(building_type AS BLOB)) <= 65536)
) STRICT;
CREATE INDEX buildings_client_id ON buildings (client_id, name);
CREATE INDEX buildings_client_city ON buildings (client_id, city, name);
CREATE INDEX buildings_city ON buildings (city, name);

-- client_id is hidden and equals the building's. The compound foreign key enforces this and updates client_id when the
-- building's client changes. It lets a client admin's lists start from an index.
CREATE TABLE inspections (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    building_id     INTEGER NOT NULL,
    inspection_type TEXT NOT NULL,
    date_visited    TEXT,
    status          TEXT,
    inspector_id    INTEGER,
    notes           TEXT,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    client_id       INTEGER NOT NULL,
    CONSTRAINT inspections_building_id_fkey FOREIGN KEY (building_id, client_id)
        REFERENCES buildings (id, client_id) ON UPDATE CASCADE ON DELETE RESTRICT,
    CONSTRAINT inspections_inspector_id_fkey FOREIGN KEY (inspector_id) REFERENCES inspectors (id) ON DELETE SET NULL,
    CONSTRAINT inspections_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT inspections_date_visited_check CHECK (date_visited GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT inspections_text_check CHECK (
        length(CAST(inspection_type AS BLOB)) <= 65536 AND length(CAST(status AS BLOB)) <= 65536 AND length(CAST(notes AS BLOB)) <= 65536)
) STRICT;
-- Every index begins with client_id, so that a bulk insert for one client touches few index pages. A super admin's search
-- by inspector repeats the index search for each client. No index has the date right after the client: such lists merge the
-- statuses (engine/query/read/skip_scan.py). An id after the date lets a list stop at the end of its page.
CREATE INDEX inspections_client_building ON inspections (client_id, building_id, date_visited, id, status);
CREATE INDEX inspections_client_inspector ON inspections (client_id, inspector_id);
CREATE INDEX inspections_client_status ON inspections (client_id, status, date_visited, id, inspection_type);

-- client_id is hidden and equals the inspection's. Triggers enforce this: a compound foreign key would need an index of
-- (id, client_id), a cost for every new inspection.
CREATE TABLE reports_lead (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    inspection_id INTEGER NOT NULL,
    gun_id        INTEGER,
    result        TEXT,
    client_id     INTEGER NOT NULL,
    CONSTRAINT reports_lead_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT reports_lead_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT reports_lead_gun_id_check CHECK (gun_id BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT reports_lead_text_check CHECK (length(CAST(result AS BLOB)) <= 65536)
) STRICT;
CREATE INDEX reports_lead_inspection_id ON reports_lead (inspection_id);
CREATE INDEX reports_lead_client_id ON reports_lead (client_id);

-- Grants: users who may read a row in addition to the rows of their role

CREATE TABLE client_admin_building_access (
    admin_id    TEXT NOT NULL,
    building_id INTEGER NOT NULL,
    assigned_by TEXT,
    assigned_at TEXT NOT NULL,
    CONSTRAINT client_admin_building_access_pkey PRIMARY KEY (admin_id, building_id),
    CONSTRAINT client_admin_building_access_admin_id_fkey FOREIGN KEY (admin_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_building_access_building_id_fkey FOREIGN KEY (building_id) REFERENCES buildings (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_building_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES users (id) ON DELETE SET NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX client_admin_building_access_building_id ON client_admin_building_access (building_id);
CREATE INDEX client_admin_building_access_assigned_by ON client_admin_building_access (assigned_by);

CREATE TABLE client_manager_building_access (
    manager_id  TEXT NOT NULL,
    building_id INTEGER NOT NULL,
    assigned_by TEXT,
    assigned_at TEXT NOT NULL,
    CONSTRAINT client_manager_building_access_pkey PRIMARY KEY (manager_id, building_id),
    CONSTRAINT client_manager_building_access_manager_id_fkey FOREIGN KEY (manager_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_building_access_building_id_fkey FOREIGN KEY (building_id) REFERENCES buildings (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_building_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES users (id) ON DELETE SET NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX client_manager_building_access_building_id ON client_manager_building_access (building_id);
CREATE INDEX client_manager_building_access_assigned_by ON client_manager_building_access (assigned_by);

CREATE TABLE client_admin_inspection_access (
    admin_id      TEXT NOT NULL,
    inspection_id INTEGER NOT NULL,
    assigned_by   TEXT,
    assigned_at   TEXT NOT NULL,
    CONSTRAINT client_admin_inspection_access_pkey PRIMARY KEY (admin_id, inspection_id),
    CONSTRAINT client_admin_inspection_access_admin_id_fkey FOREIGN KEY (admin_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_inspection_access_inspection_id_fkey FOREIGN KEY (inspection_id) REFERENCES inspections (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_inspection_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES users (id) ON DELETE SET NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX client_admin_inspection_access_inspection_id ON client_admin_inspection_access (inspection_id);
CREATE INDEX client_admin_inspection_access_assigned_by ON client_admin_inspection_access (assigned_by);

CREATE TABLE client_manager_inspection_access (
    manager_id    TEXT NOT NULL,
    inspection_id INTEGER NOT NULL,
    assigned_by   TEXT,
    assigned_at   TEXT NOT NULL,
    CONSTRAINT client_manager_inspection_access_pkey PRIMARY KEY (manager_id, inspection_id),
    CONSTRAINT client_manager_inspection_access_manager_id_fkey FOREIGN KEY (manager_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_inspection_access_inspection_id_fkey FOREIGN KEY (inspection_id) REFERENCES inspections (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_inspection_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES users (id) ON DELETE SET NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX client_manager_inspection_access_inspection_id ON client_manager_inspection_access (inspection_id);
CREATE INDEX client_manager_inspection_access_assigned_by ON client_manager_inspection_access (assigned_by);

-- Hidden tables for sign-in. They are no resources, are never exported, and are not in the catalog.

-- At most one row for each user. A user without a row cannot sign in. Times are Unix seconds.
-- tokens_since: tokens without a session that were issued earlier are invalid. A new password, a global sign-out and a
-- change of role or client set it to the following second, because `iat` counts whole seconds.
CREATE TABLE credentials (
    user_id          TEXT PRIMARY KEY NOT NULL,
    password_hash    TEXT,
    app_metadata     TEXT NOT NULL DEFAULT '{}',
    user_metadata    TEXT NOT NULL DEFAULT '{}',
    disabled_until   INTEGER NOT NULL DEFAULT 0,
    tokens_since     INTEGER NOT NULL DEFAULT 0,
    last_sign_in_at  TEXT,
    CONSTRAINT credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Sessions. Refresh tokens are derived from id, counter and salt; none is stored.
-- rotations: [[second, first counter used in it], …] of the last 30 seconds.
CREATE TABLE sessions (
    id          TEXT PRIMARY KEY NOT NULL,
    user_id     TEXT NOT NULL,
    salt        TEXT NOT NULL,
    counter     INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    rotations   TEXT NOT NULL DEFAULT '[]',
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_user_id ON sessions (user_id, last_used_at);
CREATE INDEX sessions_last_used_at ON sessions (last_used_at);

-- Failed and pending sign-in attempts, by target account and by origin.
CREATE TABLE attempts (
    id      INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    origin  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE INDEX attempts_subject ON attempts (kind, subject, at);
CREATE INDEX attempts_origin ON attempts (kind, origin, at);
CREATE INDEX attempts_at ON attempts (at);

-- Addresses from which a user has signed in. Failed attempts from other addresses do not lock these out.
CREATE TABLE origins (
    user_id TEXT NOT NULL,
    origin  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    CONSTRAINT origins_pkey PRIMARY KEY (user_id, origin),
    CONSTRAINT origins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Kiosk displays. Each reads as one user, by a token of which only the digest is stored. Times are Unix seconds.
-- credentials.tokens_since ends these tokens, too.
CREATE TABLE devices (
    id           TEXT PRIMARY KEY NOT NULL,
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    token_digest TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER,
    expires_at   INTEGER NOT NULL,
    CONSTRAINT devices_token_digest_key UNIQUE (token_digest),
    CONSTRAINT devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT devices_name_check CHECK (length(CAST(name AS BLOB)) <= 256)
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_user_id ON devices (user_id);

-- Single values of this file, such as the clock's latest time.
CREATE TABLE facts (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The audit log: every change of a row of a resource, in the transaction of the change; sign-ins and refusals.
-- engine/audit.py generates its triggers from the models when the file is created: three for each table, and one more if
-- rows can move to another client. Entries are never changed or deleted.

CREATE TABLE audit_log (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        TEXT NOT NULL,
    actor_id  TEXT,
    action    TEXT NOT NULL,
    relation  TEXT NOT NULL,
    row_key   TEXT,
    client_id INTEGER,
    before    TEXT,
    after     TEXT
) STRICT;
CREATE INDEX audit_log_client_id ON audit_log (client_id);
CREATE INDEX audit_log_relation ON audit_log (relation, row_key, client_id);
CREATE INDEX audit_log_refused ON audit_log (actor_id) WHERE action = 'refused';
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'check:audit_log_append_only_check'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'check:audit_log_append_only_check'); END;

-- The actor and the time of the current transaction, for the triggers. Without a row the triggers write no entries: an
-- import writes one entry for all its rows.
CREATE TABLE audit_context (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    at       TEXT NOT NULL,
    actor_id TEXT
) STRICT;
INSERT INTO audit_context (one, at) VALUES (1, strftime('%Y-%m-%dT%H:%M:%S+00:00', 'now'));

-- Rules for every writer, the command line included. engine/storage/sqlite.py reads the messages of RAISE.

CREATE TRIGGER client_admin_building_access_role_insert BEFORE INSERT ON client_admin_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_building_access_admin_id_check'); END;
CREATE TRIGGER client_admin_building_access_role_update BEFORE UPDATE OF admin_id ON client_admin_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_building_access_admin_id_check'); END;
CREATE TRIGGER client_admin_inspection_access_role_insert BEFORE INSERT ON client_admin_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_inspection_access_admin_id_check'); END;
CREATE TRIGGER client_admin_inspection_access_role_update BEFORE UPDATE OF admin_id ON client_admin_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_inspection_access_admin_id_check'); END;
CREATE TRIGGER client_manager_building_access_role_insert BEFORE INSERT ON client_manager_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_building_access_manager_id_check'); END;
CREATE TRIGGER client_manager_building_access_role_update BEFORE UPDATE OF manager_id ON client_manager_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_building_access_manager_id_check'); END;
CREATE TRIGGER client_manager_inspection_access_role_insert BEFORE INSERT ON client_manager_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_inspection_access_manager_id_check'); END;
CREATE TRIGGER client_manager_inspection_access_role_update BEFORE UPDATE OF manager_id ON client_manager_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_inspection_access_manager_id_check'); END;

-- A reading has the client of its inspection. A foreign key refuses a reading without an inspection.
CREATE TRIGGER reports_lead_client_insert BEFORE INSERT ON reports_lead
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:reports_lead_client_id_check'); END;
CREATE TRIGGER reports_lead_client_update BEFORE UPDATE OF inspection_id, client_id ON reports_lead
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:reports_lead_client_id_check'); END;

-- AUTOINCREMENT never returns a chosen id again. SQLite ensures this for an insert; these triggers do for an update.
CREATE TRIGGER clients_ids AFTER UPDATE OF id ON clients
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'clients'; END;
CREATE TRIGGER inspectors_ids AFTER UPDATE OF id ON inspectors
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'inspectors'; END;
CREATE TRIGGER buildings_ids AFTER UPDATE OF id ON buildings
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'buildings'; END;
CREATE TRIGGER inspections_ids AFTER UPDATE OF id ON inspections
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'inspections'; END;
CREATE TRIGGER reports_lead_ids AFTER UPDATE OF id ON reports_lead
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'reports_lead'; END;

-- The time of the transaction, which never goes back (engine/storage/clock.py), or the system's for a manual statement.
CREATE VIEW this_second AS
    SELECT max(unixepoch(), coalesce((SELECT unixepoch(at) FROM audit_context), 0)) AS now;

-- A change of a user's role or client deletes the user's grants, sessions and kiosk displays and ends all tokens. The grants
-- are deleted before the change, so that their audit entries belong to the old client. A deleted user's grants, too.
CREATE TRIGGER users_before_move BEFORE UPDATE OF role, client_id ON users
WHEN OLD.role IS NOT NEW.role OR OLD.client_id IS NOT NEW.client_id
BEGIN
    DELETE FROM client_admin_building_access WHERE admin_id = OLD.id;
    DELETE FROM client_admin_inspection_access WHERE admin_id = OLD.id;
    DELETE FROM client_manager_building_access WHERE manager_id = OLD.id;
    DELETE FROM client_manager_inspection_access WHERE manager_id = OLD.id;
END;
CREATE TRIGGER users_before_delete BEFORE DELETE ON users
BEGIN
    DELETE FROM client_admin_building_access WHERE admin_id = OLD.id;
    DELETE FROM client_admin_inspection_access WHERE admin_id = OLD.id;
    DELETE FROM client_manager_building_access WHERE manager_id = OLD.id;
    DELETE FROM client_manager_inspection_access WHERE manager_id = OLD.id;
END;
-- A row with the id of a deleted one would take over its rights. So a user's id never changes, a new user with the id of a
-- deleted one starts with all earlier tokens ended, and no client gets an id that has audit entries.
CREATE TRIGGER users_refuse_id_change BEFORE UPDATE OF id ON users WHEN OLD.id IS NOT NEW.id
BEGIN SELECT RAISE(ABORT, 'check:users_id_stays_check'); END;
CREATE TRIGGER clients_id_once_insert BEFORE INSERT ON clients
WHEN EXISTS (SELECT 1 FROM audit_log WHERE client_id = NEW.id) AND NOT EXISTS (SELECT 1 FROM clients WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'check:clients_id_once_check'); END;
CREATE TRIGGER clients_id_once_update BEFORE UPDATE OF id ON clients
WHEN EXISTS (SELECT 1 FROM audit_log WHERE client_id = NEW.id) AND NOT EXISTS (SELECT 1 FROM clients WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'check:clients_id_once_check'); END;
CREATE TRIGGER users_after_insert AFTER INSERT ON users
WHEN EXISTS (SELECT 1 FROM audit_log WHERE relation = 'users' AND row_key = NEW.id AND action = 'delete')
BEGIN
    INSERT INTO credentials (user_id, tokens_since) VALUES (NEW.id, (SELECT now FROM this_second) + 1)
        ON CONFLICT (user_id) DO UPDATE SET tokens_since = max(tokens_since, (SELECT now FROM this_second) + 1);
END;
CREATE TRIGGER users_moved AFTER UPDATE OF role, client_id ON users
WHEN OLD.role IS NOT NEW.role OR OLD.client_id IS NOT NEW.client_id
BEGIN
    DELETE FROM sessions WHERE user_id = NEW.id;
    DELETE FROM devices WHERE user_id = NEW.id;
    INSERT INTO credentials (user_id, tokens_since) VALUES (NEW.id, (SELECT now FROM this_second) + 1)
        ON CONFLICT (user_id) DO UPDATE SET tokens_since = max(tokens_since, (SELECT now FROM this_second) + 1);
END;

-- A change of a building's client deletes the grants that users of the old client have for it and its inspections. The
-- cascade into inspections.client_id fires inspections_moved, which also updates the readings.
CREATE TRIGGER buildings_moved AFTER UPDATE OF client_id ON buildings
WHEN OLD.client_id <> NEW.client_id
BEGIN
    DELETE FROM client_admin_building_access WHERE building_id = NEW.id
        AND admin_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
    DELETE FROM client_manager_building_access WHERE building_id = NEW.id
        AND manager_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
END;
CREATE TRIGGER inspections_moved AFTER UPDATE OF client_id ON inspections
WHEN OLD.client_id <> NEW.client_id
BEGIN
    UPDATE reports_lead SET client_id = NEW.client_id WHERE inspection_id = NEW.id;
    DELETE FROM client_admin_inspection_access WHERE inspection_id = NEW.id
        AND admin_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
    DELETE FROM client_manager_inspection_access WHERE inspection_id = NEW.id
        AND manager_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
END;

-- At least one enabled super admin must remain.
CREATE TRIGGER users_last_super_admin_delete BEFORE DELETE ON users
WHEN OLD.role = 'super_admin' AND NOT EXISTS (
    SELECT 1 FROM users u LEFT JOIN credentials c ON c.user_id = u.id
    WHERE u.role = 'super_admin' AND u.id <> OLD.id AND coalesce(c.disabled_until, 0) <= (SELECT now FROM this_second))
BEGIN SELECT RAISE(ABORT, 'check:users_last_super_admin_check'); END;
CREATE TRIGGER users_last_super_admin_demote BEFORE UPDATE OF role ON users
WHEN OLD.role = 'super_admin' AND NEW.role <> 'super_admin' AND NOT EXISTS (
    SELECT 1 FROM users u LEFT JOIN credentials c ON c.user_id = u.id
    WHERE u.role = 'super_admin' AND u.id <> OLD.id AND coalesce(c.disabled_until, 0) <= (SELECT now FROM this_second))
BEGIN SELECT RAISE(ABORT, 'check:users_last_super_admin_check'); END;
CREATE TRIGGER credentials_last_super_admin_insert BEFORE INSERT ON credentials
WHEN NEW.disabled_until > (SELECT now FROM this_second) AND EXISTS (SELECT 1 FROM users WHERE id = NEW.user_id AND role = 'super_admin')
    AND NOT EXISTS (
    SELECT 1 FROM users u LEFT JOIN credentials c ON c.user_id = u.id
    WHERE u.role = 'super_admin' AND u.id <> NEW.user_id AND coalesce(c.disabled_until, 0) <= (SELECT now FROM this_second))
BEGIN SELECT RAISE(ABORT, 'check:users_last_super_admin_check'); END;
CREATE TRIGGER credentials_last_super_admin_disable BEFORE UPDATE OF disabled_until ON credentials
WHEN NEW.disabled_until > (SELECT now FROM this_second) AND EXISTS (SELECT 1 FROM users WHERE id = NEW.user_id AND role = 'super_admin')
    AND NOT EXISTS (
    SELECT 1 FROM users u LEFT JOIN credentials c ON c.user_id = u.id
    WHERE u.role = 'super_admin' AND u.id <> NEW.user_id AND coalesce(c.disabled_until, 0) <= (SELECT now FROM this_second))
BEGIN SELECT RAISE(ABORT, 'check:users_last_super_admin_check'); END;
