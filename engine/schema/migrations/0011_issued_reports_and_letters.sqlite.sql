-- Issued reports and letters, with the event that names a letter; holds; void checks; deadlines from the service of a letter.
ALTER TABLE building_details ADD COLUMN hold_reason TEXT
    CONSTRAINT building_details_hold_reason_check CHECK (length(CAST(hold_reason AS BLOB)) <= 65536);
ALTER TABLE calibration_checks ADD COLUMN voided TEXT
    CONSTRAINT calibration_checks_voided_check CHECK (length(CAST(voided AS BLOB)) <= 65536);
ALTER TABLE deadline_rules ADD COLUMN counts_from TEXT NOT NULL DEFAULT 'found'
    CONSTRAINT deadline_rules_counts_from_check CHECK (counts_from IN ('found', 'served'));
CREATE TABLE issued_reports (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    inspection_id  INTEGER NOT NULL,
    client_id      INTEGER NOT NULL,
    kind           TEXT NOT NULL,
    rule           TEXT,
    number         TEXT NOT NULL,
    content        TEXT NOT NULL,
    sha256         TEXT NOT NULL,
    signed_name    TEXT NOT NULL,
    signature      TEXT,
    issued_by      TEXT,
    issued_at      TEXT NOT NULL,
    replaces_id    INTEGER,
    withdrawn_at   TEXT,
    withdrawn_by   TEXT,
    withdrawn_note TEXT,
    updated_at     TEXT NOT NULL,
    CONSTRAINT issued_reports_number_key UNIQUE (client_id, number),
    CONSTRAINT issued_reports_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE RESTRICT,
    CONSTRAINT issued_reports_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT issued_reports_issued_by_fkey FOREIGN KEY (issued_by) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT issued_reports_withdrawn_by_fkey FOREIGN KEY (withdrawn_by) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT issued_reports_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT issued_reports_kind_check CHECK (kind IN ('lead', 'findings')),
    CONSTRAINT issued_reports_rule_check CHECK (length(CAST(rule AS BLOB)) <= 64),
    CONSTRAINT issued_reports_number_check CHECK (length(CAST(number AS BLOB)) <= 32),
    CONSTRAINT issued_reports_sha256_check CHECK (length(CAST(sha256 AS BLOB)) <= 64),
    CONSTRAINT issued_reports_signed_name_check CHECK (length(CAST(signed_name AS BLOB)) <= 1024),
    CONSTRAINT issued_reports_signature_check CHECK (length(CAST(signature AS BLOB)) <= 87385),
    CONSTRAINT issued_reports_issued_at_check
        CHECK (issued_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT issued_reports_withdrawn_at_check
        CHECK (withdrawn_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT issued_reports_withdrawn_note_check CHECK (length(CAST(withdrawn_note AS BLOB)) <= 65536),
    CONSTRAINT issued_reports_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
CREATE TABLE notices (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    number         TEXT NOT NULL,
    building_id    INTEGER NOT NULL,
    client_id      INTEGER NOT NULL,
    to_name        TEXT NOT NULL,
    to_address     TEXT NOT NULL,
    answer_by      TEXT NOT NULL,
    served_on      TEXT,
    served_how     TEXT,
    content        TEXT NOT NULL,
    sha256         TEXT NOT NULL,
    issued_by      TEXT,
    issued_at      TEXT NOT NULL,
    withdrawn_at   TEXT,
    withdrawn_note TEXT,
    updated_at     TEXT NOT NULL,
    CONSTRAINT notices_number_key UNIQUE (client_id, number),
    CONSTRAINT notices_building_id_fkey FOREIGN KEY (building_id) REFERENCES buildings (id) ON DELETE RESTRICT,
    CONSTRAINT notices_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT notices_issued_by_fkey FOREIGN KEY (issued_by) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT notices_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT notices_number_check CHECK (length(CAST(number AS BLOB)) <= 32),
    CONSTRAINT notices_to_name_check CHECK (length(CAST(to_name AS BLOB)) <= 1024),
    CONSTRAINT notices_to_address_check CHECK (length(CAST(to_address AS BLOB)) <= 4096),
    CONSTRAINT notices_answer_by_check CHECK (answer_by GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT notices_served_on_check CHECK (served_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT notices_served_how_check CHECK (served_how IN ('post', 'hand', 'posted', 'electronic')),
    CONSTRAINT notices_sha256_check CHECK (length(CAST(sha256 AS BLOB)) <= 64),
    CONSTRAINT notices_issued_at_check CHECK (issued_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT notices_withdrawn_at_check
        CHECK (withdrawn_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT notices_withdrawn_note_check CHECK (length(CAST(withdrawn_note AS BLOB)) <= 65536),
    CONSTRAINT notices_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
CREATE TABLE new_finding_events (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    finding_id      INTEGER NOT NULL,
    at              TEXT NOT NULL,
    user_id         TEXT,
    kind            TEXT NOT NULL,
    inspection_id   INTEGER,
    note            TEXT,
    how             TEXT,
    severity_before TEXT,
    severity_after  TEXT,
    due_before      TEXT,
    due_after       TEXT,
    notice_id       INTEGER,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    client_id       INTEGER NOT NULL,
    CONSTRAINT finding_events_finding_id_fkey FOREIGN KEY (finding_id)
        REFERENCES findings (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT finding_events_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT finding_events_notice_id_fkey FOREIGN KEY (notice_id) REFERENCES notices (id) ON DELETE RESTRICT,
    CONSTRAINT finding_events_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT finding_events_at_check CHECK (at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_kind_check
        CHECK (kind IN ('made', 'fixed', 'verified', 'waived', 'reopened', 'extended', 'regraded', 'remark', 'notified')),
    CONSTRAINT finding_events_note_check CHECK (length(CAST(note AS BLOB)) <= 65536),
    CONSTRAINT finding_events_how_check CHECK (how IN ('visit', 'photo', 'certificate')),
    CONSTRAINT finding_events_severity_before_check
        CHECK (severity_before IN ('life_threatening', 'severe', 'moderate', 'low')),
    CONSTRAINT finding_events_severity_after_check
        CHECK (severity_after IN ('life_threatening', 'severe', 'moderate', 'low')),
    CONSTRAINT finding_events_due_before_check
        CHECK (due_before GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_due_after_check
        CHECK (due_after GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_finding_events', seq FROM sqlite_sequence WHERE name = 'finding_events';
INSERT INTO new_finding_events (
    id, finding_id, at, user_id, kind, inspection_id, note, how, severity_before, severity_after, due_before,
    due_after, created_at, updated_at, client_id
)
SELECT
    id, finding_id, at, user_id, kind, inspection_id, note, how, severity_before, severity_after, due_before,
    due_after, created_at, updated_at, client_id
FROM finding_events;
DROP TABLE finding_events;
ALTER TABLE new_finding_events RENAME TO finding_events;
