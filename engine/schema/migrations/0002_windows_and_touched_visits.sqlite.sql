-- The outcome "early"; whether a person has touched a visit; windows of schedules; closed buildings.

CREATE TABLE inspection_plans_rebuilt (
    inspection_id INTEGER PRIMARY KEY,
    schedule_id   INTEGER,
    occurrence    INTEGER,
    due_on        TEXT,
    case_id       INTEGER NOT NULL,
    round         INTEGER NOT NULL DEFAULT 1,
    outcome       TEXT,
    touched_at    TEXT,
    created_at    TEXT NOT NULL,
    updated_at    TEXT NOT NULL,
    client_id     INTEGER NOT NULL,
    CONSTRAINT inspection_plans_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT inspection_plans_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedules (id) ON DELETE SET NULL,
    CONSTRAINT inspection_plans_occurrence_check CHECK (occurrence BETWEEN 0 AND 2147483647),
    CONSTRAINT inspection_plans_due_on_check CHECK (due_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'),
    CONSTRAINT inspection_plans_round_check CHECK (round BETWEEN 1 AND 99),
    CONSTRAINT inspection_plans_outcome_check CHECK (outcome IN ('done', 'early', 'skipped', 'cancelled')),
    CONSTRAINT inspection_plans_touched_at_check
        CHECK (touched_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT inspection_plans_created_at_check
        CHECK (created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00'),
    CONSTRAINT inspection_plans_updated_at_check
        CHECK (updated_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
INSERT INTO inspection_plans_rebuilt (
    inspection_id, schedule_id, occurrence, due_on, case_id, round, outcome, touched_at, created_at, updated_at, client_id
)
SELECT plan.inspection_id, plan.schedule_id, plan.occurrence, plan.due_on, plan.case_id, plan.round, plan.outcome,
    CASE WHEN visit.created_at <> visit.updated_at THEN visit.updated_at END,
    plan.created_at, plan.updated_at, plan.client_id
FROM inspection_plans AS plan LEFT JOIN inspections AS visit ON visit.id = plan.inspection_id;
DROP TABLE inspection_plans;
ALTER TABLE inspection_plans_rebuilt RENAME TO inspection_plans;

ALTER TABLE schedules ADD COLUMN early_days INTEGER
    CONSTRAINT schedules_early_days_check CHECK (early_days BETWEEN 0 AND 366);

ALTER TABLE building_details ADD COLUMN closed_on TEXT
    CONSTRAINT building_details_closed_on_check CHECK (closed_on GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]');
