PRAGMA application_id = 1464617777;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY NOT NULL,
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    read_only    INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at   INTEGER,
    created_by   TEXT,
    CONSTRAINT api_keys_digest_key UNIQUE (digest),
    CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT api_keys_name_check CHECK (length(CAST(name AS BLOB)) <= 256),
    CONSTRAINT api_keys_read_only_check CHECK (read_only BETWEEN 0 AND 1)
) STRICT, WITHOUT ROWID;
INSERT INTO "api_keys" VALUES('55f9d905-bbeb-4d5a-89a5-9f999ead3b80','00000000-0000-4000-8000-000000000011','Export','98b9899b8a6daec735ffe62aabcfbdf0c7a7ca57db4821a0e745605c6b20a8ba',0,1767614520,NULL,NULL,'00000000-0000-4000-8000-000000000011');
INSERT INTO "api_keys" VALUES('b8df13f7-88af-42b6-93c3-82982b1d615f','00000000-0000-4000-8000-000000000011','Phone','calendar:d286b99e739968fcd0709b7bda03e95b470f7bfc9c4fb822dbc7eb6bca2cce66',1,1767614520,NULL,NULL,'00000000-0000-4000-8000-000000000011');
CREATE TABLE attempts (
    id      INTEGER PRIMARY KEY,
    kind    TEXT NOT NULL,
    subject TEXT NOT NULL,
    origin  TEXT NOT NULL,
    at      INTEGER NOT NULL
) STRICT;
CREATE TABLE audit_context (
    one      INTEGER PRIMARY KEY CHECK (one = 1),
    at       TEXT NOT NULL,
    actor_id TEXT
) STRICT;
INSERT INTO "audit_context" VALUES(1,'2026-01-05T12:02:00+00:00',NULL);
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
INSERT INTO "audit_log" VALUES(1,'2026-01-05T12:00:00+00:00',NULL,'import','archive',NULL,NULL,NULL,'{"clients": 2, "users": 6, "inspectors": 3, "buildings": 6, "building_details": 4, "inspections": 9, "reports_lead": 4, "calibration_checks": 4, "xrf_instruments": 4, "xrf_limits": 4, "schedules": 4, "inspection_plans": 4, "findings": 4, "finding_events": 4, "files": 0, "client_admin_building_access": 2, "client_manager_building_access": 2, "client_admin_inspection_access": 1, "client_manager_inspection_access": 1}');
INSERT INTO "audit_log" VALUES(2,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','schedules','5',1,NULL,'{"id":5,"building_id":6,"inspection_type":"fire","title":"Alarms","every":3,"unit":"month","counted_from":"planned","first_due":"2026-01-05","grace_days":0,"inspector_id":2,"basis":null,"ended_on":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(3,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','schedules','6',1,NULL,'{"id":6,"building_id":6,"inspection_type":"fire","title":"Doors","every":3,"unit":"month","counted_from":"planned","first_due":"2026-01-05","grace_days":0,"inspector_id":2,"basis":null,"ended_on":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(4,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','schedules','7',1,NULL,'{"id":7,"building_id":6,"inspection_type":"fire","title":"Lift","every":3,"unit":"month","counted_from":"planned","first_due":"2026-01-05","grace_days":0,"inspector_id":2,"basis":null,"ended_on":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(5,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspections','10',1,NULL,'{"id":10,"building_id":6,"inspection_type":"fire","date_visited":"2026-01-05","status":"scheduled","inspector_id":2,"notes":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(6,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspections','11',1,NULL,'{"id":11,"building_id":6,"inspection_type":"fire","date_visited":"2026-01-05","status":"scheduled","inspector_id":2,"notes":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(7,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspections','12',1,NULL,'{"id":12,"building_id":6,"inspection_type":"fire","date_visited":"2026-01-05","status":"scheduled","inspector_id":2,"notes":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(8,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspection_plans','10',1,NULL,'{"inspection_id":10,"schedule_id":5,"occurrence":0,"due_on":"2026-01-05","case_id":10,"round":1,"outcome":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(9,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspection_plans','11',1,NULL,'{"inspection_id":11,"schedule_id":6,"occurrence":0,"due_on":"2026-01-05","case_id":11,"round":1,"outcome":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(10,'2026-01-05T12:00:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspection_plans','12',1,NULL,'{"inspection_id":12,"schedule_id":7,"occurrence":0,"due_on":"2026-01-05","case_id":12,"round":1,"outcome":null,"created_at":"2026-01-05T12:00:00+00:00","updated_at":"2026-01-05T12:00:00+00:00"}');
INSERT INTO "audit_log" VALUES(11,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','update','inspections','10',1,'{"status":"scheduled","updated_at":"2026-01-05T12:00:00+00:00"}','{"status":"in_progress","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(12,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','update','inspections','12',1,'{"status":"scheduled","updated_at":"2026-01-05T12:00:00+00:00"}','{"status":"in_progress","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(13,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','update','inspections','10',1,'{"status":"in_progress"}','{"status":"completed"}');
INSERT INTO "audit_log" VALUES(14,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','update','inspection_plans','10',1,'{"outcome":null,"updated_at":"2026-01-05T12:00:00+00:00"}','{"outcome":"done","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(15,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspections','13',1,NULL,'{"id":13,"building_id":6,"inspection_type":"fire","date_visited":"2026-04-05","status":"scheduled","inspector_id":2,"notes":null,"created_at":"2026-01-05T12:01:00+00:00","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(16,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspection_plans','13',1,NULL,'{"inspection_id":13,"schedule_id":5,"occurrence":1,"due_on":"2026-04-05","case_id":13,"round":1,"outcome":null,"created_at":"2026-01-05T12:01:00+00:00","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(17,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','insert','findings','5',1,NULL,'{"id":5,"inspection_id":12,"case_id":12,"ref":null,"place":"2","item":null,"code":null,"description":"Door sticks.","severity":"moderate","status":"open","due_at":"2026-02-04T23:59:59+00:00","closed_at":null,"created_at":"2026-01-05T12:01:00+00:00","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(18,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','insert','finding_events','5',1,NULL,'{"id":5,"finding_id":5,"at":"2026-01-05T12:01:00+00:00","user_id":"00000000-0000-4000-8000-000000000001","kind":"made","inspection_id":12,"note":null,"created_at":"2026-01-05T12:01:00+00:00","updated_at":"2026-01-05T12:01:00+00:00"}');
INSERT INTO "audit_log" VALUES(19,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','update','inspections','12',1,'{"status":"in_progress","updated_at":"2026-01-05T12:01:00+00:00"}','{"status":"failed","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(20,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','update','inspection_plans','12',1,'{"outcome":null,"updated_at":"2026-01-05T12:00:00+00:00"}','{"outcome":"done","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(21,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspections','14',1,NULL,'{"id":14,"building_id":6,"inspection_type":"fire","date_visited":"2026-04-05","status":"scheduled","inspector_id":2,"notes":null,"created_at":"2026-01-05T12:02:00+00:00","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(22,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspection_plans','14',1,NULL,'{"inspection_id":14,"schedule_id":7,"occurrence":1,"due_on":"2026-04-05","case_id":14,"round":1,"outcome":null,"created_at":"2026-01-05T12:02:00+00:00","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(23,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspections','15',1,NULL,'{"id":15,"building_id":6,"inspection_type":"fire","date_visited":"2026-01-20","status":"scheduled","inspector_id":2,"notes":null,"created_at":"2026-01-05T12:02:00+00:00","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(24,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','inspection_plans','15',1,NULL,'{"inspection_id":15,"schedule_id":null,"occurrence":null,"due_on":null,"case_id":12,"round":2,"outcome":null,"created_at":"2026-01-05T12:02:00+00:00","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(25,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','update','findings','5',1,'{"status":"open","updated_at":"2026-01-05T12:01:00+00:00"}','{"status":"fixed","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(26,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','finding_events','6',1,NULL,'{"id":6,"finding_id":5,"at":"2026-01-05T12:02:00+00:00","user_id":"00000000-0000-4000-8000-000000000001","kind":"fixed","inspection_id":null,"note":"Planed.","created_at":"2026-01-05T12:02:00+00:00","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(27,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','update','inspections','11',1,'{"date_visited":"2026-01-05","updated_at":"2026-01-05T12:00:00+00:00"}','{"date_visited":"2026-01-09","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(28,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','reports_lead','5',1,NULL,'{"id":5,"inspection_id":2,"gun_id":20417,"result":"positive","reading_no":9,"taken_at":"2026-01-05T11:00:00+00:00","dwelling":null,"room":"Kitchen","wall":null,"component":null,"substrate":null,"color":null,"condition":null,"lead_mg_cm2":1.4,"qualifier":null,"method":"xrf","classification":"positive","voided":null,"ref":null,"note":null}');
INSERT INTO "audit_log" VALUES(29,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','insert','files','249789c1-06ea-42eb-ae40-4321ab7130b3',1,NULL,'{"id":"249789c1-06ea-42eb-ae40-4321ab7130b3","bucket":"inspections","name":"1/plan.pdf","inspection_id":1,"finding_id":null,"building_id":null,"sha256":"14bcd090baf31edba64e9cbd8cdfc15f943344aa72cb3675ad8e91bfcbce03ad","size":15,"mimetype":"application/pdf","width":null,"height":null,"taken_at":null,"caption":null,"cache_control":"no-cache","user_metadata":null,"created_by":"00000000-0000-4000-8000-000000000001","created_at":"2026-01-05T12:02:00+00:00","updated_at":"2026-01-05T12:02:00+00:00"}');
INSERT INTO "audit_log" VALUES(30,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000011','create_api_key','api_keys','55f9d905-bbeb-4d5a-89a5-9f999ead3b80',1,NULL,'{"user_id": "00000000-0000-4000-8000-000000000011", "name": "Export", "read_only": false}');
INSERT INTO "audit_log" VALUES(31,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000011','create_api_key','api_keys','b8df13f7-88af-42b6-93c3-82982b1d615f',1,NULL,'{"user_id": "00000000-0000-4000-8000-000000000011", "name": "Phone", "read_only": true, "calendar": true}');
INSERT INTO "audit_log" VALUES(32,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000011','create_kiosk_display','devices','eda0d61b-c4a9-4d81-affc-64061302fff1',1,NULL,'{"user_id": "00000000-0000-4000-8000-000000000012", "name": "Hall"}');
INSERT INTO "audit_log" VALUES(33,'2026-01-05T12:02:00+00:00',NULL,'sign_in_try','users','00000000-0000-4000-8000-000000000012',1,NULL,NULL);
INSERT INTO "audit_log" VALUES(34,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000012','sign_in','users','00000000-0000-4000-8000-000000000012',1,NULL,NULL);
CREATE TABLE building_details (
    building_id    INTEGER PRIMARY KEY,
    year_built     INTEGER,
    parcel         TEXT,
    owner_name     TEXT,
    owner_address  TEXT,
    owner_phone    TEXT,
    child_occupied TEXT,
    hazard_class   TEXT,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    client_id      INTEGER NOT NULL,
    CONSTRAINT building_details_building_id_fkey FOREIGN KEY (building_id, client_id)
        REFERENCES buildings (id, client_id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT building_details_year_built_check CHECK (year_built BETWEEN 1600 AND 2100),
    CONSTRAINT building_details_parcel_check CHECK (length(CAST(parcel AS BLOB)) <= 65536),
    CONSTRAINT building_details_owner_name_check CHECK (length(CAST(owner_name AS BLOB)) <= 65536),
    CONSTRAINT building_details_owner_address_check CHECK (length(CAST(owner_address AS BLOB)) <= 65536),
    CONSTRAINT building_details_owner_phone_check CHECK (length(CAST(owner_phone AS BLOB)) <= 65536),
    CONSTRAINT building_details_child_occupied_check CHECK (child_occupied IN ('yes', 'no', 'unknown')),
    CONSTRAINT building_details_hazard_class_check CHECK (hazard_class IN ('high', 'moderate', 'low')),
    CONSTRAINT building_details_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT building_details_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "building_details" VALUES(1,1928,'034-B-012','Pier Street Trust','1 Harbor Road,
Portland','+1 207 555 0100','yes','low','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "building_details" VALUES(2,1962,NULL,NULL,NULL,NULL,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "building_details" VALUES(4,NULL,NULL,'North Lofts, Inc.',NULL,NULL,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "building_details" VALUES(5,NULL,NULL,NULL,NULL,NULL,'unknown',NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
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
    CONSTRAINT buildings_id_client_id_key UNIQUE (id, client_id),
    CONSTRAINT buildings_client_id_fkey FOREIGN KEY (client_id) REFERENCES clients (id) ON DELETE RESTRICT,
    CONSTRAINT buildings_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT buildings_name_check CHECK (length(CAST(name AS BLOB)) <= 65536),
    CONSTRAINT buildings_address_check CHECK (length(CAST(address AS BLOB)) <= 65536),
    CONSTRAINT buildings_city_check CHECK (length(CAST(city AS BLOB)) <= 65536),
    CONSTRAINT buildings_state_check CHECK (length(CAST(state AS BLOB)) <= 65536),
    CONSTRAINT buildings_zip_check CHECK (length(CAST(zip AS BLOB)) <= 65536),
    CONSTRAINT buildings_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT buildings_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT buildings_latitude_check CHECK (latitude BETWEEN -90 AND 90),
    CONSTRAINT buildings_longitude_check CHECK (longitude BETWEEN -180 AND 180),
    CONSTRAINT buildings_building_type_check CHECK (length(CAST(building_type AS BLOB)) <= 65536),
    CONSTRAINT buildings_floors_check CHECK (floors BETWEEN 0 AND 2147483647),
    CONSTRAINT buildings_units_check CHECK (units BETWEEN 0 AND 2147483647)
) STRICT;
INSERT INTO "buildings" VALUES(1,'Harbor House','1 Pier Rd','Boston','MA','02110',1,'2025-02-01T08:00:00+00:00','2025-02-01T08:00:00+00:00',42.36,-71.05,'residential',12,96);
INSERT INTO "buildings" VALUES(2,'Mill Court','20 Mill St','Lowell','MA','01852',1,'2025-02-02T08:00:00+00:00','2025-03-02T08:00:00+00:00',NULL,NULL,'residential',4,16);
INSERT INTO "buildings" VALUES(3,'Depot 100%','3_Rail Ave','Albany','NY','12207',1,'2025-02-03T08:00:00+00:00','2025-02-03T08:00:00+00:00',42.65,-73.75,NULL,NULL,NULL);
INSERT INTO "buildings" VALUES(4,'Ash, "The" Lofts (North)','4 Elm','Boston','MA','02115',2,'2025-02-04T08:00:00+00:00','2025-02-04T08:00:00+00:00',42.34,-71.09,'mixed',7,40);
INSERT INTO "buildings" VALUES(5,'Größe Straße','5 Oak','Troy','NY','12180',2,'2025-02-05T08:00:00+00:00','2025-02-05T08:00:00+00:00',42.73,-73.69,'commercial',2,0);
INSERT INTO "buildings" VALUES(6,'Vacant Lot','6 Ash','Salem','MA','01970',1,'2025-02-06T08:00:00+00:00','2025-02-06T08:00:00+00:00',42.52,-70.9,'vacant',0,0);
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
    CONSTRAINT calibration_checks_ref_key UNIQUE (ref),
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
INSERT INTO "calibration_checks" VALUES(1,2,77,'2025-04-10T14:00:00+00:00',1.0,1.1,1.0,1.033,'pass',0.8,1.2,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "calibration_checks" VALUES(2,3,79,'2025-04-11T08:00:00+00:00',0.9,1.0,1.0,0.967,'pass',0.8,1.2,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "calibration_checks" VALUES(3,6,79,'2025-05-06T08:45:00+00:00',1.3,1.3,1.2,1.267,'fail',0.8,1.2,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "calibration_checks" VALUES(4,8,78,'2025-06-01T10:00:00+00:00',1.0,1.0,1.0,1.0,'pass',0.8,1.2,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
CREATE TABLE client_admin_building_access (
    admin_id    TEXT NOT NULL,
    building_id INTEGER NOT NULL,
    assigned_by TEXT,
    assigned_at TEXT NOT NULL,
    CONSTRAINT client_admin_building_access_pkey PRIMARY KEY (admin_id, building_id),
    CONSTRAINT client_admin_building_access_admin_id_fkey FOREIGN KEY (admin_id)
        REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_building_access_building_id_fkey FOREIGN KEY (building_id)
        REFERENCES buildings (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_building_access_assigned_by_fkey FOREIGN KEY (assigned_by)
        REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT client_admin_building_access_assigned_at_check
        CHECK (assigned_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT, WITHOUT ROWID;
INSERT INTO "client_admin_building_access" VALUES('00000000-0000-4000-8000-000000000011',1,'00000000-0000-4000-8000-000000000001','2025-02-10T00:00:00+00:00');
INSERT INTO "client_admin_building_access" VALUES('00000000-0000-4000-8000-000000000011',5,'00000000-0000-4000-8000-000000000001','2025-02-11T00:00:00+00:00');
CREATE TABLE client_admin_inspection_access (
    admin_id      TEXT NOT NULL,
    inspection_id INTEGER NOT NULL,
    assigned_by   TEXT,
    assigned_at   TEXT NOT NULL,
    CONSTRAINT client_admin_inspection_access_pkey PRIMARY KEY (admin_id, inspection_id),
    CONSTRAINT client_admin_inspection_access_admin_id_fkey FOREIGN KEY (admin_id)
        REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_inspection_access_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON DELETE CASCADE,
    CONSTRAINT client_admin_inspection_access_assigned_by_fkey FOREIGN KEY (assigned_by)
        REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT client_admin_inspection_access_assigned_at_check
        CHECK (assigned_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT, WITHOUT ROWID;
INSERT INTO "client_admin_inspection_access" VALUES('00000000-0000-4000-8000-000000000021',3,'00000000-0000-4000-8000-000000000001','2025-02-14T00:00:00+00:00');
CREATE TABLE client_manager_building_access (
    manager_id  TEXT NOT NULL,
    building_id INTEGER NOT NULL,
    assigned_by TEXT,
    assigned_at TEXT NOT NULL,
    CONSTRAINT client_manager_building_access_pkey PRIMARY KEY (manager_id, building_id),
    CONSTRAINT client_manager_building_access_manager_id_fkey FOREIGN KEY (manager_id)
        REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_building_access_building_id_fkey FOREIGN KEY (building_id)
        REFERENCES buildings (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_building_access_assigned_by_fkey FOREIGN KEY (assigned_by)
        REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT client_manager_building_access_assigned_at_check
        CHECK (assigned_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT, WITHOUT ROWID;
INSERT INTO "client_manager_building_access" VALUES('00000000-0000-4000-8000-000000000012',1,'00000000-0000-4000-8000-000000000011','2025-02-12T00:00:00+00:00');
INSERT INTO "client_manager_building_access" VALUES('00000000-0000-4000-8000-000000000022',4,'00000000-0000-4000-8000-000000000021','2025-02-12T00:00:00+00:00');
CREATE TABLE client_manager_inspection_access (
    manager_id    TEXT NOT NULL,
    inspection_id INTEGER NOT NULL,
    assigned_by   TEXT,
    assigned_at   TEXT NOT NULL,
    CONSTRAINT client_manager_inspection_access_pkey PRIMARY KEY (manager_id, inspection_id),
    CONSTRAINT client_manager_inspection_access_manager_id_fkey FOREIGN KEY (manager_id)
        REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_inspection_access_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON DELETE CASCADE,
    CONSTRAINT client_manager_inspection_access_assigned_by_fkey FOREIGN KEY (assigned_by)
        REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT client_manager_inspection_access_assigned_at_check
        CHECK (assigned_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT, WITHOUT ROWID;
INSERT INTO "client_manager_inspection_access" VALUES('00000000-0000-4000-8000-000000000012',3,'00000000-0000-4000-8000-000000000011','2025-02-13T00:00:00+00:00');
CREATE TABLE clients (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    name       TEXT NOT NULL,
    address    TEXT,
    phone      TEXT,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    CONSTRAINT clients_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT clients_name_check CHECK (length(CAST(name AS BLOB)) <= 65536),
    CONSTRAINT clients_address_check CHECK (length(CAST(address AS BLOB)) <= 65536),
    CONSTRAINT clients_phone_check CHECK (length(CAST(phone AS BLOB)) <= 65536),
    CONSTRAINT clients_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT clients_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "clients" VALUES(1,'Acme Housing',NULL,NULL,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
INSERT INTO "clients" VALUES(2,'Borough Estates',NULL,NULL,'2025-01-02T00:00:00+00:00','2025-01-02T00:00:00+00:00');
CREATE TABLE credentials (
    user_id         TEXT PRIMARY KEY NOT NULL,
    password_hash   TEXT,
    app_metadata    TEXT NOT NULL DEFAULT '{}',
    user_metadata   TEXT NOT NULL DEFAULT '{}',
    disabled_until  INTEGER NOT NULL DEFAULT 0,
    tokens_since    INTEGER NOT NULL DEFAULT 0,
    last_sign_in_at TEXT,
    CONSTRAINT credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "credentials" VALUES('00000000-0000-4000-8000-000000000001','$argon2id$v=19$m=19456,t=2,p=1$nyf5TFj/xKpvQMLACHfixg$w+7JWhd43So6NgKM+ENVYxQQRLfVxTQZyQqlKuXKCeQ','{}','{}',0,0,NULL);
INSERT INTO "credentials" VALUES('00000000-0000-4000-8000-000000000011','$argon2id$v=19$m=19456,t=2,p=1$vfiXLLbDe1ZdsWcFehmwUw$BINERGlBszVXpyVtw5TBlSFqPGtQQQwtP28maFtjo9M','{}','{}',0,0,NULL);
INSERT INTO "credentials" VALUES('00000000-0000-4000-8000-000000000012','$argon2id$v=19$m=19456,t=2,p=1$J277lss0LLGoEnIz0i/OAQ$gl6W9utV8H8pKsi6LkMPJ8+whTjkWqGX1EANL7RoPRE','{}','{}',0,0,'2026-01-05T12:02:00+00:00');
INSERT INTO "credentials" VALUES('00000000-0000-4000-8000-000000000013','$argon2id$v=19$m=19456,t=2,p=1$Yvupj8G4VMV64noXq1I4Mw$VCNFkp9XpQl1G0xHAaBmfQKSdr8dZwGQeRlQq7SojZs','{}','{}',0,0,NULL);
INSERT INTO "credentials" VALUES('00000000-0000-4000-8000-000000000021','$argon2id$v=19$m=19456,t=2,p=1$u/zVdOHU8Q2arbZJexcL1Q$dxCKw3EGHzPEHU00/DCteN42x6sISBkxceU4axgU1Nw','{}','{}',0,0,NULL);
INSERT INTO "credentials" VALUES('00000000-0000-4000-8000-000000000022','$argon2id$v=19$m=19456,t=2,p=1$4YKokxM8viMh5GYVFVt/Gg$34AQCFr7oEG+VXepFNyN8N0WkrqYx/NVptMHZ/h5i6A','{}','{}',0,0,NULL);
CREATE TABLE devices (
    id              TEXT PRIMARY KEY NOT NULL,
    user_id         TEXT NOT NULL,
    name            TEXT NOT NULL,
    token_digest    TEXT NOT NULL,
    created_at      INTEGER NOT NULL,
    last_seen_at    INTEGER,
    expires_at      INTEGER NOT NULL,
    code_digest     TEXT,
    code_expires_at INTEGER,
    CONSTRAINT devices_token_digest_key UNIQUE (token_digest),
    CONSTRAINT devices_code_digest_key UNIQUE (code_digest),
    CONSTRAINT devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT devices_name_check CHECK (length(CAST(name AS BLOB)) <= 256)
) STRICT, WITHOUT ROWID;
INSERT INTO "devices" VALUES('eda0d61b-c4a9-4d81-affc-64061302fff1','00000000-0000-4000-8000-000000000012','Hall','932a684625d7cebb32b8ecb978ec786eac2716a3d909b9d2b4208ba44e221c3f',1767614520,NULL,1775390520,NULL,NULL);
CREATE TABLE facts (
    name  TEXT PRIMARY KEY NOT NULL,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE files (
    id            TEXT PRIMARY KEY NOT NULL,
    bucket        TEXT NOT NULL,
    name          TEXT NOT NULL,
    inspection_id INTEGER,
    finding_id    INTEGER,
    building_id   INTEGER,
    sha256        TEXT NOT NULL,
    size          INTEGER NOT NULL,
    mimetype      TEXT NOT NULL,
    width         INTEGER,
    height        INTEGER,
    taken_at      TEXT,
    caption       TEXT,
    cache_control TEXT,
    user_metadata TEXT,
    created_by    TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT files_name_key UNIQUE (bucket, name),
    CONSTRAINT files_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT files_finding_id_fkey FOREIGN KEY (finding_id)
        REFERENCES findings (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT files_building_id_fkey FOREIGN KEY (building_id, client_id)
        REFERENCES buildings (id, client_id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT files_created_by_fkey FOREIGN KEY (created_by) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT files_id_check CHECK (length(id) = 36 AND id = lower(id)),
    CONSTRAINT files_bucket_check CHECK (bucket IN ('inspections', 'findings', 'buildings')),
    CONSTRAINT files_name_check CHECK (length(CAST(name AS BLOB)) <= 1024),
    CONSTRAINT files_sha256_check CHECK (length(CAST(sha256 AS BLOB)) <= 64),
    CONSTRAINT files_size_check CHECK (size BETWEEN 1 AND 2147483647),
    CONSTRAINT files_mimetype_check
        CHECK (mimetype IN ('image/jpeg', 'image/png', 'image/webp', 'image/heic', 'application/pdf')),
    CONSTRAINT files_width_check CHECK (width BETWEEN 1 AND 2147483647),
    CONSTRAINT files_height_check CHECK (height BETWEEN 1 AND 2147483647),
    CONSTRAINT files_taken_at_check CHECK (length(CAST(taken_at AS BLOB)) <= 32),
    CONSTRAINT files_caption_check CHECK (length(CAST(caption AS BLOB)) <= 65536),
    CONSTRAINT files_cache_control_check CHECK (length(CAST(cache_control AS BLOB)) <= 256),
    CONSTRAINT files_user_metadata_check CHECK (length(CAST(user_metadata AS BLOB)) <= 65536),
    CONSTRAINT files_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT files_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT files_inspection_check CHECK ((inspection_id IS NOT NULL) = (bucket = 'inspections')),
    CONSTRAINT files_finding_check CHECK ((finding_id IS NOT NULL) = (bucket = 'findings')),
    CONSTRAINT files_building_check CHECK ((building_id IS NOT NULL) = (bucket = 'buildings')),
    CONSTRAINT files_name_of_row_check
        CHECK (name LIKE CAST(coalesce(inspection_id, finding_id, building_id) AS text) || '/%')
) STRICT;
INSERT INTO "files" VALUES('249789c1-06ea-42eb-ae40-4321ab7130b3','inspections','1/plan.pdf',1,NULL,NULL,'14bcd090baf31edba64e9cbd8cdfc15f943344aa72cb3675ad8e91bfcbce03ad',15,'application/pdf',NULL,NULL,NULL,NULL,'no-cache',NULL,'00000000-0000-4000-8000-000000000001','2026-01-05T12:02:00+00:00','2026-01-05T12:02:00+00:00',1);
CREATE TABLE finding_events (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    finding_id    INTEGER NOT NULL,
    at            TEXT NOT NULL,
    user_id       TEXT,
    kind          TEXT NOT NULL,
    inspection_id INTEGER,
    note          TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT finding_events_finding_id_fkey FOREIGN KEY (finding_id)
        REFERENCES findings (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT finding_events_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT finding_events_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT finding_events_at_check CHECK (at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_kind_check
        CHECK (kind IN ('made', 'fixed', 'verified', 'waived', 'reopened', 'extended', 'remark')),
    CONSTRAINT finding_events_note_check CHECK (length(CAST(note AS BLOB)) <= 65536),
    CONSTRAINT finding_events_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT finding_events_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "finding_events" VALUES(1,1,'2025-01-05T00:00:00+00:00',NULL,'made',2,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "finding_events" VALUES(2,2,'2025-01-05T00:00:00+00:00',NULL,'made',6,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "finding_events" VALUES(3,3,'2025-01-05T00:00:00+00:00',NULL,'made',3,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "finding_events" VALUES(4,4,'2025-01-05T00:00:00+00:00',NULL,'made',8,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "finding_events" VALUES(5,5,'2026-01-05T12:01:00+00:00','00000000-0000-4000-8000-000000000001','made',12,NULL,'2026-01-05T12:01:00+00:00','2026-01-05T12:01:00+00:00',1);
INSERT INTO "finding_events" VALUES(6,5,'2026-01-05T12:02:00+00:00','00000000-0000-4000-8000-000000000001','fixed',NULL,'Planed.','2026-01-05T12:02:00+00:00','2026-01-05T12:02:00+00:00',1);
CREATE TABLE findings (
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
    due_at        TEXT NOT NULL,
    closed_at     TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT findings_ref_key UNIQUE (ref),
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
    CONSTRAINT findings_due_at_check CHECK (due_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_closed_at_check CHECK (closed_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT findings_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "findings" VALUES(1,2,2,NULL,'3D, bathroom','Smoke alarm','NSPIRE SA-1','No smoke alarm.','life_threatening','open','2025-02-05T00:00:00+00:00',NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "findings" VALUES(2,6,6,NULL,'3D, bathroom','Smoke alarm','NSPIRE SA-1','Loose handrail.','moderate','open','2025-02-05T00:00:00+00:00',NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "findings" VALUES(3,3,3,NULL,'3D, bathroom','Smoke alarm','NSPIRE SA-1','Worn carpet.','low','open','2025-02-05T00:00:00+00:00',NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "findings" VALUES(4,8,8,NULL,'3D, bathroom','Smoke alarm','NSPIRE SA-1','Blocked exit.','severe','open','2025-02-05T00:00:00+00:00',NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "findings" VALUES(5,12,12,NULL,'2',NULL,NULL,'Door sticks.','moderate','fixed','2026-02-04T23:59:59+00:00',NULL,'2026-01-05T12:01:00+00:00','2026-01-05T12:02:00+00:00',1);
CREATE TABLE inspection_plans (
    inspection_id INTEGER PRIMARY KEY,
    schedule_id   INTEGER,
    occurrence    INTEGER,
    due_on        TEXT,
    case_id       INTEGER NOT NULL,
    round         INTEGER NOT NULL DEFAULT 1,
    outcome       TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT inspection_plans_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT inspection_plans_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE SET NULL,
    CONSTRAINT inspection_plans_occurrence_check CHECK (occurrence BETWEEN 0 AND 2147483647),
    CONSTRAINT inspection_plans_due_on_check CHECK (due_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT inspection_plans_round_check CHECK (round BETWEEN 1 AND 99),
    CONSTRAINT inspection_plans_outcome_check CHECK (outcome IN ('done', 'skipped', 'cancelled')),
    CONSTRAINT inspection_plans_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT inspection_plans_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "inspection_plans" VALUES(2,1,0,'2025-03-01',2,1,'done','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(3,4,0,'2025-01-11',3,1,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(6,2,0,'2025-01-15',6,1,'done','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "inspection_plans" VALUES(8,3,0,'2025-02-01',8,1,'done','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "inspection_plans" VALUES(10,5,0,'2026-01-05',10,1,'done','2026-01-05T12:00:00+00:00','2026-01-05T12:01:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(11,6,0,'2026-01-05',11,1,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:00:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(12,7,0,'2026-01-05',12,1,'done','2026-01-05T12:00:00+00:00','2026-01-05T12:02:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(13,5,1,'2026-04-05',13,1,NULL,'2026-01-05T12:01:00+00:00','2026-01-05T12:01:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(14,7,1,'2026-04-05',14,1,NULL,'2026-01-05T12:02:00+00:00','2026-01-05T12:02:00+00:00',1);
INSERT INTO "inspection_plans" VALUES(15,NULL,NULL,NULL,12,2,NULL,'2026-01-05T12:02:00+00:00','2026-01-05T12:02:00+00:00',1);
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
    CONSTRAINT inspections_inspection_type_check CHECK (length(CAST(inspection_type AS BLOB)) <= 65536),
    CONSTRAINT inspections_date_visited_check CHECK (date_visited GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT inspections_status_check CHECK (length(CAST(status AS BLOB)) <= 65536),
    CONSTRAINT inspections_notes_check CHECK (length(CAST(notes AS BLOB)) <= 65536),
    CONSTRAINT inspections_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT inspections_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "inspections" VALUES(1,1,'annual','2025-03-01','completed',1,'all fine','2025-02-20T10:00:00+00:00','2025-03-01T12:00:00+00:00',1);
INSERT INTO "inspections" VALUES(2,1,'lead','2025-04-10','failed',2,'unit 4B: "peeling"','2025-03-20T10:00:00+00:00','2025-04-10T12:00:00+00:00',1);
INSERT INTO "inspections" VALUES(3,2,'fire','2025-04-11','scheduled',1,NULL,'2025-03-21T10:00:00+00:00','2025-03-21T10:00:00+00:00',1);
INSERT INTO "inspections" VALUES(4,2,'annual',NULL,'scheduled',NULL,NULL,'2025-03-22T10:00:00+00:00','2025-03-22T10:00:00+00:00',1);
INSERT INTO "inspections" VALUES(5,3,'structural','2025-05-05','in_progress',3,'crack, north wall','2025-04-22T10:00:00+00:00','2025-05-05T09:30:15.123456+00:00',1);
INSERT INTO "inspections" VALUES(6,4,'lead','2025-05-06','completed',3,'*starred*','2025-04-23T10:00:00+00:00','2025-05-06T10:00:00+00:00',2);
INSERT INTO "inspections" VALUES(7,4,'emergency','2025-05-07','cancelled',NULL,'','2025-04-24T10:00:00+00:00','2025-05-07T10:00:00+00:00',2);
INSERT INTO "inspections" VALUES(8,5,'annual','2025-06-01',NULL,2,'NULL','2025-04-25T10:00:00+00:00','2025-06-01T10:00:00+00:00',2);
INSERT INTO "inspections" VALUES(9,1,'fire','2025-06-02','scheduled',NULL,'null','2025-05-25T10:00:00+00:00','2025-05-25T10:00:00+00:00',1);
INSERT INTO "inspections" VALUES(10,6,'fire','2026-01-05','completed',2,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:01:00+00:00',1);
INSERT INTO "inspections" VALUES(11,6,'fire','2026-01-09','scheduled',2,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:02:00+00:00',1);
INSERT INTO "inspections" VALUES(12,6,'fire','2026-01-05','failed',2,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:02:00+00:00',1);
INSERT INTO "inspections" VALUES(13,6,'fire','2026-04-05','scheduled',2,NULL,'2026-01-05T12:01:00+00:00','2026-01-05T12:01:00+00:00',1);
INSERT INTO "inspections" VALUES(14,6,'fire','2026-04-05','scheduled',2,NULL,'2026-01-05T12:02:00+00:00','2026-01-05T12:02:00+00:00',1);
INSERT INTO "inspections" VALUES(15,6,'fire','2026-01-20','scheduled',2,NULL,'2026-01-05T12:02:00+00:00','2026-01-05T12:02:00+00:00',1);
CREATE TABLE inspectors (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    name               TEXT NOT NULL,
    email              TEXT,
    user_id            TEXT,
    license            TEXT,
    license_state      TEXT,
    license_expires_on TEXT,
    firm               TEXT,
    firm_address       TEXT,
    firm_phone         TEXT,
    firm_certificate   TEXT,
    CONSTRAINT inspectors_user_id_key UNIQUE (user_id),
    CONSTRAINT inspectors_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT inspectors_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT inspectors_name_check CHECK (length(CAST(name AS BLOB)) <= 65536),
    CONSTRAINT inspectors_email_check CHECK (length(CAST(email AS BLOB)) <= 65536),
    CONSTRAINT inspectors_license_check CHECK (length(CAST(license AS BLOB)) <= 65536),
    CONSTRAINT inspectors_license_state_check CHECK (length(CAST(license_state AS BLOB)) <= 65536),
    CONSTRAINT inspectors_license_expires_on_check
        CHECK (license_expires_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT inspectors_firm_check CHECK (length(CAST(firm AS BLOB)) <= 65536),
    CONSTRAINT inspectors_firm_address_check CHECK (length(CAST(firm_address AS BLOB)) <= 65536),
    CONSTRAINT inspectors_firm_phone_check CHECK (length(CAST(firm_phone AS BLOB)) <= 65536),
    CONSTRAINT inspectors_firm_certificate_check CHECK (length(CAST(firm_certificate AS BLOB)) <= 65536)
) STRICT;
INSERT INTO "inspectors" VALUES(1,'Ines Vega','ines@inspect.example',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "inspectors" VALUES(2,'Ivo Kral',NULL,'00000000-0000-4000-8000-000000000013',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "inspectors" VALUES(3,'Uma Öz','uma@inspect.example',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE origins (
    user_id TEXT NOT NULL,
    origin  TEXT NOT NULL,
    at      INTEGER NOT NULL,
    CONSTRAINT origins_pkey PRIMARY KEY (user_id, origin),
    CONSTRAINT origins_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "origins" VALUES('00000000-0000-4000-8000-000000000012','192.0.2.1',1767614520);
CREATE TABLE reports_lead (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    inspection_id  INTEGER NOT NULL,
    gun_id         INTEGER,
    result         TEXT,
    reading_no     INTEGER,
    taken_at       TEXT,
    dwelling       TEXT,
    room           TEXT,
    wall           TEXT,
    component      TEXT,
    substrate      TEXT,
    color          TEXT,
    condition      TEXT,
    lead_mg_cm2    REAL,
    qualifier      TEXT,
    method         TEXT NOT NULL DEFAULT 'xrf',
    classification TEXT,
    voided         TEXT,
    ref            TEXT,
    note           TEXT,
    client_id      INTEGER NOT NULL,
    CONSTRAINT reports_lead_ref_key UNIQUE (ref),
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
    CONSTRAINT reports_lead_lead_mg_cm2_check CHECK (lead_mg_cm2 BETWEEN 0 AND 100),
    CONSTRAINT reports_lead_qualifier_check CHECK (qualifier IN ('<', '>')),
    CONSTRAINT reports_lead_method_check CHECK (method IN ('xrf', 'paint_chip', 'assumed')),
    CONSTRAINT reports_lead_classification_check CHECK (classification IN ('positive', 'negative', 'inconclusive')),
    CONSTRAINT reports_lead_voided_check CHECK (length(CAST(voided AS BLOB)) <= 65536),
    CONSTRAINT reports_lead_ref_check CHECK (length(ref) = 36 AND ref = lower(ref)),
    CONSTRAINT reports_lead_note_check CHECK (length(CAST(note AS BLOB)) <= 65536)
) STRICT;
INSERT INTO "reports_lead" VALUES(1,2,77,'positive',1,'2025-04-10T14:10:00+00:00','4B','Kitchen','A','Window sill','wood','white','peeling',1.4,NULL,'xrf','positive',NULL,NULL,'Behind the "radiator".',1);
INSERT INTO "reports_lead" VALUES(2,2,78,'negative',NULL,'2025-04-10T14:20:00+00:00','4B','Bathroom','C','Wall','Plaster',NULL,'intact',0.3,'<','xrf','negative','Taken through wallpaper.',NULL,NULL,1);
INSERT INTO "reports_lead" VALUES(3,6,77,'negative',1,'2025-05-06T09:00:00+00:00',NULL,'Hall',NULL,'Door','wood','green','intact',0.2,NULL,'xrf','negative',NULL,'00000000-0000-4000-8000-0000000000f1',NULL,2);
INSERT INTO "reports_lead" VALUES(4,6,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'xrf',NULL,NULL,NULL,NULL,2);
INSERT INTO "reports_lead" VALUES(5,2,20417,'positive',9,'2026-01-05T11:00:00+00:00',NULL,'Kitchen',NULL,NULL,NULL,NULL,NULL,1.4,NULL,'xrf','positive',NULL,NULL,NULL,1);
CREATE TABLE schedules (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    building_id     INTEGER NOT NULL,
    inspection_type TEXT NOT NULL,
    title           TEXT NOT NULL DEFAULT '',
    every           INTEGER NOT NULL,
    unit            TEXT NOT NULL,
    counted_from    TEXT NOT NULL DEFAULT 'planned',
    first_due       TEXT NOT NULL,
    grace_days      INTEGER NOT NULL DEFAULT 0,
    inspector_id    INTEGER,
    basis           TEXT,
    ended_on        TEXT,
    created_at      TEXT NOT NULL,
    updated_at      TEXT NOT NULL,
    client_id       INTEGER NOT NULL,
    CONSTRAINT schedules_once_key UNIQUE (building_id, inspection_type, title),
    CONSTRAINT schedules_building_id_fkey FOREIGN KEY (building_id, client_id)
        REFERENCES buildings (id, client_id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT schedules_inspector_id_fkey FOREIGN KEY (inspector_id) REFERENCES inspectors (id) ON DELETE SET NULL,
    CONSTRAINT schedules_id_check CHECK (id BETWEEN 1 AND 9007199254740991),
    CONSTRAINT schedules_inspection_type_check CHECK (length(CAST(inspection_type AS BLOB)) <= 65536),
    CONSTRAINT schedules_title_check CHECK (length(CAST(title AS BLOB)) <= 65536),
    CONSTRAINT schedules_every_check CHECK (every BETWEEN 1 AND 1200),
    CONSTRAINT schedules_unit_check CHECK (unit IN ('day', 'week', 'month', 'year')),
    CONSTRAINT schedules_counted_from_check CHECK (counted_from IN ('planned', 'done')),
    CONSTRAINT schedules_first_due_check CHECK (first_due GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT schedules_grace_days_check CHECK (grace_days BETWEEN 0 AND 366),
    CONSTRAINT schedules_basis_check CHECK (length(CAST(basis AS BLOB)) <= 65536),
    CONSTRAINT schedules_ended_on_check CHECK (ended_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT schedules_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT schedules_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "schedules" VALUES(1,1,'annual','',1,'year','planned','2025-03-01',0,NULL,'24 CFR 982.405','2025-06-30','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "schedules" VALUES(2,4,'lead','',2,'year','planned','2025-01-15',0,NULL,NULL,'2025-06-30','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "schedules" VALUES(3,5,'annual','',1,'year','planned','2025-02-01',0,NULL,NULL,'2025-06-30','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',2);
INSERT INTO "schedules" VALUES(4,2,'fire','Sprinklers',3,'month','planned','2025-01-11',0,NULL,NULL,'2025-06-30','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00',1);
INSERT INTO "schedules" VALUES(5,6,'fire','Alarms',3,'month','planned','2026-01-05',0,2,NULL,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:00:00+00:00',1);
INSERT INTO "schedules" VALUES(6,6,'fire','Doors',3,'month','planned','2026-01-05',0,2,NULL,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:00:00+00:00',1);
INSERT INTO "schedules" VALUES(7,6,'fire','Lift',3,'month','planned','2026-01-05',0,2,NULL,NULL,'2026-01-05T12:00:00+00:00','2026-01-05T12:00:00+00:00',1);
CREATE TABLE sessions (
    id           TEXT PRIMARY KEY NOT NULL,
    user_id      TEXT NOT NULL,
    salt         TEXT NOT NULL,
    counter      INTEGER NOT NULL DEFAULT 0,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    rotations    TEXT NOT NULL DEFAULT '[]',
    CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
INSERT INTO "sessions" VALUES('66b1ad9a-cc37-463f-a849-a75d350d24fd','00000000-0000-4000-8000-000000000012','CBqgmDR6APyDGA9ESoCzSw',0,1767614520,1767614520,'[]');
CREATE TABLE spent_links (
    id         TEXT PRIMARY KEY NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
ANALYZE "sqlite_master";
INSERT INTO "sqlite_stat1" VALUES('audit_log','audit_log_client_id','3000000 150000');
INSERT INTO "sqlite_stat1" VALUES('audit_log','audit_log_refused','1000 10');
INSERT INTO "sqlite_stat1" VALUES('audit_log','audit_log_relation','3000000 300000 3 3');
INSERT INTO "sqlite_stat1" VALUES('building_details','building_details_client_id','10000 500');
INSERT INTO "sqlite_stat1" VALUES('buildings','buildings_city','10000 250 1');
INSERT INTO "sqlite_stat1" VALUES('buildings','buildings_client_city','10000 500 13 1');
INSERT INTO "sqlite_stat1" VALUES('buildings','buildings_client_id','10000 500 1');
INSERT INTO "sqlite_stat1" VALUES('buildings','sqlite_autoindex_buildings_1','10000 1 1');
INSERT INTO "sqlite_stat1" VALUES('calibration_checks','calibration_checks_client_id','50000 2500');
INSERT INTO "sqlite_stat1" VALUES('calibration_checks','calibration_checks_inspection_id','50000 1');
INSERT INTO "sqlite_stat1" VALUES('calibration_checks','sqlite_autoindex_calibration_checks_1','50000 1');
INSERT INTO "sqlite_stat1" VALUES('client_admin_building_access','client_admin_building_access','100 5 1');
INSERT INTO "sqlite_stat1" VALUES('client_admin_building_access','client_admin_building_access_assigned_by','100 50');
INSERT INTO "sqlite_stat1" VALUES('client_admin_building_access','client_admin_building_access_building_id','100 2');
INSERT INTO "sqlite_stat1" VALUES('client_admin_inspection_access','client_admin_inspection_access','100 5 1');
INSERT INTO "sqlite_stat1" VALUES('client_admin_inspection_access','client_admin_inspection_access_assigned_by','100 50');
INSERT INTO "sqlite_stat1" VALUES('client_admin_inspection_access','client_admin_inspection_access_inspection_id','100 2');
INSERT INTO "sqlite_stat1" VALUES('client_manager_building_access','client_manager_building_access','5000 25 1');
INSERT INTO "sqlite_stat1" VALUES('client_manager_building_access','client_manager_building_access_assigned_by','5000 250');
INSERT INTO "sqlite_stat1" VALUES('client_manager_building_access','client_manager_building_access_building_id','5000 2');
INSERT INTO "sqlite_stat1" VALUES('client_manager_inspection_access','client_manager_inspection_access','1000 5 1');
INSERT INTO "sqlite_stat1" VALUES('client_manager_inspection_access','client_manager_inspection_access_assigned_by','1000 50');
INSERT INTO "sqlite_stat1" VALUES('client_manager_inspection_access','client_manager_inspection_access_inspection_id','1000 2');
INSERT INTO "sqlite_stat1" VALUES('clients',NULL,'20');
INSERT INTO "sqlite_stat1" VALUES('files','files_building_id','100000 10');
INSERT INTO "sqlite_stat1" VALUES('files','files_client_id','100000 5000');
INSERT INTO "sqlite_stat1" VALUES('files','files_created_by','100000 454');
INSERT INTO "sqlite_stat1" VALUES('files','files_finding_id','100000 1');
INSERT INTO "sqlite_stat1" VALUES('files','files_inspection_id','100000 1');
INSERT INTO "sqlite_stat1" VALUES('files','files_sha256','100000 10000 1000');
INSERT INTO "sqlite_stat1" VALUES('files','sqlite_autoindex_files_1','100000 1');
INSERT INTO "sqlite_stat1" VALUES('files','sqlite_autoindex_files_2','100000 10000 1');
INSERT INTO "sqlite_stat1" VALUES('finding_events','finding_events_client_id','300000 15000');
INSERT INTO "sqlite_stat1" VALUES('finding_events','finding_events_finding_id','300000 3');
INSERT INTO "sqlite_stat1" VALUES('finding_events','finding_events_user_id','300000 1363');
INSERT INTO "sqlite_stat1" VALUES('findings','findings_case_id','100000 3 2');
INSERT INTO "sqlite_stat1" VALUES('findings','findings_inspection_id','100000 3 2 1');
INSERT INTO "sqlite_stat1" VALUES('findings','findings_status','100000 5000 1250 1 1');
INSERT INTO "sqlite_stat1" VALUES('findings','sqlite_autoindex_findings_1','100000 1');
INSERT INTO "sqlite_stat1" VALUES('inspection_plans','inspection_plans_case_id','100000 1 1');
INSERT INTO "sqlite_stat1" VALUES('inspection_plans','inspection_plans_client_id','100000 5000');
INSERT INTO "sqlite_stat1" VALUES('inspection_plans','inspection_plans_open_key','20000 1');
INSERT INTO "sqlite_stat1" VALUES('inspection_plans','inspection_plans_open_round_key','20000 1');
INSERT INTO "sqlite_stat1" VALUES('inspection_plans','inspection_plans_schedule_id','100000 5 1');
INSERT INTO "sqlite_stat1" VALUES('inspections','inspections_client_building','1000000 50000 100 1 1 1');
INSERT INTO "sqlite_stat1" VALUES('inspections','inspections_client_inspector','1000000 50000 254');
INSERT INTO "sqlite_stat1" VALUES('inspections','inspections_client_status','1000000 50000 10000 11 1 1');
INSERT INTO "sqlite_stat1" VALUES('inspectors','sqlite_autoindex_inspectors_1','200 1');
INSERT INTO "sqlite_stat1" VALUES('reports_lead','reports_lead_client_id','690000 34500');
INSERT INTO "sqlite_stat1" VALUES('reports_lead','reports_lead_inspection_id','690000 3');
INSERT INTO "sqlite_stat1" VALUES('reports_lead','reports_lead_reading_key','690000 100 100 1 1');
INSERT INTO "sqlite_stat1" VALUES('reports_lead','sqlite_autoindex_reports_lead_1','690000 1');
INSERT INTO "sqlite_stat1" VALUES('schedules','schedules_client_id','20000 1000');
INSERT INTO "sqlite_stat1" VALUES('schedules','schedules_inspector_id','20000 100');
INSERT INTO "sqlite_stat1" VALUES('schedules','sqlite_autoindex_schedules_1','20000 2 1 1');
INSERT INTO "sqlite_stat1" VALUES('users','sqlite_autoindex_users_1','220 1');
INSERT INTO "sqlite_stat1" VALUES('users','sqlite_autoindex_users_2','220 1');
INSERT INTO "sqlite_stat1" VALUES('users','users_client_id','220 11');
INSERT INTO "sqlite_stat1" VALUES('users','users_lower_email_key','220 1');
INSERT INTO "sqlite_stat1" VALUES('xrf_instruments','sqlite_autoindex_xrf_instruments_1','200 1');
INSERT INTO "sqlite_stat1" VALUES('xrf_instruments','xrf_instruments_client_id','200 10');
INSERT INTO "sqlite_stat1" VALUES('xrf_limits','xrf_limits','1000 5 1');
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
    CONSTRAINT users_email_check CHECK (length(CAST(email AS BLOB)) <= 65536),
    CONSTRAINT users_name_check CHECK (length(CAST(name AS BLOB)) <= 65536),
    CONSTRAINT users_role_check CHECK (role IN ('super_admin', 'client_admin', 'client_manager')),
    CONSTRAINT users_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT users_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT users_check CHECK ((role = 'super_admin') = (client_id IS NULL))
) STRICT;
INSERT INTO "users" VALUES('00000000-0000-4000-8000-000000000001','root@example.org','Root','super_admin',NULL,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
INSERT INTO "users" VALUES('00000000-0000-4000-8000-000000000011','ada@acme.example','Ada','client_admin',1,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
INSERT INTO "users" VALUES('00000000-0000-4000-8000-000000000012','moe@acme.example','Moe','client_manager',1,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
INSERT INTO "users" VALUES('00000000-0000-4000-8000-000000000013','mia@acme.example','Mia','client_manager',1,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
INSERT INTO "users" VALUES('00000000-0000-4000-8000-000000000021','bob@borough.example','Bob','client_admin',2,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
INSERT INTO "users" VALUES('00000000-0000-4000-8000-000000000022','max@borough.example','Max','client_manager',2,'2025-01-01T00:00:00+00:00','2025-01-01T00:00:00+00:00');
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
    CONSTRAINT xrf_instruments_gun_id_key UNIQUE (gun_id),
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
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO "xrf_instruments" VALUES(1,77,NULL,'Niton','XLp 300A','S-77','K+L standard','Niton XLp 300, edition 1','2004-09-24',1.02,0.8,1.2,240,1.0,1.0,NULL,NULL,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
INSERT INTO "xrf_instruments" VALUES(2,78,1,'Niton','XLp 300A','S-78',NULL,NULL,NULL,1.02,0.8,1.2,240,1.0,1.0,NULL,'2026-01-31',NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
INSERT INTO "xrf_instruments" VALUES(3,79,2,'Niton','XLp 300A','S-79',NULL,NULL,NULL,1.02,0.8,1.2,240,0.91,1.2,NULL,NULL,NULL,NULL,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
INSERT INTO "xrf_instruments" VALUES(4,80,NULL,'Niton','XLp 300A','S-80',NULL,NULL,NULL,1.02,0.8,1.2,240,1.0,1.0,NULL,NULL,NULL,'2025-05-31','2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
CREATE TABLE xrf_limits (
    gun_id         INTEGER NOT NULL,
    substrate      TEXT NOT NULL,
    negative_below REAL NOT NULL,
    positive_from  REAL NOT NULL,
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL,
    CONSTRAINT xrf_limits_pkey PRIMARY KEY (gun_id, substrate),
    CONSTRAINT xrf_limits_gun_id_fkey FOREIGN KEY (gun_id)
        REFERENCES xrf_instruments (gun_id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT xrf_limits_substrate_check CHECK (length(CAST(substrate AS BLOB)) <= 65536),
    CONSTRAINT xrf_limits_negative_below_check CHECK (negative_below BETWEEN 0 AND 100),
    CONSTRAINT xrf_limits_positive_from_check CHECK (positive_from BETWEEN 0 AND 100),
    CONSTRAINT xrf_limits_created_at_check CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT xrf_limits_updated_at_check CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT, WITHOUT ROWID;
INSERT INTO "xrf_limits" VALUES(77,'wood',0.9,1.1,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
INSERT INTO "xrf_limits" VALUES(78,'Metal, painted',0.5,0.5,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
INSERT INTO "xrf_limits" VALUES(79,'brick',0.4,0.6,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
INSERT INTO "xrf_limits" VALUES(80,'wood',1.0,1.0,'2025-01-05T00:00:00+00:00','2025-01-05T00:00:00+00:00');
CREATE UNIQUE INDEX users_lower_email_key ON users (lower(email));
CREATE INDEX users_client_id ON users (client_id);
CREATE INDEX buildings_client_id ON buildings (client_id, name);
CREATE INDEX buildings_client_city ON buildings (client_id, city, name);
CREATE INDEX buildings_city ON buildings (city, name);
CREATE INDEX building_details_client_id ON building_details (client_id);
CREATE INDEX inspections_client_building ON inspections (client_id, building_id, date_visited, id, status);
CREATE INDEX inspections_client_inspector ON inspections (client_id, inspector_id);
CREATE INDEX inspections_client_status ON inspections (client_id, status, date_visited, id, inspection_type);
CREATE UNIQUE INDEX reports_lead_reading_key ON reports_lead (inspection_id, gun_id, reading_no, taken_at) WHERE reading_no IS NOT NULL;
CREATE INDEX reports_lead_inspection_id ON reports_lead (inspection_id);
CREATE INDEX reports_lead_client_id ON reports_lead (client_id);
CREATE INDEX calibration_checks_inspection_id ON calibration_checks (inspection_id);
CREATE INDEX calibration_checks_client_id ON calibration_checks (client_id);
CREATE INDEX xrf_instruments_client_id ON xrf_instruments (client_id);
CREATE INDEX schedules_inspector_id ON schedules (inspector_id);
CREATE INDEX schedules_client_id ON schedules (client_id);
CREATE UNIQUE INDEX inspection_plans_open_key ON inspection_plans (schedule_id) WHERE outcome IS NULL;
CREATE UNIQUE INDEX inspection_plans_open_round_key ON inspection_plans (case_id) WHERE outcome IS NULL;
CREATE INDEX inspection_plans_case_id ON inspection_plans (case_id, round);
CREATE INDEX inspection_plans_schedule_id ON inspection_plans (schedule_id, occurrence);
CREATE INDEX inspection_plans_client_id ON inspection_plans (client_id);
CREATE INDEX findings_inspection_id ON findings (inspection_id, status, due_at);
CREATE INDEX findings_case_id ON findings (case_id, status);
CREATE INDEX findings_status ON findings (client_id, status, due_at, id);
CREATE INDEX finding_events_finding_id ON finding_events (finding_id);
CREATE INDEX finding_events_user_id ON finding_events (user_id);
CREATE INDEX finding_events_client_id ON finding_events (client_id);
CREATE INDEX files_sha256 ON files (sha256, size);
CREATE INDEX files_inspection_id ON files (inspection_id);
CREATE INDEX files_finding_id ON files (finding_id);
CREATE INDEX files_building_id ON files (building_id);
CREATE INDEX files_created_by ON files (created_by);
CREATE INDEX files_client_id ON files (client_id);
CREATE INDEX client_admin_building_access_building_id ON client_admin_building_access (building_id);
CREATE INDEX client_admin_building_access_assigned_by ON client_admin_building_access (assigned_by);
CREATE INDEX client_manager_building_access_building_id ON client_manager_building_access (building_id);
CREATE INDEX client_manager_building_access_assigned_by ON client_manager_building_access (assigned_by);
CREATE INDEX client_admin_inspection_access_inspection_id ON client_admin_inspection_access (inspection_id);
CREATE INDEX client_admin_inspection_access_assigned_by ON client_admin_inspection_access (assigned_by);
CREATE INDEX client_manager_inspection_access_inspection_id ON client_manager_inspection_access (inspection_id);
CREATE INDEX client_manager_inspection_access_assigned_by ON client_manager_inspection_access (assigned_by);
CREATE INDEX sessions_user_id ON sessions (user_id, last_used_at);
CREATE INDEX sessions_last_used_at ON sessions (last_used_at);
CREATE INDEX attempts_subject ON attempts (kind, subject, at);
CREATE INDEX attempts_origin ON attempts (kind, origin, at);
CREATE INDEX attempts_at ON attempts (at);
CREATE INDEX devices_user_id ON devices (user_id);
CREATE INDEX api_keys_user_id ON api_keys (user_id);
CREATE INDEX api_keys_created_by ON api_keys (created_by);
CREATE INDEX audit_log_client_id ON audit_log (client_id);
CREATE INDEX audit_log_relation ON audit_log (relation, row_key, client_id);
CREATE INDEX audit_log_refused ON audit_log (actor_id) WHERE action = 'refused';
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
BEGIN SELECT RAISE(ABORT, 'check:audit_log_append_only_check'); END;
CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
BEGIN SELECT RAISE(ABORT, 'check:audit_log_append_only_check'); END;
CREATE TRIGGER client_admin_building_access_role_insert BEFORE INSERT ON client_admin_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_building_access_admin_id_check'); END;
CREATE TRIGGER client_admin_building_access_role_update BEFORE UPDATE OF admin_id ON client_admin_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_building_access_admin_id_check'); END;
CREATE TRIGGER client_manager_building_access_role_insert BEFORE INSERT ON client_manager_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_building_access_manager_id_check'); END;
CREATE TRIGGER client_manager_building_access_role_update BEFORE UPDATE OF manager_id ON client_manager_building_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_building_access_manager_id_check'); END;
CREATE TRIGGER client_admin_inspection_access_role_insert BEFORE INSERT ON client_admin_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_inspection_access_admin_id_check'); END;
CREATE TRIGGER client_admin_inspection_access_role_update BEFORE UPDATE OF admin_id ON client_admin_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin')
BEGIN SELECT RAISE(ABORT, 'check:client_admin_inspection_access_admin_id_check'); END;
CREATE TRIGGER client_manager_inspection_access_role_insert BEFORE INSERT ON client_manager_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_inspection_access_manager_id_check'); END;
CREATE TRIGGER client_manager_inspection_access_role_update BEFORE UPDATE OF manager_id ON client_manager_inspection_access
WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager')
BEGIN SELECT RAISE(ABORT, 'check:client_manager_inspection_access_manager_id_check'); END;
CREATE TRIGGER reports_lead_client_insert BEFORE INSERT ON reports_lead
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:reports_lead_client_id_check'); END;
CREATE TRIGGER reports_lead_client_update BEFORE UPDATE OF inspection_id, client_id ON reports_lead
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:reports_lead_client_id_check'); END;
CREATE TRIGGER calibration_checks_client_insert BEFORE INSERT ON calibration_checks
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:calibration_checks_client_id_check'); END;
CREATE TRIGGER calibration_checks_client_update BEFORE UPDATE OF inspection_id, client_id ON calibration_checks
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:calibration_checks_client_id_check'); END;
CREATE TRIGGER inspection_plans_client_insert BEFORE INSERT ON inspection_plans
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:inspection_plans_client_id_check'); END;
CREATE TRIGGER inspection_plans_client_update BEFORE UPDATE OF inspection_id, client_id ON inspection_plans
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:inspection_plans_client_id_check'); END;
CREATE TRIGGER findings_client_insert BEFORE INSERT ON findings
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:findings_client_id_check'); END;
CREATE TRIGGER findings_client_update BEFORE UPDATE OF inspection_id, client_id ON findings
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:findings_client_id_check'); END;
CREATE TRIGGER finding_events_client_insert BEFORE INSERT ON finding_events
WHEN NEW.client_id <> (SELECT client_id FROM findings WHERE id = NEW.finding_id)
BEGIN SELECT RAISE(ABORT, 'check:finding_events_client_id_check'); END;
CREATE TRIGGER finding_events_client_update BEFORE UPDATE OF finding_id, client_id ON finding_events
WHEN NEW.client_id <> (SELECT client_id FROM findings WHERE id = NEW.finding_id)
BEGIN SELECT RAISE(ABORT, 'check:finding_events_client_id_check'); END;
CREATE TRIGGER files_client_insert BEFORE INSERT ON files
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:files_client_id_check'); END;
CREATE TRIGGER files_client_update BEFORE UPDATE OF inspection_id, client_id ON files
WHEN NEW.client_id <> (SELECT client_id FROM inspections WHERE id = NEW.inspection_id)
BEGIN SELECT RAISE(ABORT, 'check:files_client_id_check'); END;
CREATE TRIGGER files_client_of_finding_insert BEFORE INSERT ON files
WHEN NEW.client_id <> (SELECT client_id FROM findings WHERE id = NEW.finding_id)
BEGIN SELECT RAISE(ABORT, 'check:files_client_id_check'); END;
CREATE TRIGGER files_client_of_finding_update BEFORE UPDATE OF finding_id, client_id ON files
WHEN NEW.client_id <> (SELECT client_id FROM findings WHERE id = NEW.finding_id)
BEGIN SELECT RAISE(ABORT, 'check:files_client_id_check'); END;
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
CREATE TRIGGER calibration_checks_ids AFTER UPDATE OF id ON calibration_checks
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'calibration_checks'; END;
CREATE TRIGGER xrf_instruments_ids AFTER UPDATE OF id ON xrf_instruments
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'xrf_instruments'; END;
CREATE TRIGGER schedules_ids AFTER UPDATE OF id ON schedules
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'schedules'; END;
CREATE TRIGGER findings_ids AFTER UPDATE OF id ON findings
BEGIN UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = 'findings'; END;
CREATE VIEW this_second AS
    SELECT max(unixepoch(), coalesce((SELECT unixepoch(at) FROM audit_context), 0)) AS now;
CREATE TRIGGER users_before_move BEFORE UPDATE OF role, client_id ON users
WHEN OLD.role IS NOT NEW.role OR OLD.client_id IS NOT NEW.client_id
BEGIN
    DELETE FROM client_admin_building_access WHERE admin_id = OLD.id;
    DELETE FROM client_manager_building_access WHERE manager_id = OLD.id;
    DELETE FROM client_admin_inspection_access WHERE admin_id = OLD.id;
    DELETE FROM client_manager_inspection_access WHERE manager_id = OLD.id;
END;
CREATE TRIGGER users_before_delete BEFORE DELETE ON users
BEGIN
    DELETE FROM client_admin_building_access WHERE admin_id = OLD.id;
    DELETE FROM client_manager_building_access WHERE manager_id = OLD.id;
    DELETE FROM client_admin_inspection_access WHERE admin_id = OLD.id;
    DELETE FROM client_manager_inspection_access WHERE manager_id = OLD.id;
END;
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
    DELETE FROM api_keys WHERE user_id = NEW.id OR created_by = NEW.id;
    INSERT INTO credentials (user_id, tokens_since) VALUES (NEW.id, (SELECT now FROM this_second) + 1)
        ON CONFLICT (user_id) DO UPDATE SET tokens_since = max(tokens_since, (SELECT now FROM this_second) + 1);
END;
CREATE TRIGGER users_unlinked AFTER UPDATE OF role ON users WHEN OLD.role IS NOT NEW.role
BEGIN UPDATE inspectors SET user_id = NULL WHERE user_id = NEW.id; END;
CREATE TRIGGER credentials_unlinked AFTER UPDATE OF disabled_until ON credentials
WHEN NEW.disabled_until > (SELECT now FROM this_second)
BEGIN UPDATE inspectors SET user_id = NULL WHERE user_id = NEW.user_id; END;
CREATE TRIGGER buildings_moved AFTER UPDATE OF client_id ON buildings
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    DELETE FROM client_admin_building_access WHERE building_id = NEW.id
        AND admin_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
    DELETE FROM client_manager_building_access WHERE building_id = NEW.id
        AND manager_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
END;
CREATE TRIGGER inspections_moved AFTER UPDATE OF client_id ON inspections
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    UPDATE reports_lead SET client_id = NEW.client_id WHERE inspection_id = NEW.id;
    UPDATE calibration_checks SET client_id = NEW.client_id WHERE inspection_id = NEW.id;
    UPDATE inspection_plans SET client_id = NEW.client_id WHERE inspection_id = NEW.id;
    UPDATE findings SET client_id = NEW.client_id WHERE inspection_id = NEW.id;
    UPDATE files SET client_id = NEW.client_id WHERE inspection_id = NEW.id;
    DELETE FROM client_admin_inspection_access WHERE inspection_id = NEW.id
        AND admin_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
    DELETE FROM client_manager_inspection_access WHERE inspection_id = NEW.id
        AND manager_id IN (SELECT id FROM users WHERE client_id = OLD.client_id);
END;
CREATE TRIGGER findings_moved AFTER UPDATE OF client_id ON findings
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    UPDATE finding_events SET client_id = NEW.client_id WHERE finding_id = NEW.id;
    UPDATE files SET client_id = NEW.client_id WHERE finding_id = NEW.id;
END;
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
CREATE TRIGGER clients_audit_insert AFTER INSERT ON clients
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'clients', NEW.id, NEW.id, NULL,
        json_object(
            'id', NEW.id, 'name', NEW.name, 'address', NEW.address, 'phone', NEW.phone, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER clients_audit_delete BEFORE DELETE ON clients
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'clients', OLD.id, OLD.id,
        json_object(
            'id', OLD.id, 'name', OLD.name, 'address', OLD.address, 'phone', OLD.phone, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER clients_audit_update AFTER UPDATE ON clients
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'clients', NEW.id, NEW.id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'name' AS name, OLD.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'address' AS name, OLD.address AS value WHERE OLD.address IS NOT NEW.address UNION ALL
            SELECT 'phone' AS name, OLD.phone AS value WHERE OLD.phone IS NOT NEW.phone UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'name' AS name, NEW.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'address' AS name, NEW.address AS value WHERE OLD.address IS NOT NEW.address UNION ALL
            SELECT 'phone' AS name, NEW.phone AS value WHERE OLD.phone IS NOT NEW.phone UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.name IS NOT NEW.name OR OLD.address IS NOT NEW.address OR
        OLD.phone IS NOT NEW.phone OR OLD.created_at IS NOT NEW.created_at OR OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER users_audit_insert AFTER INSERT ON users
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'users', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'email', NEW.email, 'name', NEW.name, 'role', NEW.role, 'client_id', NEW.client_id,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER users_audit_delete BEFORE DELETE ON users
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'users', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'email', OLD.email, 'name', OLD.name, 'role', OLD.role, 'client_id', OLD.client_id,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER users_audit_update AFTER UPDATE ON users
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'users', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'email' AS name, OLD.email AS value WHERE OLD.email IS NOT NEW.email UNION ALL
            SELECT 'name' AS name, OLD.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'role' AS name, OLD.role AS value WHERE OLD.role IS NOT NEW.role UNION ALL
            SELECT 'client_id' AS name, OLD.client_id AS value WHERE OLD.client_id IS NOT NEW.client_id UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'email' AS name, NEW.email AS value WHERE OLD.email IS NOT NEW.email UNION ALL
            SELECT 'name' AS name, NEW.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'role' AS name, NEW.role AS value WHERE OLD.role IS NOT NEW.role UNION ALL
            SELECT 'client_id' AS name, NEW.client_id AS value WHERE OLD.client_id IS NOT NEW.client_id UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.email IS NOT NEW.email OR OLD.name IS NOT NEW.name OR OLD.role IS NOT NEW.role OR
        OLD.client_id IS NOT NEW.client_id OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER users_audit_move AFTER UPDATE ON users
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'users', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'email', OLD.email, 'name', OLD.name, 'role', OLD.role, 'client_id', OLD.client_id,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'users', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'email', NEW.email, 'name', NEW.name, 'role', NEW.role, 'client_id', NEW.client_id,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER inspectors_audit_insert AFTER INSERT ON inspectors
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'inspectors', NEW.id, NULL, NULL,
        json_object(
            'id', NEW.id, 'name', NEW.name, 'email', NEW.email, 'user_id', NEW.user_id, 'license', NEW.license,
            'license_state', NEW.license_state, 'license_expires_on', NEW.license_expires_on, 'firm', NEW.firm,
            'firm_address', NEW.firm_address, 'firm_phone', NEW.firm_phone, 'firm_certificate', NEW.firm_certificate)
    FROM audit_context;
END;
CREATE TRIGGER inspectors_audit_delete BEFORE DELETE ON inspectors
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'inspectors', OLD.id, NULL,
        json_object(
            'id', OLD.id, 'name', OLD.name, 'email', OLD.email, 'user_id', OLD.user_id, 'license', OLD.license,
            'license_state', OLD.license_state, 'license_expires_on', OLD.license_expires_on, 'firm', OLD.firm,
            'firm_address', OLD.firm_address, 'firm_phone', OLD.firm_phone, 'firm_certificate', OLD.firm_certificate),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER inspectors_audit_update AFTER UPDATE ON inspectors
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'inspectors', NEW.id, NULL,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'name' AS name, OLD.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'email' AS name, OLD.email AS value WHERE OLD.email IS NOT NEW.email UNION ALL
            SELECT 'user_id' AS name, OLD.user_id AS value WHERE OLD.user_id IS NOT NEW.user_id UNION ALL
            SELECT 'license' AS name, OLD.license AS value WHERE OLD.license IS NOT NEW.license UNION ALL
            SELECT 'license_state' AS name, OLD.license_state AS value WHERE OLD.license_state IS NOT NEW.license_state UNION ALL
            SELECT 'license_expires_on' AS name, OLD.license_expires_on AS value WHERE OLD.license_expires_on IS NOT NEW.license_expires_on UNION ALL
            SELECT 'firm' AS name, OLD.firm AS value WHERE OLD.firm IS NOT NEW.firm UNION ALL
            SELECT 'firm_address' AS name, OLD.firm_address AS value WHERE OLD.firm_address IS NOT NEW.firm_address UNION ALL
            SELECT 'firm_phone' AS name, OLD.firm_phone AS value WHERE OLD.firm_phone IS NOT NEW.firm_phone UNION ALL
            SELECT 'firm_certificate' AS name, OLD.firm_certificate AS value WHERE OLD.firm_certificate IS NOT NEW.firm_certificate)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'name' AS name, NEW.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'email' AS name, NEW.email AS value WHERE OLD.email IS NOT NEW.email UNION ALL
            SELECT 'user_id' AS name, NEW.user_id AS value WHERE OLD.user_id IS NOT NEW.user_id UNION ALL
            SELECT 'license' AS name, NEW.license AS value WHERE OLD.license IS NOT NEW.license UNION ALL
            SELECT 'license_state' AS name, NEW.license_state AS value WHERE OLD.license_state IS NOT NEW.license_state UNION ALL
            SELECT 'license_expires_on' AS name, NEW.license_expires_on AS value WHERE OLD.license_expires_on IS NOT NEW.license_expires_on UNION ALL
            SELECT 'firm' AS name, NEW.firm AS value WHERE OLD.firm IS NOT NEW.firm UNION ALL
            SELECT 'firm_address' AS name, NEW.firm_address AS value WHERE OLD.firm_address IS NOT NEW.firm_address UNION ALL
            SELECT 'firm_phone' AS name, NEW.firm_phone AS value WHERE OLD.firm_phone IS NOT NEW.firm_phone UNION ALL
            SELECT 'firm_certificate' AS name, NEW.firm_certificate AS value WHERE OLD.firm_certificate IS NOT NEW.firm_certificate))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.name IS NOT NEW.name OR OLD.email IS NOT NEW.email OR
        OLD.user_id IS NOT NEW.user_id OR OLD.license IS NOT NEW.license OR OLD.license_state IS NOT NEW.license_state OR
        OLD.license_expires_on IS NOT NEW.license_expires_on OR OLD.firm IS NOT NEW.firm OR
        OLD.firm_address IS NOT NEW.firm_address OR OLD.firm_phone IS NOT NEW.firm_phone OR
        OLD.firm_certificate IS NOT NEW.firm_certificate;
END;
CREATE TRIGGER buildings_audit_insert AFTER INSERT ON buildings
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'buildings', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'name', NEW.name, 'address', NEW.address, 'city', NEW.city, 'state', NEW.state,
            'zip', NEW.zip, 'client_id', NEW.client_id, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at,
            'latitude', NEW.latitude, 'longitude', NEW.longitude, 'building_type', NEW.building_type,
            'floors', NEW.floors, 'units', NEW.units)
    FROM audit_context;
END;
CREATE TRIGGER buildings_audit_delete BEFORE DELETE ON buildings
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'buildings', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'name', OLD.name, 'address', OLD.address, 'city', OLD.city, 'state', OLD.state,
            'zip', OLD.zip, 'client_id', OLD.client_id, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at,
            'latitude', OLD.latitude, 'longitude', OLD.longitude, 'building_type', OLD.building_type,
            'floors', OLD.floors, 'units', OLD.units),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER buildings_audit_update AFTER UPDATE ON buildings
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'buildings', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'name' AS name, OLD.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'address' AS name, OLD.address AS value WHERE OLD.address IS NOT NEW.address UNION ALL
            SELECT 'city' AS name, OLD.city AS value WHERE OLD.city IS NOT NEW.city UNION ALL
            SELECT 'state' AS name, OLD.state AS value WHERE OLD.state IS NOT NEW.state UNION ALL
            SELECT 'zip' AS name, OLD.zip AS value WHERE OLD.zip IS NOT NEW.zip UNION ALL
            SELECT 'client_id' AS name, OLD.client_id AS value WHERE OLD.client_id IS NOT NEW.client_id UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at UNION ALL
            SELECT 'latitude' AS name, OLD.latitude AS value WHERE OLD.latitude IS NOT NEW.latitude UNION ALL
            SELECT 'longitude' AS name, OLD.longitude AS value WHERE OLD.longitude IS NOT NEW.longitude UNION ALL
            SELECT 'building_type' AS name, OLD.building_type AS value WHERE OLD.building_type IS NOT NEW.building_type UNION ALL
            SELECT 'floors' AS name, OLD.floors AS value WHERE OLD.floors IS NOT NEW.floors UNION ALL
            SELECT 'units' AS name, OLD.units AS value WHERE OLD.units IS NOT NEW.units)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'name' AS name, NEW.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'address' AS name, NEW.address AS value WHERE OLD.address IS NOT NEW.address UNION ALL
            SELECT 'city' AS name, NEW.city AS value WHERE OLD.city IS NOT NEW.city UNION ALL
            SELECT 'state' AS name, NEW.state AS value WHERE OLD.state IS NOT NEW.state UNION ALL
            SELECT 'zip' AS name, NEW.zip AS value WHERE OLD.zip IS NOT NEW.zip UNION ALL
            SELECT 'client_id' AS name, NEW.client_id AS value WHERE OLD.client_id IS NOT NEW.client_id UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at UNION ALL
            SELECT 'latitude' AS name, NEW.latitude AS value WHERE OLD.latitude IS NOT NEW.latitude UNION ALL
            SELECT 'longitude' AS name, NEW.longitude AS value WHERE OLD.longitude IS NOT NEW.longitude UNION ALL
            SELECT 'building_type' AS name, NEW.building_type AS value WHERE OLD.building_type IS NOT NEW.building_type UNION ALL
            SELECT 'floors' AS name, NEW.floors AS value WHERE OLD.floors IS NOT NEW.floors UNION ALL
            SELECT 'units' AS name, NEW.units AS value WHERE OLD.units IS NOT NEW.units))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.name IS NOT NEW.name OR OLD.address IS NOT NEW.address OR OLD.city IS NOT NEW.city OR
        OLD.state IS NOT NEW.state OR OLD.zip IS NOT NEW.zip OR OLD.client_id IS NOT NEW.client_id OR
        OLD.created_at IS NOT NEW.created_at OR OLD.updated_at IS NOT NEW.updated_at OR
        OLD.latitude IS NOT NEW.latitude OR OLD.longitude IS NOT NEW.longitude OR
        OLD.building_type IS NOT NEW.building_type OR OLD.floors IS NOT NEW.floors OR OLD.units IS NOT NEW.units;
END;
CREATE TRIGGER buildings_audit_move AFTER UPDATE ON buildings
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'buildings', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'name', OLD.name, 'address', OLD.address, 'city', OLD.city, 'state', OLD.state,
            'zip', OLD.zip, 'client_id', OLD.client_id, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at,
            'latitude', OLD.latitude, 'longitude', OLD.longitude, 'building_type', OLD.building_type,
            'floors', OLD.floors, 'units', OLD.units),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'buildings', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'name', NEW.name, 'address', NEW.address, 'city', NEW.city, 'state', NEW.state,
            'zip', NEW.zip, 'client_id', NEW.client_id, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at,
            'latitude', NEW.latitude, 'longitude', NEW.longitude, 'building_type', NEW.building_type,
            'floors', NEW.floors, 'units', NEW.units)
    FROM audit_context;
END;
CREATE TRIGGER building_details_audit_insert AFTER INSERT ON building_details
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'building_details', NEW.building_id, NEW.client_id, NULL,
        json_object(
            'building_id', NEW.building_id, 'year_built', NEW.year_built, 'parcel', NEW.parcel,
            'owner_name', NEW.owner_name, 'owner_address', NEW.owner_address, 'owner_phone', NEW.owner_phone,
            'child_occupied', NEW.child_occupied, 'hazard_class', NEW.hazard_class, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER building_details_audit_delete BEFORE DELETE ON building_details
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'building_details', OLD.building_id, OLD.client_id,
        json_object(
            'building_id', OLD.building_id, 'year_built', OLD.year_built, 'parcel', OLD.parcel,
            'owner_name', OLD.owner_name, 'owner_address', OLD.owner_address, 'owner_phone', OLD.owner_phone,
            'child_occupied', OLD.child_occupied, 'hazard_class', OLD.hazard_class, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER building_details_audit_update AFTER UPDATE ON building_details
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'building_details', NEW.building_id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'building_id' AS name, OLD.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'year_built' AS name, OLD.year_built AS value WHERE OLD.year_built IS NOT NEW.year_built UNION ALL
            SELECT 'parcel' AS name, OLD.parcel AS value WHERE OLD.parcel IS NOT NEW.parcel UNION ALL
            SELECT 'owner_name' AS name, OLD.owner_name AS value WHERE OLD.owner_name IS NOT NEW.owner_name UNION ALL
            SELECT 'owner_address' AS name, OLD.owner_address AS value WHERE OLD.owner_address IS NOT NEW.owner_address UNION ALL
            SELECT 'owner_phone' AS name, OLD.owner_phone AS value WHERE OLD.owner_phone IS NOT NEW.owner_phone UNION ALL
            SELECT 'child_occupied' AS name, OLD.child_occupied AS value WHERE OLD.child_occupied IS NOT NEW.child_occupied UNION ALL
            SELECT 'hazard_class' AS name, OLD.hazard_class AS value WHERE OLD.hazard_class IS NOT NEW.hazard_class UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'building_id' AS name, NEW.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'year_built' AS name, NEW.year_built AS value WHERE OLD.year_built IS NOT NEW.year_built UNION ALL
            SELECT 'parcel' AS name, NEW.parcel AS value WHERE OLD.parcel IS NOT NEW.parcel UNION ALL
            SELECT 'owner_name' AS name, NEW.owner_name AS value WHERE OLD.owner_name IS NOT NEW.owner_name UNION ALL
            SELECT 'owner_address' AS name, NEW.owner_address AS value WHERE OLD.owner_address IS NOT NEW.owner_address UNION ALL
            SELECT 'owner_phone' AS name, NEW.owner_phone AS value WHERE OLD.owner_phone IS NOT NEW.owner_phone UNION ALL
            SELECT 'child_occupied' AS name, NEW.child_occupied AS value WHERE OLD.child_occupied IS NOT NEW.child_occupied UNION ALL
            SELECT 'hazard_class' AS name, NEW.hazard_class AS value WHERE OLD.hazard_class IS NOT NEW.hazard_class UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.building_id IS NOT NEW.building_id OR OLD.year_built IS NOT NEW.year_built OR OLD.parcel IS NOT NEW.parcel OR
        OLD.owner_name IS NOT NEW.owner_name OR OLD.owner_address IS NOT NEW.owner_address OR
        OLD.owner_phone IS NOT NEW.owner_phone OR OLD.child_occupied IS NOT NEW.child_occupied OR
        OLD.hazard_class IS NOT NEW.hazard_class OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER building_details_audit_move AFTER UPDATE ON building_details
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'building_details', OLD.building_id, OLD.client_id,
        json_object(
            'building_id', OLD.building_id, 'year_built', OLD.year_built, 'parcel', OLD.parcel,
            'owner_name', OLD.owner_name, 'owner_address', OLD.owner_address, 'owner_phone', OLD.owner_phone,
            'child_occupied', OLD.child_occupied, 'hazard_class', OLD.hazard_class, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'building_details', NEW.building_id, NEW.client_id, NULL,
        json_object(
            'building_id', NEW.building_id, 'year_built', NEW.year_built, 'parcel', NEW.parcel,
            'owner_name', NEW.owner_name, 'owner_address', NEW.owner_address, 'owner_phone', NEW.owner_phone,
            'child_occupied', NEW.child_occupied, 'hazard_class', NEW.hazard_class, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER inspections_audit_insert AFTER INSERT ON inspections
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'inspections', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'building_id', NEW.building_id, 'inspection_type', NEW.inspection_type,
            'date_visited', NEW.date_visited, 'status', NEW.status, 'inspector_id', NEW.inspector_id,
            'notes', NEW.notes, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER inspections_audit_delete BEFORE DELETE ON inspections
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'inspections', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type,
            'date_visited', OLD.date_visited, 'status', OLD.status, 'inspector_id', OLD.inspector_id,
            'notes', OLD.notes, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER inspections_audit_update AFTER UPDATE ON inspections
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'inspections', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'building_id' AS name, OLD.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'inspection_type' AS name, OLD.inspection_type AS value WHERE OLD.inspection_type IS NOT NEW.inspection_type UNION ALL
            SELECT 'date_visited' AS name, OLD.date_visited AS value WHERE OLD.date_visited IS NOT NEW.date_visited UNION ALL
            SELECT 'status' AS name, OLD.status AS value WHERE OLD.status IS NOT NEW.status UNION ALL
            SELECT 'inspector_id' AS name, OLD.inspector_id AS value WHERE OLD.inspector_id IS NOT NEW.inspector_id UNION ALL
            SELECT 'notes' AS name, OLD.notes AS value WHERE OLD.notes IS NOT NEW.notes UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'building_id' AS name, NEW.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'inspection_type' AS name, NEW.inspection_type AS value WHERE OLD.inspection_type IS NOT NEW.inspection_type UNION ALL
            SELECT 'date_visited' AS name, NEW.date_visited AS value WHERE OLD.date_visited IS NOT NEW.date_visited UNION ALL
            SELECT 'status' AS name, NEW.status AS value WHERE OLD.status IS NOT NEW.status UNION ALL
            SELECT 'inspector_id' AS name, NEW.inspector_id AS value WHERE OLD.inspector_id IS NOT NEW.inspector_id UNION ALL
            SELECT 'notes' AS name, NEW.notes AS value WHERE OLD.notes IS NOT NEW.notes UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.building_id IS NOT NEW.building_id OR
        OLD.inspection_type IS NOT NEW.inspection_type OR OLD.date_visited IS NOT NEW.date_visited OR
        OLD.status IS NOT NEW.status OR OLD.inspector_id IS NOT NEW.inspector_id OR OLD.notes IS NOT NEW.notes OR
        OLD.created_at IS NOT NEW.created_at OR OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER inspections_audit_move AFTER UPDATE ON inspections
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'inspections', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type,
            'date_visited', OLD.date_visited, 'status', OLD.status, 'inspector_id', OLD.inspector_id,
            'notes', OLD.notes, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'inspections', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'building_id', NEW.building_id, 'inspection_type', NEW.inspection_type,
            'date_visited', NEW.date_visited, 'status', NEW.status, 'inspector_id', NEW.inspector_id,
            'notes', NEW.notes, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER reports_lead_audit_insert AFTER INSERT ON reports_lead
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'reports_lead', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'inspection_id', NEW.inspection_id, 'gun_id', NEW.gun_id, 'result', NEW.result,
            'reading_no', NEW.reading_no, 'taken_at', NEW.taken_at, 'dwelling', NEW.dwelling, 'room', NEW.room,
            'wall', NEW.wall, 'component', NEW.component, 'substrate', NEW.substrate, 'color', NEW.color,
            'condition', NEW.condition, 'lead_mg_cm2', NEW.lead_mg_cm2, 'qualifier', NEW.qualifier,
            'method', NEW.method, 'classification', NEW.classification, 'voided', NEW.voided, 'ref', NEW.ref,
            'note', NEW.note)
    FROM audit_context;
END;
CREATE TRIGGER reports_lead_audit_delete BEFORE DELETE ON reports_lead
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'reports_lead', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'result', OLD.result,
            'reading_no', OLD.reading_no, 'taken_at', OLD.taken_at, 'dwelling', OLD.dwelling, 'room', OLD.room,
            'wall', OLD.wall, 'component', OLD.component, 'substrate', OLD.substrate, 'color', OLD.color,
            'condition', OLD.condition, 'lead_mg_cm2', OLD.lead_mg_cm2, 'qualifier', OLD.qualifier,
            'method', OLD.method, 'classification', OLD.classification, 'voided', OLD.voided, 'ref', OLD.ref,
            'note', OLD.note),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER reports_lead_audit_update AFTER UPDATE ON reports_lead
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'reports_lead', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'gun_id' AS name, OLD.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'result' AS name, OLD.result AS value WHERE OLD.result IS NOT NEW.result UNION ALL
            SELECT 'reading_no' AS name, OLD.reading_no AS value WHERE OLD.reading_no IS NOT NEW.reading_no UNION ALL
            SELECT 'taken_at' AS name, OLD.taken_at AS value WHERE OLD.taken_at IS NOT NEW.taken_at UNION ALL
            SELECT 'dwelling' AS name, OLD.dwelling AS value WHERE OLD.dwelling IS NOT NEW.dwelling UNION ALL
            SELECT 'room' AS name, OLD.room AS value WHERE OLD.room IS NOT NEW.room UNION ALL
            SELECT 'wall' AS name, OLD.wall AS value WHERE OLD.wall IS NOT NEW.wall UNION ALL
            SELECT 'component' AS name, OLD.component AS value WHERE OLD.component IS NOT NEW.component UNION ALL
            SELECT 'substrate' AS name, OLD.substrate AS value WHERE OLD.substrate IS NOT NEW.substrate UNION ALL
            SELECT 'color' AS name, OLD.color AS value WHERE OLD.color IS NOT NEW.color UNION ALL
            SELECT 'condition' AS name, OLD.condition AS value WHERE OLD.condition IS NOT NEW.condition UNION ALL
            SELECT 'lead_mg_cm2' AS name, OLD.lead_mg_cm2 AS value WHERE OLD.lead_mg_cm2 IS NOT NEW.lead_mg_cm2 UNION ALL
            SELECT 'qualifier' AS name, OLD.qualifier AS value WHERE OLD.qualifier IS NOT NEW.qualifier UNION ALL
            SELECT 'method' AS name, OLD.method AS value WHERE OLD.method IS NOT NEW.method UNION ALL
            SELECT 'classification' AS name, OLD.classification AS value WHERE OLD.classification IS NOT NEW.classification UNION ALL
            SELECT 'voided' AS name, OLD.voided AS value WHERE OLD.voided IS NOT NEW.voided UNION ALL
            SELECT 'ref' AS name, OLD.ref AS value WHERE OLD.ref IS NOT NEW.ref UNION ALL
            SELECT 'note' AS name, OLD.note AS value WHERE OLD.note IS NOT NEW.note)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'gun_id' AS name, NEW.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'result' AS name, NEW.result AS value WHERE OLD.result IS NOT NEW.result UNION ALL
            SELECT 'reading_no' AS name, NEW.reading_no AS value WHERE OLD.reading_no IS NOT NEW.reading_no UNION ALL
            SELECT 'taken_at' AS name, NEW.taken_at AS value WHERE OLD.taken_at IS NOT NEW.taken_at UNION ALL
            SELECT 'dwelling' AS name, NEW.dwelling AS value WHERE OLD.dwelling IS NOT NEW.dwelling UNION ALL
            SELECT 'room' AS name, NEW.room AS value WHERE OLD.room IS NOT NEW.room UNION ALL
            SELECT 'wall' AS name, NEW.wall AS value WHERE OLD.wall IS NOT NEW.wall UNION ALL
            SELECT 'component' AS name, NEW.component AS value WHERE OLD.component IS NOT NEW.component UNION ALL
            SELECT 'substrate' AS name, NEW.substrate AS value WHERE OLD.substrate IS NOT NEW.substrate UNION ALL
            SELECT 'color' AS name, NEW.color AS value WHERE OLD.color IS NOT NEW.color UNION ALL
            SELECT 'condition' AS name, NEW.condition AS value WHERE OLD.condition IS NOT NEW.condition UNION ALL
            SELECT 'lead_mg_cm2' AS name, NEW.lead_mg_cm2 AS value WHERE OLD.lead_mg_cm2 IS NOT NEW.lead_mg_cm2 UNION ALL
            SELECT 'qualifier' AS name, NEW.qualifier AS value WHERE OLD.qualifier IS NOT NEW.qualifier UNION ALL
            SELECT 'method' AS name, NEW.method AS value WHERE OLD.method IS NOT NEW.method UNION ALL
            SELECT 'classification' AS name, NEW.classification AS value WHERE OLD.classification IS NOT NEW.classification UNION ALL
            SELECT 'voided' AS name, NEW.voided AS value WHERE OLD.voided IS NOT NEW.voided UNION ALL
            SELECT 'ref' AS name, NEW.ref AS value WHERE OLD.ref IS NOT NEW.ref UNION ALL
            SELECT 'note' AS name, NEW.note AS value WHERE OLD.note IS NOT NEW.note))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.inspection_id IS NOT NEW.inspection_id OR OLD.gun_id IS NOT NEW.gun_id OR
        OLD.result IS NOT NEW.result OR OLD.reading_no IS NOT NEW.reading_no OR OLD.taken_at IS NOT NEW.taken_at OR
        OLD.dwelling IS NOT NEW.dwelling OR OLD.room IS NOT NEW.room OR OLD.wall IS NOT NEW.wall OR
        OLD.component IS NOT NEW.component OR OLD.substrate IS NOT NEW.substrate OR OLD.color IS NOT NEW.color OR
        OLD.condition IS NOT NEW.condition OR OLD.lead_mg_cm2 IS NOT NEW.lead_mg_cm2 OR
        OLD.qualifier IS NOT NEW.qualifier OR OLD.method IS NOT NEW.method OR
        OLD.classification IS NOT NEW.classification OR OLD.voided IS NOT NEW.voided OR OLD.ref IS NOT NEW.ref OR
        OLD.note IS NOT NEW.note;
END;
CREATE TRIGGER reports_lead_audit_move AFTER UPDATE ON reports_lead
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'reports_lead', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'result', OLD.result,
            'reading_no', OLD.reading_no, 'taken_at', OLD.taken_at, 'dwelling', OLD.dwelling, 'room', OLD.room,
            'wall', OLD.wall, 'component', OLD.component, 'substrate', OLD.substrate, 'color', OLD.color,
            'condition', OLD.condition, 'lead_mg_cm2', OLD.lead_mg_cm2, 'qualifier', OLD.qualifier,
            'method', OLD.method, 'classification', OLD.classification, 'voided', OLD.voided, 'ref', OLD.ref,
            'note', OLD.note),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'reports_lead', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'inspection_id', NEW.inspection_id, 'gun_id', NEW.gun_id, 'result', NEW.result,
            'reading_no', NEW.reading_no, 'taken_at', NEW.taken_at, 'dwelling', NEW.dwelling, 'room', NEW.room,
            'wall', NEW.wall, 'component', NEW.component, 'substrate', NEW.substrate, 'color', NEW.color,
            'condition', NEW.condition, 'lead_mg_cm2', NEW.lead_mg_cm2, 'qualifier', NEW.qualifier,
            'method', NEW.method, 'classification', NEW.classification, 'voided', NEW.voided, 'ref', NEW.ref,
            'note', NEW.note)
    FROM audit_context;
END;
CREATE TRIGGER calibration_checks_audit_insert AFTER INSERT ON calibration_checks
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'calibration_checks', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'inspection_id', NEW.inspection_id, 'gun_id', NEW.gun_id, 'taken_at', NEW.taken_at,
            'first', NEW.first, 'second', NEW.second, 'third', NEW.third, 'mean', NEW.mean, 'result', NEW.result,
            'check_low', NEW.check_low, 'check_high', NEW.check_high, 'ref', NEW.ref, 'note', NEW.note,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER calibration_checks_audit_delete BEFORE DELETE ON calibration_checks
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'calibration_checks', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'taken_at', OLD.taken_at,
            'first', OLD.first, 'second', OLD.second, 'third', OLD.third, 'mean', OLD.mean, 'result', OLD.result,
            'check_low', OLD.check_low, 'check_high', OLD.check_high, 'ref', OLD.ref, 'note', OLD.note,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER calibration_checks_audit_update AFTER UPDATE ON calibration_checks
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'calibration_checks', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'gun_id' AS name, OLD.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'taken_at' AS name, OLD.taken_at AS value WHERE OLD.taken_at IS NOT NEW.taken_at UNION ALL
            SELECT 'first' AS name, OLD.first AS value WHERE OLD.first IS NOT NEW.first UNION ALL
            SELECT 'second' AS name, OLD.second AS value WHERE OLD.second IS NOT NEW.second UNION ALL
            SELECT 'third' AS name, OLD.third AS value WHERE OLD.third IS NOT NEW.third UNION ALL
            SELECT 'mean' AS name, OLD.mean AS value WHERE OLD.mean IS NOT NEW.mean UNION ALL
            SELECT 'result' AS name, OLD.result AS value WHERE OLD.result IS NOT NEW.result UNION ALL
            SELECT 'check_low' AS name, OLD.check_low AS value WHERE OLD.check_low IS NOT NEW.check_low UNION ALL
            SELECT 'check_high' AS name, OLD.check_high AS value WHERE OLD.check_high IS NOT NEW.check_high UNION ALL
            SELECT 'ref' AS name, OLD.ref AS value WHERE OLD.ref IS NOT NEW.ref UNION ALL
            SELECT 'note' AS name, OLD.note AS value WHERE OLD.note IS NOT NEW.note UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'gun_id' AS name, NEW.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'taken_at' AS name, NEW.taken_at AS value WHERE OLD.taken_at IS NOT NEW.taken_at UNION ALL
            SELECT 'first' AS name, NEW.first AS value WHERE OLD.first IS NOT NEW.first UNION ALL
            SELECT 'second' AS name, NEW.second AS value WHERE OLD.second IS NOT NEW.second UNION ALL
            SELECT 'third' AS name, NEW.third AS value WHERE OLD.third IS NOT NEW.third UNION ALL
            SELECT 'mean' AS name, NEW.mean AS value WHERE OLD.mean IS NOT NEW.mean UNION ALL
            SELECT 'result' AS name, NEW.result AS value WHERE OLD.result IS NOT NEW.result UNION ALL
            SELECT 'check_low' AS name, NEW.check_low AS value WHERE OLD.check_low IS NOT NEW.check_low UNION ALL
            SELECT 'check_high' AS name, NEW.check_high AS value WHERE OLD.check_high IS NOT NEW.check_high UNION ALL
            SELECT 'ref' AS name, NEW.ref AS value WHERE OLD.ref IS NOT NEW.ref UNION ALL
            SELECT 'note' AS name, NEW.note AS value WHERE OLD.note IS NOT NEW.note UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.inspection_id IS NOT NEW.inspection_id OR OLD.gun_id IS NOT NEW.gun_id OR
        OLD.taken_at IS NOT NEW.taken_at OR OLD.first IS NOT NEW.first OR OLD.second IS NOT NEW.second OR
        OLD.third IS NOT NEW.third OR OLD.mean IS NOT NEW.mean OR OLD.result IS NOT NEW.result OR
        OLD.check_low IS NOT NEW.check_low OR OLD.check_high IS NOT NEW.check_high OR OLD.ref IS NOT NEW.ref OR
        OLD.note IS NOT NEW.note OR OLD.created_at IS NOT NEW.created_at OR OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER calibration_checks_audit_move AFTER UPDATE ON calibration_checks
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'calibration_checks', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'taken_at', OLD.taken_at,
            'first', OLD.first, 'second', OLD.second, 'third', OLD.third, 'mean', OLD.mean, 'result', OLD.result,
            'check_low', OLD.check_low, 'check_high', OLD.check_high, 'ref', OLD.ref, 'note', OLD.note,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'calibration_checks', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'inspection_id', NEW.inspection_id, 'gun_id', NEW.gun_id, 'taken_at', NEW.taken_at,
            'first', NEW.first, 'second', NEW.second, 'third', NEW.third, 'mean', NEW.mean, 'result', NEW.result,
            'check_low', NEW.check_low, 'check_high', NEW.check_high, 'ref', NEW.ref, 'note', NEW.note,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER xrf_instruments_audit_insert AFTER INSERT ON xrf_instruments
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'xrf_instruments', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'gun_id', NEW.gun_id, 'client_id', NEW.client_id, 'make', NEW.make, 'model', NEW.model,
            'serial', NEW.serial, 'mode', NEW.mode, 'sheet', NEW.sheet, 'sheet_on', NEW.sheet_on,
            'standard', NEW.standard, 'check_low', NEW.check_low, 'check_high', NEW.check_high,
            'check_minutes', NEW.check_minutes, 'negative_below', NEW.negative_below,
            'positive_from', NEW.positive_from, 'serviced_on', NEW.serviced_on, 'service_due_on', NEW.service_due_on,
            'leak_test_due_on', NEW.leak_test_due_on, 'retired_on', NEW.retired_on, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER xrf_instruments_audit_delete BEFORE DELETE ON xrf_instruments
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'xrf_instruments', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'gun_id', OLD.gun_id, 'client_id', OLD.client_id, 'make', OLD.make, 'model', OLD.model,
            'serial', OLD.serial, 'mode', OLD.mode, 'sheet', OLD.sheet, 'sheet_on', OLD.sheet_on,
            'standard', OLD.standard, 'check_low', OLD.check_low, 'check_high', OLD.check_high,
            'check_minutes', OLD.check_minutes, 'negative_below', OLD.negative_below,
            'positive_from', OLD.positive_from, 'serviced_on', OLD.serviced_on, 'service_due_on', OLD.service_due_on,
            'leak_test_due_on', OLD.leak_test_due_on, 'retired_on', OLD.retired_on, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER xrf_instruments_audit_update AFTER UPDATE ON xrf_instruments
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'xrf_instruments', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'gun_id' AS name, OLD.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'client_id' AS name, OLD.client_id AS value WHERE OLD.client_id IS NOT NEW.client_id UNION ALL
            SELECT 'make' AS name, OLD.make AS value WHERE OLD.make IS NOT NEW.make UNION ALL
            SELECT 'model' AS name, OLD.model AS value WHERE OLD.model IS NOT NEW.model UNION ALL
            SELECT 'serial' AS name, OLD.serial AS value WHERE OLD.serial IS NOT NEW.serial UNION ALL
            SELECT 'mode' AS name, OLD.mode AS value WHERE OLD.mode IS NOT NEW.mode UNION ALL
            SELECT 'sheet' AS name, OLD.sheet AS value WHERE OLD.sheet IS NOT NEW.sheet UNION ALL
            SELECT 'sheet_on' AS name, OLD.sheet_on AS value WHERE OLD.sheet_on IS NOT NEW.sheet_on UNION ALL
            SELECT 'standard' AS name, OLD.standard AS value WHERE OLD.standard IS NOT NEW.standard UNION ALL
            SELECT 'check_low' AS name, OLD.check_low AS value WHERE OLD.check_low IS NOT NEW.check_low UNION ALL
            SELECT 'check_high' AS name, OLD.check_high AS value WHERE OLD.check_high IS NOT NEW.check_high UNION ALL
            SELECT 'check_minutes' AS name, OLD.check_minutes AS value WHERE OLD.check_minutes IS NOT NEW.check_minutes UNION ALL
            SELECT 'negative_below' AS name, OLD.negative_below AS value WHERE OLD.negative_below IS NOT NEW.negative_below UNION ALL
            SELECT 'positive_from' AS name, OLD.positive_from AS value WHERE OLD.positive_from IS NOT NEW.positive_from UNION ALL
            SELECT 'serviced_on' AS name, OLD.serviced_on AS value WHERE OLD.serviced_on IS NOT NEW.serviced_on UNION ALL
            SELECT 'service_due_on' AS name, OLD.service_due_on AS value WHERE OLD.service_due_on IS NOT NEW.service_due_on UNION ALL
            SELECT 'leak_test_due_on' AS name, OLD.leak_test_due_on AS value WHERE OLD.leak_test_due_on IS NOT NEW.leak_test_due_on UNION ALL
            SELECT 'retired_on' AS name, OLD.retired_on AS value WHERE OLD.retired_on IS NOT NEW.retired_on UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'gun_id' AS name, NEW.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'client_id' AS name, NEW.client_id AS value WHERE OLD.client_id IS NOT NEW.client_id UNION ALL
            SELECT 'make' AS name, NEW.make AS value WHERE OLD.make IS NOT NEW.make UNION ALL
            SELECT 'model' AS name, NEW.model AS value WHERE OLD.model IS NOT NEW.model UNION ALL
            SELECT 'serial' AS name, NEW.serial AS value WHERE OLD.serial IS NOT NEW.serial UNION ALL
            SELECT 'mode' AS name, NEW.mode AS value WHERE OLD.mode IS NOT NEW.mode UNION ALL
            SELECT 'sheet' AS name, NEW.sheet AS value WHERE OLD.sheet IS NOT NEW.sheet UNION ALL
            SELECT 'sheet_on' AS name, NEW.sheet_on AS value WHERE OLD.sheet_on IS NOT NEW.sheet_on UNION ALL
            SELECT 'standard' AS name, NEW.standard AS value WHERE OLD.standard IS NOT NEW.standard UNION ALL
            SELECT 'check_low' AS name, NEW.check_low AS value WHERE OLD.check_low IS NOT NEW.check_low UNION ALL
            SELECT 'check_high' AS name, NEW.check_high AS value WHERE OLD.check_high IS NOT NEW.check_high UNION ALL
            SELECT 'check_minutes' AS name, NEW.check_minutes AS value WHERE OLD.check_minutes IS NOT NEW.check_minutes UNION ALL
            SELECT 'negative_below' AS name, NEW.negative_below AS value WHERE OLD.negative_below IS NOT NEW.negative_below UNION ALL
            SELECT 'positive_from' AS name, NEW.positive_from AS value WHERE OLD.positive_from IS NOT NEW.positive_from UNION ALL
            SELECT 'serviced_on' AS name, NEW.serviced_on AS value WHERE OLD.serviced_on IS NOT NEW.serviced_on UNION ALL
            SELECT 'service_due_on' AS name, NEW.service_due_on AS value WHERE OLD.service_due_on IS NOT NEW.service_due_on UNION ALL
            SELECT 'leak_test_due_on' AS name, NEW.leak_test_due_on AS value WHERE OLD.leak_test_due_on IS NOT NEW.leak_test_due_on UNION ALL
            SELECT 'retired_on' AS name, NEW.retired_on AS value WHERE OLD.retired_on IS NOT NEW.retired_on UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.gun_id IS NOT NEW.gun_id OR OLD.client_id IS NOT NEW.client_id OR
        OLD.make IS NOT NEW.make OR OLD.model IS NOT NEW.model OR OLD.serial IS NOT NEW.serial OR
        OLD.mode IS NOT NEW.mode OR OLD.sheet IS NOT NEW.sheet OR OLD.sheet_on IS NOT NEW.sheet_on OR
        OLD.standard IS NOT NEW.standard OR OLD.check_low IS NOT NEW.check_low OR OLD.check_high IS NOT NEW.check_high OR
        OLD.check_minutes IS NOT NEW.check_minutes OR OLD.negative_below IS NOT NEW.negative_below OR
        OLD.positive_from IS NOT NEW.positive_from OR OLD.serviced_on IS NOT NEW.serviced_on OR
        OLD.service_due_on IS NOT NEW.service_due_on OR OLD.leak_test_due_on IS NOT NEW.leak_test_due_on OR
        OLD.retired_on IS NOT NEW.retired_on OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER xrf_instruments_audit_move AFTER UPDATE ON xrf_instruments
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'xrf_instruments', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'gun_id', OLD.gun_id, 'client_id', OLD.client_id, 'make', OLD.make, 'model', OLD.model,
            'serial', OLD.serial, 'mode', OLD.mode, 'sheet', OLD.sheet, 'sheet_on', OLD.sheet_on,
            'standard', OLD.standard, 'check_low', OLD.check_low, 'check_high', OLD.check_high,
            'check_minutes', OLD.check_minutes, 'negative_below', OLD.negative_below,
            'positive_from', OLD.positive_from, 'serviced_on', OLD.serviced_on, 'service_due_on', OLD.service_due_on,
            'leak_test_due_on', OLD.leak_test_due_on, 'retired_on', OLD.retired_on, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'xrf_instruments', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'gun_id', NEW.gun_id, 'client_id', NEW.client_id, 'make', NEW.make, 'model', NEW.model,
            'serial', NEW.serial, 'mode', NEW.mode, 'sheet', NEW.sheet, 'sheet_on', NEW.sheet_on,
            'standard', NEW.standard, 'check_low', NEW.check_low, 'check_high', NEW.check_high,
            'check_minutes', NEW.check_minutes, 'negative_below', NEW.negative_below,
            'positive_from', NEW.positive_from, 'serviced_on', NEW.serviced_on, 'service_due_on', NEW.service_due_on,
            'leak_test_due_on', NEW.leak_test_due_on, 'retired_on', NEW.retired_on, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER xrf_limits_audit_insert AFTER INSERT ON xrf_limits
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'xrf_limits', NEW.gun_id || ',' || NEW.substrate,
        (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = NEW.gun_id), NULL,
        json_object(
            'gun_id', NEW.gun_id, 'substrate', NEW.substrate, 'negative_below', NEW.negative_below,
            'positive_from', NEW.positive_from, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER xrf_limits_audit_delete BEFORE DELETE ON xrf_limits
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'xrf_limits', OLD.gun_id || ',' || OLD.substrate,
        (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = OLD.gun_id),
        json_object(
            'gun_id', OLD.gun_id, 'substrate', OLD.substrate, 'negative_below', OLD.negative_below,
            'positive_from', OLD.positive_from, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER xrf_limits_audit_update AFTER UPDATE ON xrf_limits
WHEN OLD.gun_id IS NEW.gun_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'xrf_limits', NEW.gun_id || ',' || NEW.substrate,
        (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = NEW.gun_id),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'gun_id' AS name, OLD.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'substrate' AS name, OLD.substrate AS value WHERE OLD.substrate IS NOT NEW.substrate UNION ALL
            SELECT 'negative_below' AS name, OLD.negative_below AS value WHERE OLD.negative_below IS NOT NEW.negative_below UNION ALL
            SELECT 'positive_from' AS name, OLD.positive_from AS value WHERE OLD.positive_from IS NOT NEW.positive_from UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'gun_id' AS name, NEW.gun_id AS value WHERE OLD.gun_id IS NOT NEW.gun_id UNION ALL
            SELECT 'substrate' AS name, NEW.substrate AS value WHERE OLD.substrate IS NOT NEW.substrate UNION ALL
            SELECT 'negative_below' AS name, NEW.negative_below AS value WHERE OLD.negative_below IS NOT NEW.negative_below UNION ALL
            SELECT 'positive_from' AS name, NEW.positive_from AS value WHERE OLD.positive_from IS NOT NEW.positive_from UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.gun_id IS NOT NEW.gun_id OR OLD.substrate IS NOT NEW.substrate OR
        OLD.negative_below IS NOT NEW.negative_below OR OLD.positive_from IS NOT NEW.positive_from OR
        OLD.created_at IS NOT NEW.created_at OR OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER xrf_instruments_before_delete BEFORE DELETE ON xrf_instruments
BEGIN DELETE FROM xrf_limits WHERE gun_id = OLD.gun_id; END;
CREATE TRIGGER xrf_limits_audit_move AFTER UPDATE ON xrf_limits
WHEN OLD.gun_id IS NOT NEW.gun_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'xrf_limits', OLD.gun_id || ',' || OLD.substrate,
        (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = OLD.gun_id),
        json_object(
            'gun_id', OLD.gun_id, 'substrate', OLD.substrate, 'negative_below', OLD.negative_below,
            'positive_from', OLD.positive_from, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'xrf_limits', NEW.gun_id || ',' || NEW.substrate,
        (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = NEW.gun_id), NULL,
        json_object(
            'gun_id', NEW.gun_id, 'substrate', NEW.substrate, 'negative_below', NEW.negative_below,
            'positive_from', NEW.positive_from, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER schedules_audit_insert AFTER INSERT ON schedules
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'schedules', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'building_id', NEW.building_id, 'inspection_type', NEW.inspection_type, 'title', NEW.title,
            'every', NEW.every, 'unit', NEW.unit, 'counted_from', NEW.counted_from, 'first_due', NEW.first_due,
            'grace_days', NEW.grace_days, 'inspector_id', NEW.inspector_id, 'basis', NEW.basis,
            'ended_on', NEW.ended_on, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER schedules_audit_delete BEFORE DELETE ON schedules
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'schedules', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type, 'title', OLD.title,
            'every', OLD.every, 'unit', OLD.unit, 'counted_from', OLD.counted_from, 'first_due', OLD.first_due,
            'grace_days', OLD.grace_days, 'inspector_id', OLD.inspector_id, 'basis', OLD.basis,
            'ended_on', OLD.ended_on, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER schedules_audit_update AFTER UPDATE ON schedules
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'schedules', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'building_id' AS name, OLD.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'inspection_type' AS name, OLD.inspection_type AS value WHERE OLD.inspection_type IS NOT NEW.inspection_type UNION ALL
            SELECT 'title' AS name, OLD.title AS value WHERE OLD.title IS NOT NEW.title UNION ALL
            SELECT 'every' AS name, OLD.every AS value WHERE OLD.every IS NOT NEW.every UNION ALL
            SELECT 'unit' AS name, OLD.unit AS value WHERE OLD.unit IS NOT NEW.unit UNION ALL
            SELECT 'counted_from' AS name, OLD.counted_from AS value WHERE OLD.counted_from IS NOT NEW.counted_from UNION ALL
            SELECT 'first_due' AS name, OLD.first_due AS value WHERE OLD.first_due IS NOT NEW.first_due UNION ALL
            SELECT 'grace_days' AS name, OLD.grace_days AS value WHERE OLD.grace_days IS NOT NEW.grace_days UNION ALL
            SELECT 'inspector_id' AS name, OLD.inspector_id AS value WHERE OLD.inspector_id IS NOT NEW.inspector_id UNION ALL
            SELECT 'basis' AS name, OLD.basis AS value WHERE OLD.basis IS NOT NEW.basis UNION ALL
            SELECT 'ended_on' AS name, OLD.ended_on AS value WHERE OLD.ended_on IS NOT NEW.ended_on UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'building_id' AS name, NEW.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'inspection_type' AS name, NEW.inspection_type AS value WHERE OLD.inspection_type IS NOT NEW.inspection_type UNION ALL
            SELECT 'title' AS name, NEW.title AS value WHERE OLD.title IS NOT NEW.title UNION ALL
            SELECT 'every' AS name, NEW.every AS value WHERE OLD.every IS NOT NEW.every UNION ALL
            SELECT 'unit' AS name, NEW.unit AS value WHERE OLD.unit IS NOT NEW.unit UNION ALL
            SELECT 'counted_from' AS name, NEW.counted_from AS value WHERE OLD.counted_from IS NOT NEW.counted_from UNION ALL
            SELECT 'first_due' AS name, NEW.first_due AS value WHERE OLD.first_due IS NOT NEW.first_due UNION ALL
            SELECT 'grace_days' AS name, NEW.grace_days AS value WHERE OLD.grace_days IS NOT NEW.grace_days UNION ALL
            SELECT 'inspector_id' AS name, NEW.inspector_id AS value WHERE OLD.inspector_id IS NOT NEW.inspector_id UNION ALL
            SELECT 'basis' AS name, NEW.basis AS value WHERE OLD.basis IS NOT NEW.basis UNION ALL
            SELECT 'ended_on' AS name, NEW.ended_on AS value WHERE OLD.ended_on IS NOT NEW.ended_on UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.building_id IS NOT NEW.building_id OR
        OLD.inspection_type IS NOT NEW.inspection_type OR OLD.title IS NOT NEW.title OR OLD.every IS NOT NEW.every OR
        OLD.unit IS NOT NEW.unit OR OLD.counted_from IS NOT NEW.counted_from OR OLD.first_due IS NOT NEW.first_due OR
        OLD.grace_days IS NOT NEW.grace_days OR OLD.inspector_id IS NOT NEW.inspector_id OR OLD.basis IS NOT NEW.basis OR
        OLD.ended_on IS NOT NEW.ended_on OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER schedules_audit_move AFTER UPDATE ON schedules
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'schedules', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type, 'title', OLD.title,
            'every', OLD.every, 'unit', OLD.unit, 'counted_from', OLD.counted_from, 'first_due', OLD.first_due,
            'grace_days', OLD.grace_days, 'inspector_id', OLD.inspector_id, 'basis', OLD.basis,
            'ended_on', OLD.ended_on, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'schedules', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'building_id', NEW.building_id, 'inspection_type', NEW.inspection_type, 'title', NEW.title,
            'every', NEW.every, 'unit', NEW.unit, 'counted_from', NEW.counted_from, 'first_due', NEW.first_due,
            'grace_days', NEW.grace_days, 'inspector_id', NEW.inspector_id, 'basis', NEW.basis,
            'ended_on', NEW.ended_on, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER inspection_plans_audit_insert AFTER INSERT ON inspection_plans
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'inspection_plans', NEW.inspection_id, NEW.client_id, NULL,
        json_object(
            'inspection_id', NEW.inspection_id, 'schedule_id', NEW.schedule_id, 'occurrence', NEW.occurrence,
            'due_on', NEW.due_on, 'case_id', NEW.case_id, 'round', NEW.round, 'outcome', NEW.outcome,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER inspection_plans_audit_delete BEFORE DELETE ON inspection_plans
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'inspection_plans', OLD.inspection_id, OLD.client_id,
        json_object(
            'inspection_id', OLD.inspection_id, 'schedule_id', OLD.schedule_id, 'occurrence', OLD.occurrence,
            'due_on', OLD.due_on, 'case_id', OLD.case_id, 'round', OLD.round, 'outcome', OLD.outcome,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER inspection_plans_audit_update AFTER UPDATE ON inspection_plans
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'inspection_plans', NEW.inspection_id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'schedule_id' AS name, OLD.schedule_id AS value WHERE OLD.schedule_id IS NOT NEW.schedule_id UNION ALL
            SELECT 'occurrence' AS name, OLD.occurrence AS value WHERE OLD.occurrence IS NOT NEW.occurrence UNION ALL
            SELECT 'due_on' AS name, OLD.due_on AS value WHERE OLD.due_on IS NOT NEW.due_on UNION ALL
            SELECT 'case_id' AS name, OLD.case_id AS value WHERE OLD.case_id IS NOT NEW.case_id UNION ALL
            SELECT 'round' AS name, OLD.round AS value WHERE OLD.round IS NOT NEW.round UNION ALL
            SELECT 'outcome' AS name, OLD.outcome AS value WHERE OLD.outcome IS NOT NEW.outcome UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'schedule_id' AS name, NEW.schedule_id AS value WHERE OLD.schedule_id IS NOT NEW.schedule_id UNION ALL
            SELECT 'occurrence' AS name, NEW.occurrence AS value WHERE OLD.occurrence IS NOT NEW.occurrence UNION ALL
            SELECT 'due_on' AS name, NEW.due_on AS value WHERE OLD.due_on IS NOT NEW.due_on UNION ALL
            SELECT 'case_id' AS name, NEW.case_id AS value WHERE OLD.case_id IS NOT NEW.case_id UNION ALL
            SELECT 'round' AS name, NEW.round AS value WHERE OLD.round IS NOT NEW.round UNION ALL
            SELECT 'outcome' AS name, NEW.outcome AS value WHERE OLD.outcome IS NOT NEW.outcome UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.inspection_id IS NOT NEW.inspection_id OR OLD.schedule_id IS NOT NEW.schedule_id OR
        OLD.occurrence IS NOT NEW.occurrence OR OLD.due_on IS NOT NEW.due_on OR OLD.case_id IS NOT NEW.case_id OR
        OLD.round IS NOT NEW.round OR OLD.outcome IS NOT NEW.outcome OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER inspection_plans_audit_move AFTER UPDATE ON inspection_plans
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'inspection_plans', OLD.inspection_id, OLD.client_id,
        json_object(
            'inspection_id', OLD.inspection_id, 'schedule_id', OLD.schedule_id, 'occurrence', OLD.occurrence,
            'due_on', OLD.due_on, 'case_id', OLD.case_id, 'round', OLD.round, 'outcome', OLD.outcome,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'inspection_plans', NEW.inspection_id, NEW.client_id, NULL,
        json_object(
            'inspection_id', NEW.inspection_id, 'schedule_id', NEW.schedule_id, 'occurrence', NEW.occurrence,
            'due_on', NEW.due_on, 'case_id', NEW.case_id, 'round', NEW.round, 'outcome', NEW.outcome,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER findings_audit_insert AFTER INSERT ON findings
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'findings', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'inspection_id', NEW.inspection_id, 'case_id', NEW.case_id, 'ref', NEW.ref,
            'place', NEW.place, 'item', NEW.item, 'code', NEW.code, 'description', NEW.description,
            'severity', NEW.severity, 'status', NEW.status, 'due_at', NEW.due_at, 'closed_at', NEW.closed_at,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER findings_audit_delete BEFORE DELETE ON findings
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'findings', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'inspection_id', OLD.inspection_id, 'case_id', OLD.case_id, 'ref', OLD.ref,
            'place', OLD.place, 'item', OLD.item, 'code', OLD.code, 'description', OLD.description,
            'severity', OLD.severity, 'status', OLD.status, 'due_at', OLD.due_at, 'closed_at', OLD.closed_at,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER findings_audit_update AFTER UPDATE ON findings
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'findings', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'case_id' AS name, OLD.case_id AS value WHERE OLD.case_id IS NOT NEW.case_id UNION ALL
            SELECT 'ref' AS name, OLD.ref AS value WHERE OLD.ref IS NOT NEW.ref UNION ALL
            SELECT 'place' AS name, OLD.place AS value WHERE OLD.place IS NOT NEW.place UNION ALL
            SELECT 'item' AS name, OLD.item AS value WHERE OLD.item IS NOT NEW.item UNION ALL
            SELECT 'code' AS name, OLD.code AS value WHERE OLD.code IS NOT NEW.code UNION ALL
            SELECT 'description' AS name, OLD.description AS value WHERE OLD.description IS NOT NEW.description UNION ALL
            SELECT 'severity' AS name, OLD.severity AS value WHERE OLD.severity IS NOT NEW.severity UNION ALL
            SELECT 'status' AS name, OLD.status AS value WHERE OLD.status IS NOT NEW.status UNION ALL
            SELECT 'due_at' AS name, OLD.due_at AS value WHERE OLD.due_at IS NOT NEW.due_at UNION ALL
            SELECT 'closed_at' AS name, OLD.closed_at AS value WHERE OLD.closed_at IS NOT NEW.closed_at UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'case_id' AS name, NEW.case_id AS value WHERE OLD.case_id IS NOT NEW.case_id UNION ALL
            SELECT 'ref' AS name, NEW.ref AS value WHERE OLD.ref IS NOT NEW.ref UNION ALL
            SELECT 'place' AS name, NEW.place AS value WHERE OLD.place IS NOT NEW.place UNION ALL
            SELECT 'item' AS name, NEW.item AS value WHERE OLD.item IS NOT NEW.item UNION ALL
            SELECT 'code' AS name, NEW.code AS value WHERE OLD.code IS NOT NEW.code UNION ALL
            SELECT 'description' AS name, NEW.description AS value WHERE OLD.description IS NOT NEW.description UNION ALL
            SELECT 'severity' AS name, NEW.severity AS value WHERE OLD.severity IS NOT NEW.severity UNION ALL
            SELECT 'status' AS name, NEW.status AS value WHERE OLD.status IS NOT NEW.status UNION ALL
            SELECT 'due_at' AS name, NEW.due_at AS value WHERE OLD.due_at IS NOT NEW.due_at UNION ALL
            SELECT 'closed_at' AS name, NEW.closed_at AS value WHERE OLD.closed_at IS NOT NEW.closed_at UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.inspection_id IS NOT NEW.inspection_id OR OLD.case_id IS NOT NEW.case_id OR
        OLD.ref IS NOT NEW.ref OR OLD.place IS NOT NEW.place OR OLD.item IS NOT NEW.item OR OLD.code IS NOT NEW.code OR
        OLD.description IS NOT NEW.description OR OLD.severity IS NOT NEW.severity OR OLD.status IS NOT NEW.status OR
        OLD.due_at IS NOT NEW.due_at OR OLD.closed_at IS NOT NEW.closed_at OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER findings_audit_move AFTER UPDATE ON findings
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'findings', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'inspection_id', OLD.inspection_id, 'case_id', OLD.case_id, 'ref', OLD.ref,
            'place', OLD.place, 'item', OLD.item, 'code', OLD.code, 'description', OLD.description,
            'severity', OLD.severity, 'status', OLD.status, 'due_at', OLD.due_at, 'closed_at', OLD.closed_at,
            'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'findings', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'inspection_id', NEW.inspection_id, 'case_id', NEW.case_id, 'ref', NEW.ref,
            'place', NEW.place, 'item', NEW.item, 'code', NEW.code, 'description', NEW.description,
            'severity', NEW.severity, 'status', NEW.status, 'due_at', NEW.due_at, 'closed_at', NEW.closed_at,
            'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER finding_events_audit_insert AFTER INSERT ON finding_events
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'finding_events', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'finding_id', NEW.finding_id, 'at', NEW.at, 'user_id', NEW.user_id, 'kind', NEW.kind,
            'inspection_id', NEW.inspection_id, 'note', NEW.note, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER finding_events_audit_delete BEFORE DELETE ON finding_events
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'finding_events', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'finding_id', OLD.finding_id, 'at', OLD.at, 'user_id', OLD.user_id, 'kind', OLD.kind,
            'inspection_id', OLD.inspection_id, 'note', OLD.note, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER finding_events_audit_update AFTER UPDATE ON finding_events
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'finding_events', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'finding_id' AS name, OLD.finding_id AS value WHERE OLD.finding_id IS NOT NEW.finding_id UNION ALL
            SELECT 'at' AS name, OLD.at AS value WHERE OLD.at IS NOT NEW.at UNION ALL
            SELECT 'user_id' AS name, OLD.user_id AS value WHERE OLD.user_id IS NOT NEW.user_id UNION ALL
            SELECT 'kind' AS name, OLD.kind AS value WHERE OLD.kind IS NOT NEW.kind UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'note' AS name, OLD.note AS value WHERE OLD.note IS NOT NEW.note UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'finding_id' AS name, NEW.finding_id AS value WHERE OLD.finding_id IS NOT NEW.finding_id UNION ALL
            SELECT 'at' AS name, NEW.at AS value WHERE OLD.at IS NOT NEW.at UNION ALL
            SELECT 'user_id' AS name, NEW.user_id AS value WHERE OLD.user_id IS NOT NEW.user_id UNION ALL
            SELECT 'kind' AS name, NEW.kind AS value WHERE OLD.kind IS NOT NEW.kind UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'note' AS name, NEW.note AS value WHERE OLD.note IS NOT NEW.note UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.finding_id IS NOT NEW.finding_id OR OLD.at IS NOT NEW.at OR
        OLD.user_id IS NOT NEW.user_id OR OLD.kind IS NOT NEW.kind OR OLD.inspection_id IS NOT NEW.inspection_id OR
        OLD.note IS NOT NEW.note OR OLD.created_at IS NOT NEW.created_at OR OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER finding_events_audit_move AFTER UPDATE ON finding_events
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'finding_events', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'finding_id', OLD.finding_id, 'at', OLD.at, 'user_id', OLD.user_id, 'kind', OLD.kind,
            'inspection_id', OLD.inspection_id, 'note', OLD.note, 'created_at', OLD.created_at,
            'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'finding_events', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'finding_id', NEW.finding_id, 'at', NEW.at, 'user_id', NEW.user_id, 'kind', NEW.kind,
            'inspection_id', NEW.inspection_id, 'note', NEW.note, 'created_at', NEW.created_at,
            'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER files_audit_insert AFTER INSERT ON files
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'files', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'bucket', NEW.bucket, 'name', NEW.name, 'inspection_id', NEW.inspection_id,
            'finding_id', NEW.finding_id, 'building_id', NEW.building_id, 'sha256', NEW.sha256, 'size', NEW.size,
            'mimetype', NEW.mimetype, 'width', NEW.width, 'height', NEW.height, 'taken_at', NEW.taken_at,
            'caption', NEW.caption, 'cache_control', NEW.cache_control, 'user_metadata', NEW.user_metadata,
            'created_by', NEW.created_by, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER files_audit_delete BEFORE DELETE ON files
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'files', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'bucket', OLD.bucket, 'name', OLD.name, 'inspection_id', OLD.inspection_id,
            'finding_id', OLD.finding_id, 'building_id', OLD.building_id, 'sha256', OLD.sha256, 'size', OLD.size,
            'mimetype', OLD.mimetype, 'width', OLD.width, 'height', OLD.height, 'taken_at', OLD.taken_at,
            'caption', OLD.caption, 'cache_control', OLD.cache_control, 'user_metadata', OLD.user_metadata,
            'created_by', OLD.created_by, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER files_audit_update AFTER UPDATE ON files
WHEN OLD.client_id IS NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'files', NEW.id, NEW.client_id,
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, OLD.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'bucket' AS name, OLD.bucket AS value WHERE OLD.bucket IS NOT NEW.bucket UNION ALL
            SELECT 'name' AS name, OLD.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'finding_id' AS name, OLD.finding_id AS value WHERE OLD.finding_id IS NOT NEW.finding_id UNION ALL
            SELECT 'building_id' AS name, OLD.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'sha256' AS name, OLD.sha256 AS value WHERE OLD.sha256 IS NOT NEW.sha256 UNION ALL
            SELECT 'size' AS name, OLD.size AS value WHERE OLD.size IS NOT NEW.size UNION ALL
            SELECT 'mimetype' AS name, OLD.mimetype AS value WHERE OLD.mimetype IS NOT NEW.mimetype UNION ALL
            SELECT 'width' AS name, OLD.width AS value WHERE OLD.width IS NOT NEW.width UNION ALL
            SELECT 'height' AS name, OLD.height AS value WHERE OLD.height IS NOT NEW.height UNION ALL
            SELECT 'taken_at' AS name, OLD.taken_at AS value WHERE OLD.taken_at IS NOT NEW.taken_at UNION ALL
            SELECT 'caption' AS name, OLD.caption AS value WHERE OLD.caption IS NOT NEW.caption UNION ALL
            SELECT 'cache_control' AS name, OLD.cache_control AS value WHERE OLD.cache_control IS NOT NEW.cache_control UNION ALL
            SELECT 'user_metadata' AS name, OLD.user_metadata AS value WHERE OLD.user_metadata IS NOT NEW.user_metadata UNION ALL
            SELECT 'created_by' AS name, OLD.created_by AS value WHERE OLD.created_by IS NOT NEW.created_by UNION ALL
            SELECT 'created_at' AS name, OLD.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, OLD.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'id' AS name, NEW.id AS value WHERE OLD.id IS NOT NEW.id UNION ALL
            SELECT 'bucket' AS name, NEW.bucket AS value WHERE OLD.bucket IS NOT NEW.bucket UNION ALL
            SELECT 'name' AS name, NEW.name AS value WHERE OLD.name IS NOT NEW.name UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'finding_id' AS name, NEW.finding_id AS value WHERE OLD.finding_id IS NOT NEW.finding_id UNION ALL
            SELECT 'building_id' AS name, NEW.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'sha256' AS name, NEW.sha256 AS value WHERE OLD.sha256 IS NOT NEW.sha256 UNION ALL
            SELECT 'size' AS name, NEW.size AS value WHERE OLD.size IS NOT NEW.size UNION ALL
            SELECT 'mimetype' AS name, NEW.mimetype AS value WHERE OLD.mimetype IS NOT NEW.mimetype UNION ALL
            SELECT 'width' AS name, NEW.width AS value WHERE OLD.width IS NOT NEW.width UNION ALL
            SELECT 'height' AS name, NEW.height AS value WHERE OLD.height IS NOT NEW.height UNION ALL
            SELECT 'taken_at' AS name, NEW.taken_at AS value WHERE OLD.taken_at IS NOT NEW.taken_at UNION ALL
            SELECT 'caption' AS name, NEW.caption AS value WHERE OLD.caption IS NOT NEW.caption UNION ALL
            SELECT 'cache_control' AS name, NEW.cache_control AS value WHERE OLD.cache_control IS NOT NEW.cache_control UNION ALL
            SELECT 'user_metadata' AS name, NEW.user_metadata AS value WHERE OLD.user_metadata IS NOT NEW.user_metadata UNION ALL
            SELECT 'created_by' AS name, NEW.created_by AS value WHERE OLD.created_by IS NOT NEW.created_by UNION ALL
            SELECT 'created_at' AS name, NEW.created_at AS value WHERE OLD.created_at IS NOT NEW.created_at UNION ALL
            SELECT 'updated_at' AS name, NEW.updated_at AS value WHERE OLD.updated_at IS NOT NEW.updated_at))
    FROM audit_context WHERE
        OLD.id IS NOT NEW.id OR OLD.bucket IS NOT NEW.bucket OR OLD.name IS NOT NEW.name OR
        OLD.inspection_id IS NOT NEW.inspection_id OR OLD.finding_id IS NOT NEW.finding_id OR
        OLD.building_id IS NOT NEW.building_id OR OLD.sha256 IS NOT NEW.sha256 OR OLD.size IS NOT NEW.size OR
        OLD.mimetype IS NOT NEW.mimetype OR OLD.width IS NOT NEW.width OR OLD.height IS NOT NEW.height OR
        OLD.taken_at IS NOT NEW.taken_at OR OLD.caption IS NOT NEW.caption OR
        OLD.cache_control IS NOT NEW.cache_control OR OLD.user_metadata IS NOT NEW.user_metadata OR
        OLD.created_by IS NOT NEW.created_by OR OLD.created_at IS NOT NEW.created_at OR
        OLD.updated_at IS NOT NEW.updated_at;
END;
CREATE TRIGGER files_audit_move AFTER UPDATE ON files
WHEN OLD.client_id IS NOT NEW.client_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'files', OLD.id, OLD.client_id,
        json_object(
            'id', OLD.id, 'bucket', OLD.bucket, 'name', OLD.name, 'inspection_id', OLD.inspection_id,
            'finding_id', OLD.finding_id, 'building_id', OLD.building_id, 'sha256', OLD.sha256, 'size', OLD.size,
            'mimetype', OLD.mimetype, 'width', OLD.width, 'height', OLD.height, 'taken_at', OLD.taken_at,
            'caption', OLD.caption, 'cache_control', OLD.cache_control, 'user_metadata', OLD.user_metadata,
            'created_by', OLD.created_by, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'files', NEW.id, NEW.client_id, NULL,
        json_object(
            'id', NEW.id, 'bucket', NEW.bucket, 'name', NEW.name, 'inspection_id', NEW.inspection_id,
            'finding_id', NEW.finding_id, 'building_id', NEW.building_id, 'sha256', NEW.sha256, 'size', NEW.size,
            'mimetype', NEW.mimetype, 'width', NEW.width, 'height', NEW.height, 'taken_at', NEW.taken_at,
            'caption', NEW.caption, 'cache_control', NEW.cache_control, 'user_metadata', NEW.user_metadata,
            'created_by', NEW.created_by, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at)
    FROM audit_context;
END;
CREATE TRIGGER client_admin_building_access_audit_insert AFTER INSERT ON client_admin_building_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_admin_building_access', NEW.admin_id || ',' || NEW.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'admin_id', NEW.admin_id, 'building_id', NEW.building_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_admin_building_access_audit_delete BEFORE DELETE ON client_admin_building_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_admin_building_access', OLD.admin_id || ',' || OLD.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'admin_id', OLD.admin_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER client_admin_building_access_audit_update AFTER UPDATE ON client_admin_building_access
WHEN OLD.admin_id IS NEW.admin_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'client_admin_building_access', NEW.admin_id || ',' || NEW.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'admin_id' AS name, OLD.admin_id AS value WHERE OLD.admin_id IS NOT NEW.admin_id UNION ALL
            SELECT 'building_id' AS name, OLD.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'assigned_by' AS name, OLD.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, OLD.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'admin_id' AS name, NEW.admin_id AS value WHERE OLD.admin_id IS NOT NEW.admin_id UNION ALL
            SELECT 'building_id' AS name, NEW.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'assigned_by' AS name, NEW.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, NEW.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at))
    FROM audit_context WHERE
        OLD.admin_id IS NOT NEW.admin_id OR OLD.building_id IS NOT NEW.building_id OR
        OLD.assigned_by IS NOT NEW.assigned_by OR OLD.assigned_at IS NOT NEW.assigned_at;
END;
CREATE TRIGGER client_admin_building_access_audit_move AFTER UPDATE ON client_admin_building_access
WHEN OLD.admin_id IS NOT NEW.admin_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_admin_building_access', OLD.admin_id || ',' || OLD.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'admin_id', OLD.admin_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_admin_building_access', NEW.admin_id || ',' || NEW.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'admin_id', NEW.admin_id, 'building_id', NEW.building_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_manager_building_access_audit_insert AFTER INSERT ON client_manager_building_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_manager_building_access', NEW.manager_id || ',' || NEW.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'manager_id', NEW.manager_id, 'building_id', NEW.building_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_manager_building_access_audit_delete BEFORE DELETE ON client_manager_building_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_manager_building_access', OLD.manager_id || ',' || OLD.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'manager_id', OLD.manager_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER client_manager_building_access_audit_update AFTER UPDATE ON client_manager_building_access
WHEN OLD.manager_id IS NEW.manager_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'client_manager_building_access', NEW.manager_id || ',' || NEW.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'manager_id' AS name, OLD.manager_id AS value WHERE OLD.manager_id IS NOT NEW.manager_id UNION ALL
            SELECT 'building_id' AS name, OLD.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'assigned_by' AS name, OLD.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, OLD.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'manager_id' AS name, NEW.manager_id AS value WHERE OLD.manager_id IS NOT NEW.manager_id UNION ALL
            SELECT 'building_id' AS name, NEW.building_id AS value WHERE OLD.building_id IS NOT NEW.building_id UNION ALL
            SELECT 'assigned_by' AS name, NEW.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, NEW.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at))
    FROM audit_context WHERE
        OLD.manager_id IS NOT NEW.manager_id OR OLD.building_id IS NOT NEW.building_id OR
        OLD.assigned_by IS NOT NEW.assigned_by OR OLD.assigned_at IS NOT NEW.assigned_at;
END;
CREATE TRIGGER client_manager_building_access_audit_move AFTER UPDATE ON client_manager_building_access
WHEN OLD.manager_id IS NOT NEW.manager_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_manager_building_access', OLD.manager_id || ',' || OLD.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'manager_id', OLD.manager_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_manager_building_access', NEW.manager_id || ',' || NEW.building_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'manager_id', NEW.manager_id, 'building_id', NEW.building_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_admin_inspection_access_audit_insert AFTER INSERT ON client_admin_inspection_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_admin_inspection_access', NEW.admin_id || ',' || NEW.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'admin_id', NEW.admin_id, 'inspection_id', NEW.inspection_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_admin_inspection_access_audit_delete BEFORE DELETE ON client_admin_inspection_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_admin_inspection_access', OLD.admin_id || ',' || OLD.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'admin_id', OLD.admin_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER client_admin_inspection_access_audit_update AFTER UPDATE ON client_admin_inspection_access
WHEN OLD.admin_id IS NEW.admin_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'client_admin_inspection_access', NEW.admin_id || ',' || NEW.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'admin_id' AS name, OLD.admin_id AS value WHERE OLD.admin_id IS NOT NEW.admin_id UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'assigned_by' AS name, OLD.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, OLD.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'admin_id' AS name, NEW.admin_id AS value WHERE OLD.admin_id IS NOT NEW.admin_id UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'assigned_by' AS name, NEW.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, NEW.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at))
    FROM audit_context WHERE
        OLD.admin_id IS NOT NEW.admin_id OR OLD.inspection_id IS NOT NEW.inspection_id OR
        OLD.assigned_by IS NOT NEW.assigned_by OR OLD.assigned_at IS NOT NEW.assigned_at;
END;
CREATE TRIGGER client_admin_inspection_access_audit_move AFTER UPDATE ON client_admin_inspection_access
WHEN OLD.admin_id IS NOT NEW.admin_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_admin_inspection_access', OLD.admin_id || ',' || OLD.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'admin_id', OLD.admin_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_admin_inspection_access', NEW.admin_id || ',' || NEW.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.admin_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'admin_id', NEW.admin_id, 'inspection_id', NEW.inspection_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_manager_inspection_access_audit_insert AFTER INSERT ON client_manager_inspection_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_manager_inspection_access', NEW.manager_id || ',' || NEW.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'manager_id', NEW.manager_id, 'inspection_id', NEW.inspection_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
CREATE TRIGGER client_manager_inspection_access_audit_delete BEFORE DELETE ON client_manager_inspection_access
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_manager_inspection_access', OLD.manager_id || ',' || OLD.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'manager_id', OLD.manager_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
END;
CREATE TRIGGER client_manager_inspection_access_audit_update AFTER UPDATE ON client_manager_inspection_access
WHEN OLD.manager_id IS NEW.manager_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'update', 'client_manager_inspection_access', NEW.manager_id || ',' || NEW.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'manager_id' AS name, OLD.manager_id AS value WHERE OLD.manager_id IS NOT NEW.manager_id UNION ALL
            SELECT 'inspection_id' AS name, OLD.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'assigned_by' AS name, OLD.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, OLD.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at)),
        (SELECT json_group_object(name, value) FROM (
            SELECT 'manager_id' AS name, NEW.manager_id AS value WHERE OLD.manager_id IS NOT NEW.manager_id UNION ALL
            SELECT 'inspection_id' AS name, NEW.inspection_id AS value WHERE OLD.inspection_id IS NOT NEW.inspection_id UNION ALL
            SELECT 'assigned_by' AS name, NEW.assigned_by AS value WHERE OLD.assigned_by IS NOT NEW.assigned_by UNION ALL
            SELECT 'assigned_at' AS name, NEW.assigned_at AS value WHERE OLD.assigned_at IS NOT NEW.assigned_at))
    FROM audit_context WHERE
        OLD.manager_id IS NOT NEW.manager_id OR OLD.inspection_id IS NOT NEW.inspection_id OR
        OLD.assigned_by IS NOT NEW.assigned_by OR OLD.assigned_at IS NOT NEW.assigned_at;
END;
CREATE TRIGGER client_manager_inspection_access_audit_move AFTER UPDATE ON client_manager_inspection_access
WHEN OLD.manager_id IS NOT NEW.manager_id
BEGIN
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'delete', 'client_manager_inspection_access', OLD.manager_id || ',' || OLD.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = OLD.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        json_object(
            'manager_id', OLD.manager_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
            'assigned_at', OLD.assigned_at),
        NULL
    FROM audit_context;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id,
        'insert', 'client_manager_inspection_access', NEW.manager_id || ',' || NEW.inspection_id,
        (SELECT grantee.client_id FROM users AS grantee LEFT JOIN users AS actor ON actor.id = audit_context.actor_id WHERE grantee.id = NEW.manager_id AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id),
        NULL,
        json_object(
            'manager_id', NEW.manager_id, 'inspection_id', NEW.inspection_id, 'assigned_by', NEW.assigned_by,
            'assigned_at', NEW.assigned_at)
    FROM audit_context;
END;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('audit_log',34);
INSERT INTO "sqlite_sequence" VALUES('clients',2);
INSERT INTO "sqlite_sequence" VALUES('inspectors',3);
INSERT INTO "sqlite_sequence" VALUES('buildings',6);
INSERT INTO "sqlite_sequence" VALUES('inspections',15);
INSERT INTO "sqlite_sequence" VALUES('reports_lead',5);
INSERT INTO "sqlite_sequence" VALUES('calibration_checks',4);
INSERT INTO "sqlite_sequence" VALUES('xrf_instruments',4);
INSERT INTO "sqlite_sequence" VALUES('schedules',7);
INSERT INTO "sqlite_sequence" VALUES('findings',5);
INSERT INTO "sqlite_sequence" VALUES('finding_events',6);
COMMIT;
