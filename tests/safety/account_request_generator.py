"""Random requests to user administration, the caller's own account, the audit log and the console.

Requests contain only free e-mail addresses and those of users that the caller sees.
"""

import random
from urllib.parse import urlencode

from access.roles import Role
from access.session import token_digest
from models.credential import CALENDAR_LINK
from routes.console.session.auth import CookieSigner, SessionCookie
from tests.safety.files_of_worlds import BUCKETS, file_id
from tests.safety.request_generator import RequestGenerator
from tests.safety.service_instances import NOW_SECONDS, HttpRequest, ServiceInstance, make_request
from tests.safety.vocabulary import Vocabulary, escaped
from tests.support import tokens

SIGNER = CookieSigner([tokens.SECRET_KEY.encode()])
SESSION_ID = "cccccccc-0000-4000-8000-000000000001"
CALENDAR_TOKEN = f"wtc_{'A' * 43}"
UNKNOWN_EMAIL = "stranger@not_found.example"
FORM_TYPE = "application/x-www-form-urlencoded"
AUDIT_COLUMNS = "at,actor_id,action,relation,row_key,client_id,before,after"


class AccountRequestGenerator(RequestGenerator):
    """Draw requests. Console requests use the session that `insert_session_state` creates."""

    def __init__(self, rng: random.Random, vocabulary: Vocabulary, user: dict, users: list) -> None:
        super().__init__(rng, vocabulary, user)
        self.emails = [each["email"] for each in users]
        cookie = SessionCookie(
            SESSION_ID, user["id"], Role(user["role"]), user["client_id"], user["name"], NOW_SECONDS, NOW_SECONDS
        )
        self.cookie = f"walkthrough_console={SIGNER.encode(cookie)}"

    def request(self) -> HttpRequest:
        draw = self.rng.choice(
            (
                self.console_page,
                self.console_list,
                self.console_form,
                self.admin_request,
                self.audit_log_request,
                self.own_account_request,
            )
        )
        return draw()

    def random_value(self, table: str, column: str = "id") -> object:
        return self.vocabulary.draw(self.rng, table, column)

    def random_user_id(self) -> object:
        return self.user["id"] if self.chance(0.2) else self.random_value("users")

    def random_user_name(self) -> object:
        """Return an id or an e-mail address, as a console form accepts it."""
        return self.rng.choice((self.random_user_id(), self.random_value("users", "email"), UNKNOWN_EMAIL))

    def random_email(self) -> str:
        self.serial += 1
        return self.rng.choice((f"fresh{self.serial}@new.example", *self.emails))

    # Sign-in API

    def admin_request(self) -> HttpRequest:
        users = "/auth/v1/admin/users"
        kind = self.rng.choice(("list", "read", "read", "make", "change", "change", "delete"))
        if kind == "list":
            size = self.rng.choice((1, 2, 50))
            return make_request("GET", f"{users}?page={self.rng.randrange(1, 4)}&per_page={size}")
        if kind == "make":
            return make_request("POST", users, self.user_body() | {"email": self.random_email()})
        path = f"{users}/{self.random_user_id()}"
        if kind == "read":
            return make_request("GET", path)
        return make_request("PUT", path, self.user_body()) if kind == "change" else make_request("DELETE", path, {})

    def user_body(self) -> dict:
        """Return the body of a user, with a random subset of the fields."""
        role = self.rng.choice(("client_manager", "client_manager", "client_admin", "super_admin"))
        client = self.rng.choice((self.user["client_id"], self.random_value("clients"), 999))
        body = {
            "email": self.random_email(),
            "ban_duration": self.rng.choice(("none", "24h")),
            "user_metadata": {"name": f"New {self.serial}", "colour": "red"},
            "app_metadata": {"role": role, "client_id": client},
            "id": self.random_user_id(),
            "client_id": client,
        }
        return {name: value for name, value in body.items() if self.chance(0.35)}

    def own_account_request(self) -> HttpRequest:
        if self.chance(0.3):
            return make_request("GET", f"/calendar/{CALENDAR_TOKEN}.ics")
        if self.chance(0.5):
            return make_request("GET", "/auth/v1/user")
        email = {"email": self.random_value("users", "email")} if self.chance(0.5) else {}
        return make_request("PUT", "/auth/v1/user", {"data": {"colour": "blue"}, **email})

    def audit_log_request(self) -> HttpRequest:
        key = self.rng.choice((self.random_user_id(), self.random_value("buildings"), self.random_value("inspections")))
        select = self.rng.choice((AUDIT_COLUMNS, AUDIT_COLUMNS, "action,count()", "row_key,before->>name", "count()"))
        relation = self.rng.choice(("users", "buildings", "client_manager_building_access"))
        filters = (
            f"row_key=eq.{key}",
            f"relation=eq.{relation}",
            f"actor_id=eq.{self.random_user_id()}",
            f"client_id=eq.{self.random_value('clients')}",
            f"after->>name=ilike.*{escaped(self.random_word())}*",
        )
        query = "&".join([f"select={select}", *(each for each in filters if self.chance(0.3))])
        method = self.rng.choice(("GET", "GET", "GET", "HEAD", "DELETE"))
        return make_request(method, f"/audit_log?{query}", prefer="count=exact")

    def random_word(self) -> str:
        table = self.rng.choice(("buildings", "users", "clients", "inspectors"))
        return str(self.random_value(table, "name"))[: self.rng.randrange(1, 9)]

    # Console

    def console_page(self) -> HttpRequest:
        building, inspection = self.random_value("buildings"), self.random_value("inspections")
        user_id, reading = self.random_user_id(), self.random_value("reports_lead")
        word, user_name = escaped(self.random_word()), escaped(self.random_user_name())
        search = f"q={word}"
        path = self.rng.choice((
            f"/?from={self.random_value('inspections', 'date_visited')}",
            f"/buildings/{building}", f"/buildings/{building}/edit", f"/buildings/{building}/delete",
            f"/buildings?name=ilike.*{word}*", "/buildings.csv", f"/inspections?{search}",
            f"/inspections?building_id=eq.{building}&order=buildings(name).desc",
            f"/inspections?inspector_id=eq.{self.random_value('inspectors')}&offset=1",
            f"/inspections.csv?{search}", f"/inspections/{inspection}",
            f"/inspections/{inspection}/edit", f"/inspections/{inspection}/delete",
            f"/inspections/{inspection}/access?person={user_name}",
            f"/buildings/{building}/access?person={user_name}",
            f"/inspections/{inspection}/readings/{reading}/edit", "/inspectors",
            f"/people?name=ilike.*{word}*", f"/people/{user_id}", f"/people/{user_id}/edit",
            f"/people/{user_id}/delete", "/people/new", "/devices", "/kiosk/board",
            f"/access?client={self.random_value('clients')}&person={user_id}&building={building}",
            f"/access?q={word}", f"/access?who={word}", "/access?people=1&buildings=1",
            f"/why?person={user_name}&kind=building&key={building}",
            f"/why?person={user_name}&kind=inspection&key={inspection}",
            f"/audit_log?is_actor_id={escaped(self.random_value('users', 'email'))}",
            f"/inspections/change/{self.rng.choice(('inspector_id', 'status'))}?ids={inspection}",
            f"/schedules/apply?buildings=id%3Deq.{building}",
        ))  # fmt: skip
        return make_request("GET", f"/console{path}", cookie=self.cookie)

    def console_list(self) -> HttpRequest:
        """Return a list with a search, an order and a filter, its file, or the suggestions of a field."""
        words = "+".join(escaped(self.random_word()) for _ in range(self.rng.choice((1, 1, 2))))
        path, orders = self.rng.choice((
            ("inspections", ("buildings(name).asc", "inspectors(name).desc", "status.asc")),
            ("findings", ("severity.asc", "severity.desc", "inspections(buildings).asc")),
            ("findings", ("inspections(buildings).desc", "inspections(buildings).asc")),
            ("buildings", ("clients(name).asc", "city.desc")),
            ("schedules", ("buildings(name).desc", "unit.asc")),
            ("reports_lead", ("inspections(date_visited).desc",)),
            ("calibration_checks", ("inspections(date_visited).asc",)),
            ("inspection_plans", ("due_on.asc", "inspections(date_visited).desc")),
            ("xrf_instruments", ("make.desc", "clients(name).asc")),
            ("finding_events", ("findings(description).asc", "users(name).desc")),
            ("client_manager_building_access", ("manager_id_row(name).asc", "assigned_by_row(name).desc")),
            ("people", ("clients(name).asc", "role.desc")),
            ("inspectors", ("email.asc",)),
            ("clients", ("name.desc",)),
        ))  # fmt: skip
        if self.chance(0.4):
            within = self.rng.choice(("", "&within=update"))
            return make_request("GET", f"/console/{path}/suggest?q={words}{within}", cookie=self.cookie)
        filters = (
            f"q={words}",
            f"order={self.rng.choice(orders)}",
            f"building_id=in.({self.random_value('buildings')},{self.random_value('buildings')})",
            f"has_buildings.name=x,+number+{self.random_value('buildings')}",
        )
        query = "&".join(each for each in filters if self.chance(0.5))
        suffix = ".csv" if self.chance(0.2) else ""
        return make_request("GET", f"/console/{path}{suffix}?{query}", cookie=self.cookie)

    def console_file(self) -> HttpRequest:
        """Return a page, the bytes or a form of a file, or a report with photographs."""
        bucket = self.rng.choice(BUCKETS)
        key = self.random_value(bucket)
        url = f"/console/files/{file_id(bucket, key)}"
        path = self.rng.choice((
            url, f"{url}/original", f"{url}/thumbnail/160", f"{url}/edit", f"{url}/delete", f"/console/{bucket}/{key}",
            "/console/files", f"/console/files?q=image+{self.rng.randrange(99)}", "/console/files.csv",
            f"/console/inspections/{self.random_value('inspections')}/report?kind=findings",
        ))  # fmt: skip
        if self.chance(0.7):
            return make_request("GET", path, cookie=self.cookie)
        path, fields = self.rng.choice((
            (f"{url}/edit", {"caption": "New"}), (f"{url}/delete", {}), (f"/console/{bucket}/{key}/files", {}),
        ))  # fmt: skip
        return self.form_request(path, fields)

    def console_form(self) -> HttpRequest:
        building, inspection = self.random_value("buildings"), self.random_value("inspections")
        user_id, reading = self.random_user_id(), self.random_value("reports_lead")
        inspector = self.random_value("inspectors")
        pairs = [f"{self.random_user_id()}:{self.random_value('buildings')}" for _ in range(3)]
        kind = self.rng.choice(("building", "inspection"))
        key = building if kind == "building" else inspection
        path, fields = self.rng.choice((
            (f"/buildings/{building}/edit", {"name": "New"}),
            (f"/buildings/{building}/delete", {}),
            ("/inspections/new", {"building_id": building, "inspection_type": "fire"}),
            ("/inspections/new", {"building_id": self.random_word(), "inspection_type": "fire"}),
            (f"/inspections/{inspection}/edit", {"building_id": building, "inspection_type": "fire"}),
            (f"/inspections/{inspection}/status", {"status": "failed"}),
            (f"/inspections/{inspection}/delete", {}),
            (f"/inspections/{inspection}/access", {"person": self.random_user_name(), "do": "give"}),
            (f"/inspections/{inspection}/access", {"person": self.random_user_name(), "do": "take"}),
            (f"/buildings/{building}/access", {"person": self.random_user_name(), "do": "give"}),
            (f"/buildings/{building}/access", {"person": self.random_user_name(), "do": "take"}),
            ("/inspections/change/inspector_id", {"ids": inspection, "inspector_id": inspector}),
            ("/inspections/change/inspector_id/confirm", {"edit": f":{inspector}:{inspection}"}),
            ("/reports_lead/new", {"inspection_id": inspection, "result": "negative"}),
            (f"/reports_lead/{reading}/edit", {"inspection_id": inspection, "result": "positive"}),
            (f"/client_manager_{kind}_access/{user_id},{key}/delete", {}),
            (f"/people/{user_id}/edit", {"name": "New", "email": self.random_email()}),
            (f"/people/{user_id}/{self.rng.choice(('disable', 'enable', 'delete'))}", {}),
            ("/access", {"grant": pairs[:1], "was": pairs[1:]}),
            ("/access/confirm", {self.rng.choice(("made", "gone")): pairs[:2]}),
            ("/devices", {"person": self.random_user_name(), "name": "Hall", "days": 999}),
            (f"/devices/{device_id(user_id)}/revoke", {}),
        ))  # fmt: skip
        return self.form_request(f"/console{path}", fields)

    def form_request(self, path: str, fields: dict) -> HttpRequest:
        csrf = SIGNER.sign(f"session {SESSION_ID}")
        body = urlencode({"csrf": csrf, **fields}, doseq=True).encode()
        return make_request("POST", path, body, content_type=FORM_TYPE, cookie=self.cookie)


def device_id(user_id: object) -> str:
    return f"dddddddd-0000-4000-8000-{str(user_id)[-12:]}"


def insert_session_state(instance: ServiceInstance, world: dict, user: dict, seen: list[dict], seed: str) -> None:
    """Insert the caller's session and calendar link, and credentials and devices of other users.

    For users that the caller does not see, the values depend on `seed`.
    """
    session = (SESSION_ID, user["id"], NOW_SECONDS, NOW_SECONDS, "Firefox on Linux")
    instance.direct_database.sql(
        "INSERT INTO sessions (id, user_id, salt, created_at, last_used_at, device) VALUES (?, ?, 'salt', ?, ?, ?)",
        session,
    )
    instance.direct_database.sql(
        "INSERT INTO tokens (id, use, user_id, name, digest, read_only, created_at, created_by)"
        " VALUES (?, 'calendar_link', ?, 'Phone', ?, 1, ?, ?)",
        (SESSION_ID, user["id"], token_digest(CALENDAR_TOKEN, CALENDAR_LINK).text, NOW_SECONDS, user["id"]),
    )
    visible_ids = {person["id"] for person in seen}
    for person in world["users"]:
        if person["role"] == "super_admin" or person["id"] == user["id"]:
            continue
        rng = random.Random(f"{person['id']} {'' if person['id'] in visible_ids else seed}")
        if rng.random() < 0.7:
            instance.direct_database.sql(
                "INSERT INTO credentials (user_id, app_metadata, user_metadata, disabled_until, last_sign_in_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    person["id"],
                    f'{{"badge": {rng.randrange(9)}}}',
                    f'{{"colour": {rng.randrange(9)}}}',
                    rng.choice((0, NOW_SECONDS + 999)),
                    rng.choice((None, "2025-05-01T00:00:00+00:00")),
                ),
            )
        if rng.random() < 0.4:
            instance.direct_database.sql(
                "INSERT INTO tokens (id, use, user_id, created_by, name, digest, read_only, created_at, expires_at)"
                " VALUES (?, 'display', ?, ?, ?, ?, 1, ?, ?)",
                (
                    device_id(person["id"]),
                    person["id"],
                    person["id"],
                    f"Display {rng.randrange(9)}",
                    person["id"],
                    NOW_SECONDS,
                    NOW_SECONDS + 9_999,
                ),
            )
