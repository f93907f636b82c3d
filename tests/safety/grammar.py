"""Requests at random: reads, writes and functions. The same source of chance makes the same request."""

import random

from tests.conftest import RESOURCES
from tests.safety.queries import MEDIA, Queries
from tests.safety.sites import Asking, asking
from tests.safety.vocabulary import Vocabulary, escaped
from tests.support import oracle


class Grammar(Queries):
    """Draws requests."""

    def __init__(self, rng: random.Random, words: Vocabulary, user: dict) -> None:
        super().__init__(rng, words)
        self.user = user
        self.fresh = 0

    def request(self) -> Asking:
        kind = self.rng.random()
        if kind < 0.6:
            return self.read()
        return self.write() if kind < 0.9 else self.call()

    # Writing

    def write(self) -> Asking:
        written = (*RESOURCES, *(4 * sorted(oracle.WRITTEN_BY_ADMINS)))
        table = self.rng.choice(written)
        kind = self.rng.random()
        if kind < 0.4:
            return self.create(table)
        if kind < 0.72:
            return self.change(table)
        return self.put(table) if kind < 0.78 else self.remove(table)

    def preferences(self, *more: str) -> dict[str, str]:
        prefer = [*more]
        kind = self.rng.choice(("minimal", "representation", "representation", "headers-only"))
        prefer.append(f"return={kind}")
        if self.chance(0.3):
            prefer.append("count=exact")
        if self.chance(0.1):
            prefer.append("tx=rollback")
        if self.chance(0.08):
            prefer += ["handling=strict", f"max-affected={self.rng.randrange(4)}"]
        if self.chance(0.2):
            prefer.append(self.rng.choice(("missing=default", "timezone=Asia/Tokyo")))
        headers = {"prefer": ", ".join(prefer)}
        if self.chance(0.1):
            headers["accept"] = self.rng.choice(MEDIA)
        return headers

    def represented(self, table: str) -> str:
        parts: list[str] = []
        if not self.chance(0.5):
            return ""
        select = self.select(table, (), parts, 1)
        return "&".join((f"select={select}", *(part for part in parts if "." in part.split("=")[0])))

    def create(self, table: str) -> Asking:
        rows = [self.row(table) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        keys = {key: None for row in rows for key in row}
        rows = [{key: row.get(key) for key in keys} for row in rows]
        more: tuple[str, ...] = ()
        query = [self.represented(table)]
        if self.chance(0.3):
            more = (self.rng.choice(("resolution=merge-duplicates", "resolution=ignore-duplicates")),)
            if table == "users" and self.chance(0.4):
                query.append("on_conflict=email")
        if self.chance(0.1):
            query.append(f"columns={','.join(self.rng.sample(sorted(keys), max(1, len(keys) - 1)))}")
        path = f"/{table}?{'&'.join(filter(None, query))}"
        headers = self.preferences(*more)
        if self.chance(0.08):
            return asking("POST", path, as_csv(rows), content_type="text/csv", **headers)
        return asking("POST", path, rows[0] if len(rows) == 1 and self.chance(0.8) else rows, **headers)

    def change(self, table: str) -> Asking:
        row = self.row(table)
        chosen = self.rng.sample(sorted(row), min(self.rng.choice((1, 1, 2)), len(row)))
        body = {column: row[column] for column in chosen if column != "email"}
        query = "&".join(filter(None, (*self.filters(table, "", self.rng.choice((1, 1, 2))), self.represented(table))))
        if self.chance(0.07):
            query += f"&limit={self.rng.randrange(3)}&order={self.order(table)}"
        return asking("PATCH", f"/{table}?{query}", body, **self.preferences())

    def put(self, table: str) -> Asking:
        row = self.row(table)
        key = oracle.KEYS.get(table, ("id",))
        for column in key:
            row.setdefault(column, self.words.draw(self.rng, table, column))
        where = "&".join(f"{column}=eq.{escaped(row[column])}" for column in key)
        return asking("PUT", f"/{table}?{where}", row, **self.preferences())

    def remove(self, table: str) -> Asking:
        query = "&".join(filter(None, (*self.filters(table, "", self.rng.choice((1, 1, 2))), self.represented(table))))
        return asking("DELETE", f"/{table}?{query}", **self.preferences())

    def row(self, table: str) -> dict:
        """A row as somebody would write it; now and then with a key that is taken, hidden or free."""
        self.fresh += 1
        rng, draw = self.rng, self.words.draw
        if table in oracle.KEYS:
            grantee, target = oracle.KEYS[table]
            row = {
                grantee: draw(rng, "users", "id"),
                target: draw(rng, "inspections" if target == "inspection_id" else "buildings", "id"),
            }
            if self.chance(0.4):
                row["assigned_by"] = rng.choice((None, self.user["id"], draw(rng, "users", "id")))
            return row
        row = {
            "clients": lambda: {"name": f"New {self.fresh}"},
            "inspectors": lambda: {"name": f"New {self.fresh}", "email": None},
            "users": lambda: {
                "email": f"new{self.fresh}@new.example",
                "name": f"New {self.fresh}",
                "role": rng.choice(("client_manager", "client_manager", "client_admin", "super_admin")),
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"), None)),
            },
            "buildings": lambda: {
                "name": f"New {self.fresh}",
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"))),
                "units": rng.choice((None, 3)),
            },
            "inspections": lambda: {
                "building_id": draw(rng, "buildings", "id"),
                "inspection_type": rng.choice(("fire", "lead")),
                "inspector_id": rng.choice((None, draw(rng, "inspectors", "id"))),
                "notes": f"New {self.fresh}",
            },
            "reports_lead": lambda: {"inspection_id": draw(rng, "inspections", "id"), "result": "negative"},
        }[table]()
        if self.chance(0.35):
            row["id"] = draw(rng, table, "id")
        if self.chance(0.03):
            row["created_at"] = "2020-01-01T00:00:00+00:00"
        return row

    # Functions

    def call(self) -> Asking:
        name, arguments = self.called()
        if self.chance(0.3):
            arguments = {f"p_{key.removeprefix('p_')}": value for key, value in arguments.items()}
        if name.startswith("assign"):
            headers = {"prefer": "tx=rollback"} if self.chance(0.1) else {}
            return asking("POST", f"/rpc/{name}", arguments, **headers)
        if self.chance(0.5):
            return asking("POST", f"/rpc/{name}", arguments)
        query = "&".join(f"{key}={escaped(value)}" for key, value in arguments.items())
        return asking("GET", f"/rpc/{name}?{query}")

    def called(self) -> tuple[str, dict]:
        rng, draw = self.rng, self.words.draw
        building = draw(rng, "buildings", "id")
        inspection = draw(rng, "inspections", "id")
        person = self.user["id"] if self.chance(0.4) else draw(rng, "users", "id")
        some = [draw(rng, "buildings", "id") for _ in range(rng.randrange(3))]
        others = [draw(rng, "inspections", "id") for _ in range(rng.randrange(3))]
        days = sorted((draw(rng, "inspections", "date_visited"), "2025-06-01"), key=str)
        return rng.choice((
            ("get_inspections_dashboard_summary_fast", {}),
            ("get_building_stats_chart_fast", {}),
            ("get_building_stats_chart_fast", {"start_date": days[0], "end_date": days[1]}),
            ("get_building_stats", {"building_id": building}),
            ("check_building_access_v2", {"p_building_id": building, "p_user_id": person}),
            ("check_inspection_access", {"p_inspection_id": inspection, "p_user_id": person}),
            ("explain_building_access", {"p_building_id": building, "p_user_id": person}),
            ("explain_inspection_access", {"p_inspection_id": inspection, "p_user_id": person}),
            ("assign_buildings_to_client_admin", {"admin_id": person, "building_ids": some}),
            ("assign_inspections_to_client_admin", {"admin_id": person, "inspection_ids": others}),
            ("assign_to_client_manager",
             {"manager_id": person, "building_ids": some, "inspection_ids": others}),
            ("assign_to_client_manager",
             {"manager_id": person, "building_ids": some, "inspection_ids": others}),
        ))  # fmt: skip


def as_csv(rows: list[dict]) -> bytes:
    lines = [",".join(rows[0])]
    lines += [",".join("NULL" if v is None else str(v) for v in row.values()) for row in rows]
    return "\n".join(lines).encode()
