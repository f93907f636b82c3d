"""Requests at random at the other doors: the administration of users, one's own account, the trail, and the console's
pages and forms. E-mails that they give to anybody are free ones, or those of people whom the caller sees.
"""

import random
from urllib.parse import urlencode

from access.caller import Role
from routes.console.session.session_cookie import CookieSigner, SessionCookie
from tests.safety.grammar import Grammar
from tests.safety.sites import MOMENT, Asking, Site, asking
from tests.safety.vocabulary import Vocabulary, escaped
from tests.support import tokens

SIGNER = CookieSigner([tokens.SECRET_KEY.encode()])
SESSION = "cccccccc-0000-4000-8000-000000000001"
STRANGER = "stranger@not_found.example"
FORM_TYPE = "application/x-www-form-urlencoded"
LINE = "at,actor_id,action,relation,row_key,client_id,before,after"


class Doors(Grammar):
    """Draws requests, the console's from a session that `furnish` begins."""

    def __init__(self, rng: random.Random, words: Vocabulary, user: dict, people: list) -> None:
        super().__init__(rng, words, user)
        self.emails = [person["email"] for person in people]
        cookie = SessionCookie(SESSION, user["id"], Role(user["role"]), user["client_id"], user["name"], MOMENT, MOMENT)
        self.cookie = f"walkthrough_console={SIGNER.encode(cookie)}"

    def request(self) -> Asking:
        draw = self.rng.choice((self.page, self.page, self.form, self.admin, self.trail, self.own))
        return draw()

    def one(self, table: str, column: str = "id") -> object:
        return self.words.draw(self.rng, table, column)

    def person(self) -> object:
        return self.user["id"] if self.chance(0.2) else self.one("users")

    def named(self) -> object:
        """Somebody as a form of the console may name them."""
        return self.rng.choice((self.person(), self.one("users", "email"), STRANGER))

    def email(self) -> str:
        self.fresh += 1
        return self.rng.choice((f"fresh{self.fresh}@new.example", *self.emails))

    # The sign-in's side

    def admin(self) -> Asking:
        users = "/auth/v1/admin/users"
        kind = self.rng.choice(("list", "read", "read", "make", "change", "change", "delete"))
        if kind == "list":
            size = self.rng.choice((1, 2, 50))
            return asking("GET", f"{users}?page={self.rng.randrange(1, 4)}&per_page={size}")
        if kind == "make":
            return asking("POST", users, self.wanted() | {"email": self.email()})
        one = f"{users}/{self.person()}"
        if kind == "read":
            return asking("GET", one)
        return asking("PUT", one, self.wanted()) if kind == "change" else asking("DELETE", one, {})

    def wanted(self) -> dict:
        """A user as somebody would describe them."""
        role = self.rng.choice(("client_manager", "client_manager", "client_admin", "super_admin"))
        client = self.rng.choice((self.user["client_id"], self.one("clients"), 999))
        said = {
            "email": self.email(),
            "ban_duration": self.rng.choice(("none", "24h")),
            "user_metadata": {"name": f"New {self.fresh}", "colour": "red"},
            "app_metadata": {"role": role, "client_id": client},
            "id": self.person(),
            "client_id": client,
        }
        return {name: value for name, value in said.items() if self.chance(0.35)}

    def own(self) -> Asking:
        if self.chance(0.5):
            return asking("GET", "/auth/v1/user")
        email = {"email": self.one("users", "email")} if self.chance(0.5) else {}
        return asking("PUT", "/auth/v1/user", {"data": {"colour": "blue"}, **email})

    def trail(self) -> Asking:
        key = self.rng.choice((self.person(), self.one("buildings"), self.one("inspections")))
        select = self.rng.choice((LINE, LINE, "action,count()", "row_key,before->>name", "count()"))
        relation = self.rng.choice(("users", "buildings", "client_manager_building_access"))
        filters = (
            f"row_key=eq.{key}",
            f"relation=eq.{relation}",
            f"actor_id=eq.{self.person()}",
            f"client_id=eq.{self.one('clients')}",
            f"after->>name=ilike.*{escaped(self.word())}*",
        )
        query = "&".join([f"select={select}", *(each for each in filters if self.chance(0.3))])
        method = self.rng.choice(("GET", "GET", "GET", "HEAD", "DELETE"))
        return asking(method, f"/audit_log?{query}", prefer="count=exact")

    def word(self) -> str:
        table = self.rng.choice(("buildings", "users", "clients", "inspectors"))
        return str(self.one(table, "name"))[: self.rng.randrange(1, 9)]

    # The console

    def page(self) -> Asking:
        building, inspection = self.one("buildings"), self.one("inspections")
        person, reading = self.person(), self.one("reports_lead")
        word, named = escaped(self.word()), escaped(self.named())
        sought = f"or=(notes.ilike.*{word}*,sought.not.is.null)&sought.name=ilike.*{word}*"
        path = self.rng.choice((
            f"/?from={self.one('inspections', 'date_visited')}",
            f"/buildings/{building}", f"/buildings/{building}/edit", f"/buildings/{building}/delete",
            f"/buildings?name=ilike.*{word}*", "/buildings.csv", f"/inspections?{sought}",
            f"/inspections?building_id=eq.{building}&order=buildings(name).desc",
            f"/inspections?inspector_id=eq.{self.one('inspectors')}&offset=1",
            f"/inspections.csv?{sought}", f"/inspections/{inspection}",
            f"/inspections/{inspection}/edit", f"/inspections/{inspection}/delete",
            f"/inspections/{inspection}/access?person={named}",
            f"/inspections/{inspection}/readings/{reading}/edit", "/inspectors",
            f"/people?name=ilike.*{word}*", f"/people/{person}", f"/people/{person}/edit",
            f"/people/{person}/delete", "/people/new", "/devices", "/kiosk/board",
            f"/access?client={self.one('clients')}&person={person}&building={building}",
            f"/access?q={word}", "/access?people=1&buildings=1",
            f"/why?person={named}&kind=building&key={building}",
            f"/why?person={named}&kind=inspection&key={inspection}",
        ))  # fmt: skip
        return asking("GET", f"/console{path}", cookie=self.cookie)

    def form(self) -> Asking:
        building, inspection = self.one("buildings"), self.one("inspections")
        person, reading = self.person(), self.one("reports_lead")
        pairs = [f"{self.person()}:{self.one('buildings')}" for _ in range(3)]
        kind = self.rng.choice(("building", "inspection"))
        key = building if kind == "building" else inspection
        path, typed = self.rng.choice((
            (f"/buildings/{building}/edit", {"name": "New"}),
            (f"/buildings/{building}/delete", {}),
            ("/inspections/new", {"building_id": building, "inspection_type": "fire"}),
            (f"/inspections/{inspection}/edit", {"building_id": building, "inspection_type": "fire"}),
            (f"/inspections/{inspection}/status", {"status": "failed"}),
            (f"/inspections/{inspection}/delete", {}),
            (f"/inspections/{inspection}/access", {"person": self.named(), "do": "give"}),
            (f"/inspections/{inspection}/access", {"person": self.named(), "do": "take"}),
            (f"/inspections/{inspection}/readings/new", {"result": "negative"}),
            (f"/inspections/{inspection}/readings/{reading}/edit", {"result": "positive"}),
            (f"/people/{person}/revoke", {"kind": kind, "key": key}),
            (f"/people/{person}/edit", {"name": "New", "email": self.email()}),
            (f"/people/{person}/{self.rng.choice(('disable', 'enable', 'delete'))}", {}),
            ("/access", {"grant": pairs[:1], "was": pairs[1:]}),
            ("/access/confirm", {self.rng.choice(("made", "gone")): pairs[:2]}),
            ("/devices", {"person": self.named(), "name": "Hall", "days": 999}),
            (f"/devices/{board_of(person)}/revoke", {}),
        ))  # fmt: skip
        csrf = SIGNER.sign(f"session {SESSION}")
        body = urlencode({"csrf": csrf, **typed}, doseq=True).encode()
        headers = {"content_type": FORM_TYPE, "cookie": self.cookie}
        return asking("POST", f"/console{path}", body, **headers)


def board_of(person: object) -> str:
    return f"dddddddd-0000-4000-8000-{str(person)[-12:]}"


def furnish(site: Site, world: dict, user: dict, seen: list[dict], seed: str) -> None:
    """Begin the caller's session, and keep beside all others what a sign-in keeps: beside those whom the caller does
    not see another thing for each seed."""
    session = (SESSION, user["id"], "salt", 0, MOMENT, MOMENT, "[]")
    site.side.sql(f"INSERT INTO sessions VALUES ({', '.join('?' * len(session))})", session)
    shown = {person["id"] for person in seen}
    for person in world["users"]:
        if person["role"] == "super_admin" or person["id"] == user["id"]:
            continue
        rng = random.Random(f"{person['id']} {'' if person['id'] in shown else seed}")
        if rng.random() < 0.7:
            site.side.sql(
                "INSERT INTO credentials (user_id, app_metadata, user_metadata, disabled_until, last_sign_in_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (
                    person["id"],
                    f'{{"badge": {rng.randrange(9)}}}',
                    f'{{"colour": {rng.randrange(9)}}}',
                    rng.choice((0, MOMENT + 999)),
                    rng.choice((None, "2025-05-01T00:00:00+00:00")),
                ),
            )
        if rng.random() < 0.4:
            site.side.sql(
                "INSERT INTO devices (id, user_id, name, token_digest, created_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (
                    board_of(person["id"]),
                    person["id"],
                    f"Board {rng.randrange(9)}",
                    person["id"],
                    MOMENT,
                    MOMENT + 9_999,
                ),
            )
