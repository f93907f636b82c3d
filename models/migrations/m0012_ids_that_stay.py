"""Version 12: a user's id stays what it is, and a client's is given to no other one.

That is said by triggers, which are made anew after every migration, whatever a file had. On a server the index of the
trail's lines that decide rights asks its function less often.
"""

from __future__ import annotations

from models.migrations.step import Step

SERVER = """
DROP INDEX audit_log_rights;
CREATE INDEX audit_log_rights ON audit_log (id)
    WHERE (action <> 'insert' OR relation <> ALL ('{clients,inspectors,buildings,inspections,reports_lead}'))
    AND decides_rights(action, relation, before, after);
CREATE OR REPLACE FUNCTION last_rights() RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT concat(id, '@', extract(epoch FROM at)) FROM audit_log
        WHERE (action <> 'insert' OR relation <> ALL ('{clients,inspectors,buildings,inspections,reports_lead}'))
        AND decides_rights(action, relation, before, after) ORDER BY id DESC LIMIT 1);
END $$;
"""


step = Step(12, "nobody comes under an id that somebody else had", server=SERVER)
