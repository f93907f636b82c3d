-- Who closed a visit, and when, from the audit log: the last entry that gave the visit its status. A move to another
-- client and an undone deletion insert the row once more, and close nothing. A visit without an entry has no row.

CREATE TABLE visit_closings (
    inspection_id INTEGER PRIMARY KEY,
    closed_at     TEXT NOT NULL,
    closed_by     TEXT,
    CONSTRAINT visit_closings_inspection_id_fkey FOREIGN KEY (inspection_id)
        REFERENCES inspections (id) ON UPDATE CASCADE ON DELETE CASCADE,
    CONSTRAINT visit_closings_closed_by_fkey FOREIGN KEY (closed_by) REFERENCES users (id) ON DELETE SET NULL,
    CONSTRAINT visit_closings_closed_at_check
        CHECK (closed_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T*+00:00')
) STRICT;
-- A user who was deleted closed nothing, even if another user has the id now.
INSERT INTO visit_closings (inspection_id, closed_at, closed_by)
SELECT visit.id, closed.at,
    CASE
        WHEN NOT EXISTS (
            SELECT 1 FROM audit_log AS gone
            WHERE gone.relation = 'users' AND gone.row_key = closed.actor_id AND gone.action = 'delete' AND gone.id > closed.id
            AND NOT EXISTS (
                SELECT 1 FROM audit_log AS back
                WHERE back.id = gone.id + 1 AND back.relation = 'users' AND back.row_key = gone.row_key
                AND back.action = 'insert' AND back.after ->> 'created_at' = gone.before ->> 'created_at'
            )
        ) THEN (SELECT id FROM users WHERE id = closed.actor_id)
    END
FROM inspections AS visit JOIN audit_log AS closed ON closed.id = (
    SELECT max(entry.id) FROM audit_log AS entry
    WHERE entry.relation = 'inspections' AND entry.row_key = CAST(visit.id AS TEXT)
    AND entry.after ->> 'status' = visit.status AND entry.before ->> 'status' IS NOT visit.status
    AND (entry.action <> 'insert' OR NOT EXISTS (
        SELECT 1 FROM audit_log AS gone
        WHERE gone.relation = 'inspections' AND gone.row_key = entry.row_key AND gone.action = 'delete'
        AND gone.id < entry.id AND gone.before ->> 'created_at' = entry.after ->> 'created_at'
    ))
)
WHERE visit.status IN ('completed', 'failed', 'cancelled');
