"""PostgREST on Walkthrough's own tables: both servers maintain the same indexes, constraints and audit log.

Used for writes only; for reads PostgREST has indexes of its own (schema.pg.sql). The policies are those of
policies.pg.sql, except that they use `inspections.client_id`, which PostgREST's clients have to send.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.callers import Callers
from bench.databases import Databases, Psql, clone
from bench.dialect import Dialect
from bench.requests import ADMIN, HttpCall

POLICIES: Final = Path(__file__).resolve().parent / "policies.pg.sql"
PRE_REQUEST: Final = "rule.begin"
"""The function that PostgREST calls in each request: it sets the actor and the time for the audit log."""

BEFORE_POLICIES: Final = """
alter schema public rename to api;
create schema public;
alter table api.inspections alter created_at set default now(), alter updated_at set default now();
"""
AFTER_POLICIES: Final = """
alter policy visible_to_admin on api.inspections using (
    client_id = (select rule.client_id()) or building_id in (select building_id from rule.admin_buildings)
    or id in (select inspection_id from rule.admin_inspections));
alter policy written on api.inspections with check (client_id = (select rule.client_id()));
alter policy changed on api.inspections using (client_id = (select rule.client_id()));
alter policy removed on api.inspections using (client_id = (select rule.client_id()));

create function rule.begin() returns void language sql as $$
    select set_config('walkthrough.at', now()::text, true),
        set_config('walkthrough.actor', coalesce(rule.user_id()::text, ''), true) $$;
grant usage on schema rule to public;
grant insert on api.audit_log to super_admin, client_admin;
grant all on all sequences in schema api to super_admin, client_admin;
"""


def renew_shared_tables(psql: Psql, databases: Databases) -> str:
    """Clone Walkthrough's database, add PostgREST's policies, and return the clone's name."""
    database = f"{databases.copy}_same"
    clone(psql, databases.copy, database)
    psql.run(database, BEFORE_POLICIES + POLICIES.read_text(encoding="utf-8") + AFTER_POLICIES)
    return database


class WithClientIds(Dialect):
    """PostgREST's dialect, with `client_id` added to each inserted inspection."""

    name = "with-client-ids"

    def __init__(self, callers: Callers) -> None:
        super().__init__()
        self.owners = {
            building: caller.user.client_id for caller in callers.by_role[ADMIN] for building in caller.buildings
        }

    def translate(self, call: HttpCall) -> HttpCall:
        if call.method != "POST":
            return call
        body = json.loads(call.body)
        for row in body if isinstance(body, list) else [body]:
            row["client_id"] = self.owners[row["building_id"]]
        return replace(call, body=json.dumps(body))
