"""What is left of a difference in writing when PostgREST has the service's own tables, on the same PostgreSQL?

It then fills all their indexes and looks at all their keys, and their triggers tell the audit trail of every change.
Reads are not compared so: what our lists are found by is not what PostgREST's are. Its policies are those of
`policies.pg.sql`, but for what these tables know better: whose an inspection is stands in it. To PostgREST that is
a column like others, which its clients say.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from bench.cast import Cast
from bench.requests import ADMIN
from bench.requests import Call
from bench.stores import Psql
from bench.stores import Store
from bench.stores import clone

POLICIES: Final = Path(__file__).resolve().parent / "policies.pg.sql"
BEGIN: Final = "rule.begin"
"""What begins each of PostgREST's requests: who is behind it, and when, as the service says in its transactions."""

BEFORE: Final = """
alter schema public rename to api;
create schema public;
alter table api.inspections alter created_at set default now(), alter updated_at set default now();
"""
BEHIND: Final = """
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


def renew(psql: Psql, store: Store) -> str:
    """The service's tables as they were loaded, and as PostgREST serves them: a database that nobody has open."""
    database = f"{store.copy}_same"
    clone(psql, store.copy, database)
    psql.run(database, BEFORE + POLICIES.read_text(encoding="utf-8") + BEHIND)
    return database


def with_owners(cast: Cast) -> Callable[[Call], Call]:
    """A write as it is sent there: each new inspection says whose it is."""
    owners = {
        building: asker.person.client_id
        for asker in cast.askers[ADMIN]
        for building in asker.buildings
    }

    def say(call: Call) -> Call:
        if call.method != "POST":
            return call
        given = json.loads(call.body)
        for row in given if isinstance(given, list) else [given]:
            row["client_id"] = owners[row["building_id"]]
        return replace(call, body=json.dumps(given))

    return say
