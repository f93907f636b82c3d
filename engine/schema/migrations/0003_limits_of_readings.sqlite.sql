-- Limits of readings, modes, laboratories, standards; numbers that people choose are unique within a client.

-- The smaller limit decided in rows whose limits were reversed. No classification changes.
UPDATE xrf_instruments SET negative_below = positive_from WHERE negative_below > positive_from;
UPDATE xrf_limits SET negative_below = positive_from WHERE negative_below > positive_from;
UPDATE xrf_instruments SET check_low = check_high, check_high = check_low WHERE check_low > check_high;

-- xrf_instruments
CREATE TABLE former_sequence AS SELECT name, seq FROM sqlite_sequence WHERE name = 'xrf_instruments';
CREATE TABLE former_rows AS SELECT * FROM xrf_instruments;
DROP TABLE xrf_instruments;
CREATE TABLE xrf_instruments (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    gun_id           INTEGER NOT NULL,
    client_id        INTEGER,
    make             TEXT NOT NULL,
    model            TEXT NOT NULL,
    serial           TEXT NOT NULL,
    mode             TEXT,
    sheet            TEXT,
    sheet_on         TEXT,
    standard         REAL NOT NULL DEFAULT 1.02,
    check_low        REAL NOT NULL DEFAULT 0.8,
    check_high       REAL NOT NULL DEFAULT 1.2,
    check_minutes    INTEGER NOT NULL DEFAULT 240,
    negative_below   REAL NOT NULL DEFAULT 1,
    positive_from    REAL NOT NULL DEFAULT 1,
    serviced_on      TEXT,
    service_due_on   TEXT,
    leak_test_due_on TEXT,
    retired_on       TEXT,
    created_at       TEXT NOT NULL,
    updated_at       TEXT NOT NULL,
    CONSTRAINT xrf_instruments_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT xrf_instruments_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT xrf_instruments_gun_id_check CHECK (gun_id BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT xrf_instruments_make_check CHECK (length(CAST(make AS BLOB)) <= 65536),
    CONSTRAINT xrf_instruments_model_check CHECK (length(CAST(model AS BLOB)) <= 65536),
    CONSTRAINT xrf_instruments_serial_check CHECK (length(CAST(serial AS BLOB)) <= 65536),
    CONSTRAINT xrf_instruments_mode_check CHECK (length(CAST(mode AS BLOB)) <= 65536),
    CONSTRAINT xrf_instruments_sheet_check CHECK (length(CAST(sheet AS BLOB)) <= 65536),
    CONSTRAINT xrf_instruments_sheet_on_check CHECK (sheet_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT xrf_instruments_standard_check CHECK (standard BETWEEN 0 AND 50),
    CONSTRAINT xrf_instruments_check_low_check CHECK (check_low BETWEEN 0 AND 50),
    CONSTRAINT xrf_instruments_check_high_check CHECK (check_high BETWEEN 0 AND 50),
    CONSTRAINT xrf_instruments_check_minutes_check CHECK (check_minutes BETWEEN 15 AND 1440),
    CONSTRAINT xrf_instruments_negative_below_check CHECK (negative_below BETWEEN 0 AND 100),
    CONSTRAINT xrf_instruments_positive_from_check CHECK (positive_from BETWEEN 0 AND 100),
    CONSTRAINT xrf_instruments_serviced_on_check CHECK (serviced_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT xrf_instruments_service_due_on_check
        CHECK (service_due_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT xrf_instruments_leak_test_due_on_check
        CHECK (leak_test_due_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT xrf_instruments_retired_on_check CHECK (retired_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT xrf_instruments_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT xrf_instruments_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT xrf_instruments_range_of_readings_check CHECK (negative_below <= positive_from),
    CONSTRAINT xrf_instruments_range_of_checks_check CHECK (check_low <= check_high)
) STRICT;
INSERT INTO xrf_instruments (id, gun_id, client_id, make, model, serial, mode, sheet, sheet_on, standard, check_low, check_high, check_minutes, negative_below, positive_from, serviced_on, service_due_on, leak_test_due_on, retired_on, created_at, updated_at)
    SELECT id, gun_id, client_id, make, model, serial, mode, sheet, sheet_on, standard, check_low, check_high, check_minutes, negative_below, positive_from, serviced_on, service_due_on, leak_test_due_on, retired_on, created_at, updated_at
    FROM former_rows;
DROP TABLE former_rows;
DELETE FROM sqlite_sequence WHERE name = 'xrf_instruments';
INSERT INTO sqlite_sequence (name, seq) SELECT name, seq FROM former_sequence;
DROP TABLE former_sequence;

-- xrf_limits
CREATE TABLE former_rows AS SELECT * FROM xrf_limits;
DROP TABLE xrf_limits;
CREATE TABLE xrf_limits (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    gun_id         INTEGER NOT NULL,
    client_id      INTEGER,
    instrument_id  INTEGER NOT NULL,
    substrate      TEXT,
    mode           TEXT,
    negative_below REAL NOT NULL,
    positive_from  REAL NOT NULL,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    CONSTRAINT xrf_limits_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT xrf_limits_instrument_id_fkey FOREIGN KEY (instrument_id)
        REFERENCES xrf_instruments (id) ON DELETE CASCADE,
    CONSTRAINT xrf_limits_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT xrf_limits_gun_id_check CHECK (gun_id BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT xrf_limits_substrate_check CHECK (length(CAST(substrate AS BLOB)) <= 65536),
    CONSTRAINT xrf_limits_mode_check CHECK (length(CAST(mode AS BLOB)) <= 65536),
    CONSTRAINT xrf_limits_negative_below_check CHECK (negative_below BETWEEN 0 AND 100),
    CONSTRAINT xrf_limits_positive_from_check CHECK (positive_from BETWEEN 0 AND 100),
    CONSTRAINT xrf_limits_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT xrf_limits_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT xrf_limits_range_of_readings_check CHECK (negative_below <= positive_from),
    CONSTRAINT xrf_limits_scope_check CHECK (substrate IS NOT NULL OR mode IS NOT NULL)
) STRICT;
INSERT INTO xrf_limits (instrument_id, gun_id, client_id, substrate, negative_below, positive_from, created_at, updated_at)
    SELECT instrument.id, former.gun_id, instrument.client_id, former.substrate, former.negative_below,
        former.positive_from, former.created_at, former.updated_at
    FROM former_rows former JOIN xrf_instruments instrument ON instrument.gun_id = former.gun_id
    ORDER BY former.gun_id, former.substrate;
DROP TABLE former_rows;

-- calibration_checks
CREATE TABLE former_sequence AS SELECT name, seq FROM sqlite_sequence WHERE name = 'calibration_checks';
CREATE TABLE former_rows AS SELECT * FROM calibration_checks;
DROP TABLE calibration_checks;
CREATE TABLE calibration_checks (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    inspection_id INTEGER NOT NULL,
    gun_id        INTEGER NOT NULL,
    taken_at      TEXT NOT NULL,
    first         REAL NOT NULL,
    second        REAL NOT NULL,
    third         REAL NOT NULL,
    mean          REAL,
    result        TEXT,
    check_low     REAL,
    check_high    REAL,
    ref           TEXT,
    note          TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT calibration_checks_ref_key UNIQUE (client_id, ref),
    CONSTRAINT calibration_checks_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT calibration_checks_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT calibration_checks_gun_id_check CHECK (gun_id BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT calibration_checks_taken_at_check
        CHECK (taken_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT calibration_checks_first_check CHECK (first BETWEEN 0 AND 50),
    CONSTRAINT calibration_checks_second_check CHECK (second BETWEEN 0 AND 50),
    CONSTRAINT calibration_checks_third_check CHECK (third BETWEEN 0 AND 50),
    CONSTRAINT calibration_checks_result_check CHECK (result IN ('pass', 'fail')),
    CONSTRAINT calibration_checks_ref_check CHECK (length(ref) = 36 AND ref = lower(ref)),
    CONSTRAINT calibration_checks_note_check CHECK (length(CAST(note AS BLOB)) <= 65536),
    CONSTRAINT calibration_checks_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT calibration_checks_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO calibration_checks (id, inspection_id, gun_id, taken_at, first, second, third, mean, result, check_low, check_high, ref, note, created_at, updated_at, client_id)
    SELECT id, inspection_id, gun_id, taken_at, first, second, third, mean, result, check_low, check_high, ref, note, created_at, updated_at, client_id
    FROM former_rows;
DROP TABLE former_rows;
DELETE FROM sqlite_sequence WHERE name = 'calibration_checks';
INSERT INTO sqlite_sequence (name, seq) SELECT name, seq FROM former_sequence;
DROP TABLE former_sequence;

-- reports_lead
CREATE TABLE former_sequence AS SELECT name, seq FROM sqlite_sequence WHERE name = 'reports_lead';
CREATE TABLE former_rows AS SELECT * FROM reports_lead;
DROP TABLE reports_lead;
CREATE TABLE reports_lead (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    inspection_id    INTEGER NOT NULL,
    gun_id           INTEGER,
    result           TEXT,
    reading_no       INTEGER,
    taken_at         TEXT,
    dwelling         TEXT,
    room             TEXT,
    wall             TEXT,
    component        TEXT,
    substrate        TEXT,
    color            TEXT,
    condition        TEXT,
    lead_mg_cm2      REAL,
    lead_percent     REAL,
    qualifier        TEXT,
    method           TEXT NOT NULL DEFAULT 'xrf',
    mode             TEXT,
    classification   TEXT,
    negative_below   REAL,
    positive_from    REAL,
    limits_from      TEXT,
    sample_no        TEXT,
    lab_name         TEXT,
    reported_on      TEXT,
    confirms_id      INTEGER,
    time_is_by_order INTEGER NOT NULL DEFAULT 0,
    voided           TEXT,
    ref              TEXT,
    note             TEXT,
    updated_at       TEXT NOT NULL,
    client_id        INTEGER NOT NULL,
    CONSTRAINT reports_lead_ref_key UNIQUE (client_id, ref),
    CONSTRAINT reports_lead_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT reports_lead_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT reports_lead_gun_id_check CHECK (gun_id BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT reports_lead_result_check CHECK (length(CAST(result AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_reading_no_check CHECK (reading_no BETWEEN -2147483648 AND 2147483647),
    CONSTRAINT reports_lead_taken_at_check CHECK (taken_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT reports_lead_dwelling_check CHECK (length(CAST(dwelling AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_room_check CHECK (length(CAST(room AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_wall_check CHECK (length(CAST(wall AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_component_check CHECK (length(CAST(component AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_substrate_check CHECK (length(CAST(substrate AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_color_check CHECK (length(CAST(color AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_condition_check CHECK (length(CAST(condition AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_lead_mg_cm2_check CHECK (lead_mg_cm2 BETWEEN -5 AND 100),
    CONSTRAINT reports_lead_lead_percent_check CHECK (lead_percent BETWEEN 0 AND 100),
    CONSTRAINT reports_lead_qualifier_check CHECK (qualifier IN ('<', '>')),
    CONSTRAINT reports_lead_method_check CHECK (method IN ('xrf', 'paint_chip', 'assumed')),
    CONSTRAINT reports_lead_mode_check CHECK (length(CAST(mode AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_classification_check CHECK (classification IN ('positive', 'negative', 'inconclusive')),
    CONSTRAINT reports_lead_limits_from_check CHECK (limits_from IN ('sheet', 'standard')),
    CONSTRAINT reports_lead_sample_no_check CHECK (length(CAST(sample_no AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_lab_name_check CHECK (length(CAST(lab_name AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_reported_on_check CHECK (reported_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT reports_lead_time_is_by_order_check CHECK (time_is_by_order IN (0, 1)),
    CONSTRAINT reports_lead_voided_check CHECK (length(CAST(voided AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_ref_check CHECK (length(ref) = 36 AND ref = lower(ref)),
    CONSTRAINT reports_lead_note_check CHECK (length(CAST(note AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO reports_lead (id, inspection_id, gun_id, result, reading_no, taken_at, dwelling, room, wall, component, substrate, color, condition, lead_mg_cm2, qualifier, method, classification, voided, ref, note, client_id, updated_at)
    SELECT id, inspection_id, gun_id, result, reading_no, taken_at, dwelling, room, wall, component, substrate, color, condition, lead_mg_cm2, qualifier, method, classification, voided, ref, note, client_id, (SELECT updated_at FROM inspections WHERE inspections.id = former_rows.inspection_id)
    FROM former_rows;
DROP TABLE former_rows;
DELETE FROM sqlite_sequence WHERE name = 'reports_lead';
INSERT INTO sqlite_sequence (name, seq) SELECT name, seq FROM former_sequence;
DROP TABLE former_sequence;

-- The limits of the readings that have a value: those of the instrument as it is now, if they give the stored
-- classification. Otherwise other limits were compared, and the reading keeps the standard of 1.0 until it is classified
-- again. Neither result nor classification changes.
UPDATE reports_lead AS reading SET limits_from = 'sheet', negative_below = coalesce(
        (SELECT negative_below FROM xrf_limits own WHERE own.instrument_id = instrument.id AND own.substrate = reading.substrate),
        (SELECT negative_below FROM xrf_limits own WHERE own.instrument_id = instrument.id
            AND lower(own.substrate) = lower(reading.substrate) ORDER BY own.substrate LIMIT 1),
        instrument.negative_below),
    positive_from = coalesce(
        (SELECT positive_from FROM xrf_limits own WHERE own.instrument_id = instrument.id AND own.substrate = reading.substrate),
        (SELECT positive_from FROM xrf_limits own WHERE own.instrument_id = instrument.id
            AND lower(own.substrate) = lower(reading.substrate) ORDER BY own.substrate LIMIT 1),
        instrument.positive_from)
FROM xrf_instruments AS instrument
WHERE instrument.gun_id = reading.gun_id AND (instrument.client_id IS NULL OR instrument.client_id = reading.client_id)
    AND reading.method = 'xrf' AND reading.classification IS NOT NULL;
UPDATE reports_lead SET limits_from = NULL, negative_below = NULL, positive_from = NULL
WHERE limits_from = 'sheet' AND classification <> CASE
            WHEN round(lead_mg_cm2 * 1000) >= round(positive_from * 1000) AND coalesce(qualifier, '') <> '<' THEN 'positive'
            WHEN qualifier = '<' AND round(lead_mg_cm2 * 1000) <= round(negative_below * 1000) THEN 'negative'
            WHEN qualifier IS NULL AND round(lead_mg_cm2 * 1000) < round(negative_below * 1000) THEN 'negative'
            ELSE 'inconclusive'
        END;
UPDATE reports_lead SET limits_from = 'standard', negative_below = 1.0, positive_from = 1.0
WHERE limits_from IS NULL AND classification IS NOT NULL;
-- Less than the detection limit is negative, and an assumption positive, where nobody wrote a value.
UPDATE reports_lead SET classification = 'negative'
WHERE classification IS NULL AND lead_mg_cm2 IS NULL AND qualifier = '<' AND method <> 'assumed';
UPDATE reports_lead SET classification = 'positive' WHERE classification IS NULL AND method = 'assumed';

CREATE TABLE lead_standards (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    client_id    INTEGER,
    kind         TEXT NOT NULL DEFAULT 'paint',
    state        TEXT,
    city         TEXT,
    unit         TEXT NOT NULL,
    from_value   REAL NOT NULL,
    is_exclusive INTEGER NOT NULL DEFAULT 0,
    valid_from   TEXT NOT NULL,
    valid_to     TEXT,
    basis        TEXT NOT NULL,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    CONSTRAINT lead_standards_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT lead_standards_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT lead_standards_kind_check CHECK (kind IN ('paint')),
    CONSTRAINT lead_standards_state_check CHECK (length(CAST(state AS BLOB)) <= 65536),
    CONSTRAINT lead_standards_city_check CHECK (length(CAST(city AS BLOB)) <= 65536),
    CONSTRAINT lead_standards_unit_check CHECK (unit IN ('mg_cm2', 'percent')),
    CONSTRAINT lead_standards_from_value_check CHECK (from_value BETWEEN 0 AND 100),
    CONSTRAINT lead_standards_is_exclusive_check CHECK (is_exclusive IN (0, 1)),
    CONSTRAINT lead_standards_valid_from_check CHECK (valid_from GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT lead_standards_valid_to_check CHECK (valid_to GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT lead_standards_basis_check CHECK (length(CAST(basis AS BLOB)) <= 65536),
    CONSTRAINT lead_standards_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT lead_standards_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT lead_standards_dates_check CHECK (valid_to IS NULL OR valid_to >= valid_from),
    CONSTRAINT lead_standards_place_check CHECK (city IS NULL OR state IS NOT NULL)
) STRICT;
INSERT INTO lead_standards (state, city, unit, from_value, is_exclusive, valid_from, basis, created_at, updated_at) VALUES
    (NULL, NULL, 'mg_cm2', 1, 0, '1992-10-28', '40 CFR 745.227(h)(1) and 42 U.S.C. 4851b(23)', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    (NULL, NULL, 'percent', 0.5, 0, '1992-10-28', '40 CFR 745.227(h)(1) and 42 U.S.C. 4851b(23)', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('NY, New York', 'New York, New York City, Manhattan, Brooklyn, Bronx, The Bronx, Queens, Staten Island, Long Island City, Astoria, Flushing, Jamaica, Far Rockaway, Arverne, Bayside, Breezy Point, Cambria Heights, College Point, Corona, East Elmhurst, Elmhurst, Forest Hills, Fresh Meadows, Glen Oaks, Hollis, Howard Beach, Jackson Heights, Kew Gardens, Little Neck, Maspeth, Middle Village, Oakland Gardens, Ozone Park, Queens Village, Rego Park, Richmond Hill, Ridgewood, Rockaway Park, Rosedale, Saint Albans, St. Albans, South Ozone Park, South Richmond Hill, Springfield Gardens, Sunnyside, Whitestone, Woodhaven, Woodside', 'mg_cm2', 0.5, 0, '2021-12-01', 'New York City Administrative Code 27-2056.2, as amended by Local Law 66 of 2019; 28 RCNY chapter 11', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('NY, New York', 'New York, New York City, Manhattan, Brooklyn, Bronx, The Bronx, Queens, Staten Island, Long Island City, Astoria, Flushing, Jamaica, Far Rockaway, Arverne, Bayside, Breezy Point, Cambria Heights, College Point, Corona, East Elmhurst, Elmhurst, Forest Hills, Fresh Meadows, Glen Oaks, Hollis, Howard Beach, Jackson Heights, Kew Gardens, Little Neck, Maspeth, Middle Village, Oakland Gardens, Ozone Park, Queens Village, Rego Park, Richmond Hill, Ridgewood, Rockaway Park, Rosedale, Saint Albans, St. Albans, South Ozone Park, South Richmond Hill, Springfield Gardens, Sunnyside, Whitestone, Woodhaven, Woodside', 'percent', 0.25, 0, '2021-12-01', 'New York City Administrative Code 27-2056.2, as amended by Local Law 66 of 2019; 28 RCNY chapter 11', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('MD, Maryland', NULL, 'mg_cm2', 0.7, 1, '2024-11-01', 'Maryland Code, Environment 6-1001(c), as read for the state of 2024-11-01. Its first day was not found: an earlier date may be entered.', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00'),
    ('MD, Maryland', NULL, 'percent', 0.5, 1, '2024-11-01', 'Maryland Code, Environment 6-1001(c), as read for the state of 2024-11-01. Its first day was not found: an earlier date may be entered.', '2026-11-29T00:00:00+00:00', '2026-11-29T00:00:00+00:00');

