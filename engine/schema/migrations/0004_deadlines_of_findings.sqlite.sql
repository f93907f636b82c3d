-- deadline_rules; findings with the time at which each was found and fixed; what each event of a finding changed.
CREATE TABLE deadline_rules (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    client_id       INTEGER,
    inspection_type TEXT,
    severity        TEXT NOT NULL,
    amount          INTEGER NOT NULL,
    unit            TEXT NOT NULL,
    basis           TEXT,
    valid_from      TEXT,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    CONSTRAINT deadline_rules_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT deadline_rules_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT deadline_rules_inspection_type_check CHECK (length(CAST(inspection_type AS BLOB)) <= 65536),
    CONSTRAINT deadline_rules_severity_check CHECK (severity IN ('life_threatening', 'severe', 'moderate', 'low')),
    CONSTRAINT deadline_rules_amount_check CHECK (amount BETWEEN 1 AND 2147483647),
    CONSTRAINT deadline_rules_unit_check CHECK (unit IN ('h', 'd')),
    CONSTRAINT deadline_rules_basis_check CHECK (length(CAST(basis AS BLOB)) <= 65536),
    CONSTRAINT deadline_rules_valid_from_check CHECK (valid_from GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT deadline_rules_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT deadline_rules_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT deadline_rules_longest_check CHECK (amount <= CASE unit WHEN 'h' THEN 8760 ELSE 3660 END)
) STRICT;
INSERT INTO deadline_rules (severity, amount, unit, basis, created_at, updated_at) VALUES
    ('life_threatening', 24, 'h', 'NSPIRE, public and multifamily housing (HUD, 88 FR 40832); also 24 CFR 982.404, vouchers', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('severe', 24, 'h', 'NSPIRE, public and multifamily housing (HUD, 88 FR 40832). Vouchers have 30 days (24 CFR 982.404)', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('moderate', 30, 'd', '24 CFR 982.404, vouchers: all that is not life-threatening. NSPIRE is to be checked', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('low', 60, 'd', 'NSPIRE, public and multifamily housing (HUD, 88 FR 40832): 60 days is its longest time. Vouchers have 30 days (24 CFR 982.404)', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00');
CREATE TABLE new_findings (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    inspection_id INTEGER NOT NULL,
    case_id       INTEGER NOT NULL,
    ref           TEXT,
    place         TEXT,
    item          TEXT,
    code          TEXT,
    description   TEXT NOT NULL,
    severity      TEXT NOT NULL,
    status        TEXT NOT NULL DEFAULT 'open',
    found_at      TEXT NOT NULL,
    due_at        TEXT,
    fixed_at      TEXT,
    days_late     INTEGER,
    closed_at     TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT findings_ref_key UNIQUE (client_id, ref),
    CONSTRAINT findings_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT findings_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT findings_ref_check CHECK (length(ref) = 36 AND ref = lower(ref)),
    CONSTRAINT findings_place_check CHECK (length(CAST(place AS BLOB)) <= 65536),
    CONSTRAINT findings_item_check CHECK (length(CAST(item AS BLOB)) <= 65536),
    CONSTRAINT findings_code_check CHECK (length(CAST(code AS BLOB)) <= 65536),
    CONSTRAINT findings_description_check CHECK (length(CAST(description AS BLOB)) <= 65536),
    CONSTRAINT findings_severity_check CHECK (severity IN ('life_threatening', 'severe', 'moderate', 'low')),
    CONSTRAINT findings_status_check CHECK (status IN ('open', 'fixed', 'verified', 'waived')),
    CONSTRAINT findings_found_at_check CHECK (found_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_due_at_check CHECK (due_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_fixed_at_check CHECK (fixed_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_days_late_check CHECK (days_late BETWEEN 0 AND 2147483647),
    CONSTRAINT findings_closed_at_check CHECK (closed_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO sqlite_sequence (name, seq) SELECT 'new_findings', seq FROM sqlite_sequence WHERE name = 'findings';
INSERT INTO new_findings (
    id, inspection_id, case_id, ref, place, item, code, description, severity, status, found_at, due_at, fixed_at,
    closed_at, created_at, updated_at, client_id
)
SELECT
    id, inspection_id, case_id, ref, place, item, code, description, severity, status, created_at, due_at,
    CASE WHEN status IN ('fixed', 'verified') THEN coalesce(
        (
            SELECT max(at) FROM finding_events WHERE finding_id = findings.id AND kind = 'fixed' AND id > coalesce((
                SELECT max(id) FROM finding_events WHERE finding_id = findings.id AND kind = 'reopened'
            ), 0)
        ),
        closed_at, updated_at
    ) END,
    closed_at, created_at, updated_at, client_id
FROM findings;
UPDATE new_findings SET days_late = CASE WHEN fixed_at > due_at THEN max(1,
    (CAST(strftime('%s', fixed_at) AS INTEGER) - CAST(strftime('%s', due_at) AS INTEGER) + 86399) / 86400
) ELSE 0 END
WHERE fixed_at IS NOT NULL;
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
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    client_id       INTEGER NOT NULL,
    CONSTRAINT finding_events_finding_id_fkey FOREIGN KEY (finding_id)
        REFERENCES findings (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT finding_events_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT finding_events_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT finding_events_at_check CHECK (at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_kind_check
        CHECK (kind IN ('made', 'fixed', 'verified', 'waived', 'reopened', 'extended', 'regraded', 'remark')),
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
    id, finding_id, at, user_id, kind, inspection_id, note, created_at, updated_at, client_id
)
SELECT id, finding_id, at, user_id, kind, inspection_id, note, created_at, updated_at, client_id FROM finding_events;
DROP TABLE finding_events;
DROP TABLE findings;
ALTER TABLE new_findings RENAME TO findings;
ALTER TABLE new_finding_events RENAME TO finding_events;
