"""What follows a write, who asks by the time it has its turn, and what the trail tells: probes about changes."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from access.caller import GRANT_PROFILES, Role
from access.policy import AccessRule
from engine.query import operators
from engine.query.read import plan
from routes import resource, rpc
from routes.postgrest.querystring import parse
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.safety.probe import (
    ADM_BUILDING,
    ADM_INSPECTION,
    MGR_BUILDING,
    MGR_INSPECTION,
    UNDONE,
    USERS,
    Killed,
    Probe,
    cast_world,
    expect,
    send,
)
from tests.safety.sites import Site, asking
from tests.support import oracle


def moved(method: str, path: str, body: dict, left: dict[str, set]) -> Probe:
    """A real write by root, then what is left of the grants."""

    def run(site: Site) -> None:
        try:
            answer = send(site, "root", method, path, body)
            expect(answer.status == 204, answer)
            for table, expected in left.items():
                keys = {oracle.key_of(table, row) for row in site.rows(table)}
                expect(keys == expected, (table, keys))
        finally:
            site.load(cast_world())

    return Probe(f"root {method} {path} {body}", frozenset(("follow", path[1:].split("?")[0])), run)


FOLLOWS = [
    moved("PATCH", "/buildings?id=eq.1", {"client_id": 2}, {
        MGR_BUILDING: {(MAX, 4)}, ADM_BUILDING: {(ADA, 5)}, MGR_INSPECTION: {(MOE, 3)}}),
    moved("PATCH", "/buildings?id=eq.2", {"client_id": 2}, {MGR_INSPECTION: set(), ADM_INSPECTION: {(BOB, 3)}}),
    moved("PATCH", "/inspections?id=eq.3", {"building_id": 4}, {
        MGR_INSPECTION: set(), ADM_INSPECTION: {(BOB, 3)}}),
    moved("PATCH", f"/users?id=eq.{MOE}", {"client_id": 2}, {
        MGR_BUILDING: {(MAX, 4)}, MGR_INSPECTION: set()}),
]  # fmt: skip


def token_dies(site: Site) -> None:
    """Whoever was moved and moved back has a token that says the truth, and is dead all the same."""
    try:
        for client_id in (2, 1):
            send(site, "root", "PATCH", f"/users?id=eq.{MOE}", {"client_id": client_id})
        expect(send(site, "moe", "GET", "/buildings").status == 401, "moe's token lives on")
    finally:
        site.load(cast_world())


def token_stays_dead(site: Site) -> None:
    """Somebody by the id of one who was deleted does not come in by that one's token."""
    person = {**USERS[MOE], "email": "another@acme.example"}
    try:
        for method, path, body in (("DELETE", f"/users?id=eq.{MOE}", None), ("POST", "/users", person)):
            answer = send(site, "root", method, path, body, prefer="return=minimal")
            expect(answer.status in (201, 204), answer)
        expect(send(site, "moe", "GET", "/buildings").status == 401, "moe's token lives again")
    finally:
        site.load(cast_world())


def fall_is_told(site: Site) -> None:
    """Grants that go with their grantee are told to the grantee's client."""
    site.load(cast_world())
    site.told.clear()
    try:
        answer = send(site, "ada", "DELETE", f"/users?id=eq.{MOE}", prefer="return=minimal")
        expect(answer.status == 204, answer)
        query = f"/audit_log?select=relation,row_key&action=eq.delete&row_key=like.{MOE},*"
        told = send(site, "ada", "GET", query).json
        expect(len(told) == 2, told)
    finally:
        site.load(cast_world())


def looked_up(site: Site) -> None:
    """A token that says what is not so, and one of nobody."""
    for changes in ({"client_id": 2}, {"role": "client_admin"}, {"id": UNKNOWN_USER_ID}):
        answer = site.send({**USERS[MOE], **changes}, asking("GET", "/buildings"))
        expect(answer.status == 401, answer)


def told_nothing_else(site: Site) -> None:
    """Whoever may not enter is told that, and not what else is wrong with what they ask."""
    for changes in ({"client_id": 2}, {"id": UNKNOWN_USER_ID}):
        for method, path, body in (
            ("POST", "/buildings", {"nope": 1}),
            ("POST", "/buildings", []),
            ("POST", "/clients", {"name": "New"}),
            ("PATCH", "/buildings?id=eq.1", {}),
            ("PATCH", "/buildings", {"name": "New"}),
            ("PUT", "/buildings?id=eq.1", {"id": 2}),
            ("DELETE", "/buildings", None),
        ):
            answer = site.send({**USERS[MOE], **changes}, asking(method, path, body))
            expect(answer.status == 401, answer)


def found_anew(site: Site) -> None:
    """Moe is somebody else from one request to the next."""
    try:
        expect(send(site, "moe", "GET", "/buildings").status == 200, "moe's token is good")
        site.side.sql("UPDATE users SET role = 'client_admin' WHERE id = ?", (MOE,))
        expect(send(site, "moe", "GET", "/buildings").status == 401, "moe is what moe was")
    finally:
        site.load(cast_world())


Total = Callable[[Site, str], int]


def told_to_each(total: Total, site: Site) -> None:
    """How many there are is told to each as it is for them, whoever asked the same just before: max and mia hold grants
    of the same kind, so that nothing but who they are tells their questions apart."""
    grant = {"manager_id": MIA, "building_id": 1}
    try:
        answer = send(site, "ada", "POST", "/client_manager_building_access", grant)
        expect(answer.status == 201, answer)
        found = [total(site, who) for who in ("root", "ada", "bob", "moe", "max", "mia")]
        expect(found == [9, 7, 4, 4, 2, 3], found)
    finally:
        site.load(cast_world())


def told_anew(total: Total, site: Site) -> None:
    """It follows what is written, and what is granted, from one request to the next."""
    table, held = "/client_manager_building_access", f"manager_id=eq.{MIA}"
    grant = {"manager_id": MIA, "building_id": 1}
    steps = [
        ("POST", "/inspections", {"building_id": 1, "inspection_type": "x"}, 1, 0),
        ("POST", table, grant, 0, 4),
        ("DELETE", f"{table}?{held}", None, 0, -4),
        ("DELETE", "/inspections?inspection_type=eq.x", None, -1, 0),
    ]
    try:
        before = [total(site, who) for who in ("ada", "mia")]
        for method, path, body, *more in steps:
            answer = send(site, "ada", method, path, body, prefer="return=minimal")
            expect(answer.status in (201, 204), answer)
            before = [sum(pair) for pair in zip(before, more, strict=True)]
            expect([total(site, who) for who in ("ada", "mia")] == before, path)
    finally:
        site.load(cast_world())


def counted(site: Site, who: str) -> int:
    answer = send(site, who, "HEAD", "/inspections", prefer="count=exact")
    return int(answer.header("content-range").split("/")[1])


def listed(site: Site, who: str) -> int:
    return len(send(site, who, "GET", "/inspections?select=id&order=date_visited").json)


def asked_again(room: object, method: str, path: str, body: dict) -> Callable[[Site], None]:
    """Ada is made a manager while her write waits for its turn."""

    def run(site: Site) -> None:
        writing = room.writing

        @contextmanager
        def delayed(*arguments: object, **named: object) -> Iterator[object]:
            demote = "UPDATE users SET role = 'client_manager' WHERE id = ?"
            site.side.sql(demote, (ADA,))
            with writing(*arguments, **named) as transaction:
                yield transaction

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(room, "writing", delayed)
            try:
                answer = send(site, "ada", method, path, body)
                expect(answer.status == 401, answer)
            finally:
                site.load(cast_world())

    return run


def guarded(site: Site) -> None:
    """A filter that tells stands behind the rule, in the plan of a list, of its count, and of a write."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    dialect = site.app.extensions["walkthrough"].dialect.name
    for name, operator in operators.OPERATORS.items():
        shape = parse(f"select=id&notes={name}.x".encode()).shape
        made = plan.plan_read(dialect, "inspections", shape, rule)
        stands = all("CASE WHEN" in statement.sql for statement in (made.rows, made.count))
        tells = name in ("like", "ilike", "match", "imatch")
        expect(stands == tells == (not operator.leak_proof), made.rows.sql)


def disabled_root_stays(site: Site) -> None:
    """The last super admin cannot be shut out at the sign-in's door either."""
    try:
        path = f"/auth/v1/admin/users/{ROOT}"
        refused = send(site, "root", "PUT", path, {"ban_duration": "876000h"})
        expect(refused.status >= 400, refused)
        site.side.sql("INSERT INTO credentials (user_id) VALUES (?)", (ROOT,))
        refused = send(site, "root", "PUT", path, {"ban_duration": "876000h"})
        expect(refused.status >= 400, refused)
    finally:
        site.load(cast_world())


def planted(table: str, row: dict, who: str, method: str, path: str) -> Callable[[Site], None]:
    """A row that only an old file, or a grant, can bring about is out of reach: nothing matches it."""

    def run(site: Site) -> None:
        try:
            site.side.plant(table, row)
            answer = send(site, who, method, path, prefer=UNDONE)
            expect(answer.status == 200 and answer.json == [], answer)
        finally:
            site.load(cast_world())

    return run


def shut_out_by_sql(site: Site) -> None:
    """The schema itself refuses to disable the last super admin, whoever asks it to."""
    far = 2**40
    for statement in (
        "INSERT INTO credentials (user_id, disabled_until) VALUES (:id, :far)",
        "INSERT INTO credentials (user_id) VALUES (:id)",
        "UPDATE credentials SET disabled_until = :far WHERE user_id = :id",
    ):
        refused = False
        try:
            site.side.sql(statement, {"id": ROOT, "far": far})
        except site.side.refusals:
            refused = True
        expect(refused == ("far" in statement), statement)
    site.load(cast_world())


def parted_by_sql(site: Site) -> None:
    """The schema itself keeps a reading with its inspection's client, whoever parts them."""
    for statement in (
        "INSERT INTO reports_lead (inspection_id, client_id) VALUES (2, 2)",
        "UPDATE reports_lead SET inspection_id = 6 WHERE id = 1",
        "UPDATE reports_lead SET client_id = 2 WHERE id = 1",
    ):
        try:
            site.side.sql(statement)
        except site.side.refusals:
            continue
        finally:
            site.load(cast_world())
        raise Killed(statement)


NEW_USER = {"email": "t@t.example", "name": "T", "role": "client_manager", "client_id": 1}
# One write of each kind to each table, by root, and what of it is told: relation, action, whose.
TRAIL: list[tuple] = [
    ("POST", "/clients", {"name": "T"}, [("clients", "insert", None)]),
    ("PATCH", f"/users?id=eq.{MAX}", {"client_id": 1}, [(MGR_BUILDING, "delete", 2)]),
    ("PATCH", "/clients?id=eq.1", {"name": "U"}, [("clients", "update", 1)]),
    ("DELETE", "/clients?name=eq.T", None, [("clients", "delete", None)]),
    ("POST", "/inspectors", {"name": "T"}, [("inspectors", "insert", None)]),
    ("PATCH", "/inspectors?id=eq.2", {"name": "U"}, [("inspectors", "update", None)]),
    ("DELETE", "/inspectors?name=eq.T", None, [("inspectors", "delete", None)]),
    ("POST", "/users", NEW_USER, [("users", "insert", 1)]),
    ("PATCH", "/users?email=eq.t@t.example", {"name": "U"}, [("users", "update", 1)]),
    ("PATCH", "/users?email=eq.t@t.example", {"client_id": 2},
     [("users", "delete", 1), ("users", "insert", 2)]),
    ("DELETE", "/users?email=eq.t@t.example", None, [("users", "delete", 2)]),
    ("POST", "/buildings", {"name": "T", "client_id": 2}, [("buildings", "insert", 2)]),
    ("PATCH", "/buildings?id=eq.5", {"units": 1}, [("buildings", "update", 2)]),
    ("DELETE", "/buildings?id=eq.6", None, [("buildings", "delete", 1)]),
    ("POST", "/inspections", {"building_id": 3, "inspection_type": "t"}, [("inspections", "insert", 1)]),
    ("PATCH", "/inspections?id=eq.9", {"notes": "t"}, [("inspections", "update", 1)]),
    ("DELETE", "/inspections?id=eq.9", None, [("inspections", "delete", 1)]),
    ("POST", "/reports_lead", {"inspection_id": 6, "gun_id": 7}, [("reports_lead", "insert", 2)]),
    ("PATCH", "/reports_lead?id=eq.3", {"gun_id": 12_345}, [("reports_lead", "update", 2)]),
    ("DELETE", "/reports_lead?id=eq.1", None, [("reports_lead", "delete", 1)]),
    ("PATCH", "/buildings?id=eq.1", {"client_id": 2},
     [("buildings", "delete", 1), ("buildings", "insert", 2), ("inspections", "delete", 1),
      ("inspections", "insert", 2), ("reports_lead", "delete", 1), ("reports_lead", "insert", 2)]),
    *[
        (method, f"/{table}{query}", body, [(table, *action) for action in actions])
        for table, who, owner, other, others in (
            (ADM_BUILDING, ADA, 1, BOB, 2), (ADM_INSPECTION, BOB, 2, ADA, 1),
            (MGR_BUILDING, MAX, 1, MIA, 1), (MGR_INSPECTION, MIA, 1, MAX, 1))
        for method, query, body, *actions in (
            ("POST", "", {oracle.KEYS[table][0]: who, oracle.KEYS[table][1]: 8 if "inspection" in table else 3},
             ("insert", owner)),
            ("PATCH", f"?{oracle.KEYS[table][0]}=eq.{who}", {"assigned_by": None}, ("update", owner)),
            ("PATCH", f"?{oracle.KEYS[table][0]}=eq.{who}", {oracle.KEYS[table][0]: other},
             ("delete", owner), ("insert", others)),
            ("DELETE", f"?{oracle.KEYS[table][0]}=eq.{other}", None, ("delete", others)),
        )
    ],
]  # fmt: skip


def trail(site: Site) -> None:
    """Every change is told, to root all of it and to admins what is their client's; and nobody unsays it."""
    site.load(cast_world())
    site.told.clear()
    try:
        for method, path, body, rows in TRAIL:
            answer = send(site, "root", method, path, body, prefer="return=minimal")
            expect(answer.status in (201, 204), answer)
            tell(site, rows)
        told = {row for *_, rows in TRAIL for row in rows}
        for who, own in (("root", None), ("ada", 1), ("bob", 2), ("moe", 0)):
            query = "/audit_log?select=relation,action,client_id&limit=1000"
            answer = send(site, who, "GET", query)
            expect(answer.status == 200, answer)
            seen = {(row["relation"], row["action"], row["client_id"]) for row in answer.json}
            if own is None:
                expect({row[:2] for row in told} == {row[:2] for row in seen}, seen)
            else:
                expect({row for row in told if row[2] == own} <= seen, (who, seen))
                expect(all(row[2] == own for row in seen), (who, seen))
            for method in ("POST", "PATCH", "DELETE"):
                refused = send(site, who, method, "/audit_log?id=not.is.null", {"action": "x"})
                expect((refused.status, refused.code) == (403, "42501"), refused)
        for statement in ("UPDATE audit_log SET action = 'x'", "DELETE FROM audit_log"):
            try:
                site.side.sql(statement)
            except site.side.refusals:
                continue
            raise Killed(statement)
    finally:
        site.load(cast_world())


def tell(site: Site, rows: list[tuple]) -> None:
    """The last write has told these; whose a new client is, nobody knew before."""
    found = site.side.sql("SELECT relation, action, client_id FROM audit_log WHERE row_key IS NOT NULL")
    new = Counter(found) - site.told
    site.told += new
    for relation, action, owner in rows:
        expect(any(row[:2] == (relation, action) and owner in (None, row[2]) for row in new), new)


COUNTED: dict[str, dict] = {
    "clients": {"name": "T"},
    "inspectors": {"name": "T"},
    "buildings": {"name": "T", "client_id": 2},
    "inspections": {"building_id": 3, "inspection_type": "t"},
    "reports_lead": {"inspection_id": 6, "gun_id": 7},
}


def counted_on(site: Site) -> None:
    """An id that a row was changed to is never another's, even once the row is gone."""
    try:
        for table, body in COUNTED.items():
            prefer = "return=representation"
            made = send(site, "root", "POST", f"/{table}?select=id", body, prefer=prefer).json[0]
            far = made["id"] + 5
            for method, key, change in (("PATCH", made["id"], {"id": far}), ("DELETE", far, None)):
                answer = send(site, "root", method, f"/{table}?id=eq.{key}", change)
                expect(answer.status == 204, answer)
            next_ = send(site, "root", "POST", f"/{table}?select=id", body, prefer=prefer)
            expect(next_.json == [{"id": far + 1}], next_)
    finally:
        site.load(cast_world())


def ids_stay(site: Site) -> None:
    """Nobody comes under another's id: a user's is not changed, and a client's is given to no other one."""
    root = partial(send, site, "root", prefer="return=minimal")
    gone, other = {"id": 57, "name": "Gone"}, {"id": 58, "name": "Other"}
    try:
        for method, path, body in (
            ("POST", "/clients", gone),
            ("DELETE", "/clients?id=eq.57", None),
            ("POST", "/clients", other),
        ):
            answer = root(method, path, body)
            expect(answer.status in (201, 204), answer)
        for method, path, body in (
            ("PATCH", f"/users?id=eq.{MIA}", {"id": UNKNOWN_USER_ID}),
            ("POST", "/clients", gone),
            ("PATCH", "/clients?id=eq.58", {"id": 57}),
        ):
            answer = root(method, path, body)
            expect((answer.status, answer.code) == (400, "23514"), answer)
    finally:
        site.load(cast_world())


# Who goes, what of it is written first, so that it lies elsewhere on a server, and what is told of what goes along.
ALONG = (
    ("/inspections?id=eq.2", f"/{MGR_INSPECTION}?manager_id=eq.{MAX}", MGR_INSPECTION),
    ("/buildings?id=eq.6", f"/{MGR_BUILDING}?manager_id=eq.{MOE}&building_id=eq.6", MGR_BUILDING),
    ("/inspectors?id=eq.1", "/inspections?id=eq.1", "inspections"),
)


def told_in_order(site: Site) -> None:
    """What goes along with a row is told in the order of its keys, wherever it lies."""
    root = partial(send, site, "root")
    for gone, written, told_of in ALONG:
        try:
            for who in (MAX, MIA, MOE):
                for table, column, id_ in ((MGR_INSPECTION, "inspection_id", 2), (MGR_BUILDING, "building_id", 6)):
                    row = {"manager_id": who, column: id_}
                    root("POST", f"/{table}", row, prefer="resolution=ignore-duplicates")
            change = {"status": "x"} if told_of == "inspections" else {"assigned_by": ROOT}
            expect(root("PATCH", written, change).status == 204, written)
            query = f"/audit_log?select=id,row_key&relation=eq.{told_of}&order=id"
            before = root("GET", query).json
            expect(root("DELETE", gone).status == 204, gone)
            told = [row["row_key"] for row in root("GET", query).json[len(before) :]]
            expect(len(told) > 1 and told == sorted(told), (gone, told))
        finally:
            site.load(cast_world())


OTHERS = [
    Probe(
        "what goes along is told in order",
        frozenset(("follow", "inspections", "buildings", "inspectors")),
        told_in_order,
    ),
    Probe("ids are counted on", frozenset(("follow", *COUNTED)), counted_on),
    Probe("ids stay", frozenset(("follow", "users", "clients")), ids_stay),
    Probe("the trail", frozenset(("audit_log", "trail")), trail),
    Probe("a moved user's token dies", frozenset(("follow", "users")), token_dies),
    Probe("a deleted user's token stays dead", frozenset(("follow", "users")), token_stays_dead),
    Probe("grants that go are told", frozenset(("follow", "users")), fall_is_told),
    Probe("the user is looked up", frozenset(("session",)), looked_up),
    Probe("who is not let in learns nothing else", frozenset(("session",)), told_nothing_else),
    Probe("the user is looked up anew", frozenset(("session",)), found_anew),
    Probe("everybody's own are counted", frozenset(("counts",)), partial(told_to_each, counted)),
    Probe("what there is is counted anew", frozenset(("counts",)), partial(told_anew, counted)),
    Probe("everybody's own are listed", frozenset(("lists",)), partial(told_to_each, listed)),
    Probe("what there is is listed anew", frozenset(("lists",)), partial(told_anew, listed)),
    Probe(
        "a write asks again who writes",
        frozenset(("session", "again")),
        asked_again(resource, "PATCH", "/buildings?id=eq.1", {"units": 1}),
    ),
    Probe(
        "a call asks again who calls",
        frozenset(("session", "again")),
        asked_again(
            rpc, "POST", "/rpc/assign_to_client_manager", {"manager_id": MIA, "building_ids": [1], "inspection_ids": []}
        ),
    ),
    Probe("filters stand behind the rule", frozenset(("barrier",)), guarded),
    Probe("the last super admin stays", frozenset(("last",)), disabled_root_stays),
    Probe("the last super admin stays in SQL", frozenset(("last",)), shut_out_by_sql),
    Probe("a reading stays with its inspection in SQL", frozenset(("reports",)), parted_by_sql),
    Probe(
        "a reading seen by a grant is not written",
        frozenset(("reports_lead", "write", "ada")),
        planted(
            "reports_lead", {"id": 99, "inspection_id": 8, "client_id": 2}, "ada", "DELETE", "/reports_lead?id=eq.99"
        ),
    ),
    *[
        Probe(
            f"{method} {table} leaves out a grantee who is no manager (G14)",
            frozenset((table, "read" if method == "GET" else "write", "ada")),
            planted(
                table,
                {"manager_id": ADA, oracle.KEYS[table][1]: 2, "assigned_at": "2025-01-01T00:00:00+00:00"},
                "ada",
                method,
                f"/{table}?{oracle.KEYS[table][1]}=eq.2",
            ),
        )
        for table in (MGR_BUILDING, MGR_INSPECTION)
        for method in ("GET", "DELETE")
    ],
]
