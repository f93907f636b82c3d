"""Random requests: reads, writes and function calls. The same seed generates the same requests."""

import random

from tests.safety.read_generator import MEDIA, ReadGenerator
from tests.safety.service_instances import HttpRequest, make_request
from tests.safety.vocabulary import Vocabulary, escaped
from tests.support import oracle
from tests.support.columns import COLUMNS, MODELLED_TABLES
from tests.support.worlds import GUNS


class RequestGenerator(ReadGenerator):
    """Draw reads, writes and function calls."""

    def __init__(self, rng: random.Random, vocabulary: Vocabulary, user: dict) -> None:
        super().__init__(rng, vocabulary)
        self.user = user
        self.serial = 0

    def request(self) -> HttpRequest:
        kind = self.rng.random()
        if kind < 0.6:
            return self.read()
        return self.write_request() if kind < 0.9 else self.function_request()

    # Writes

    def write_request(self) -> HttpRequest:
        tables = (*MODELLED_TABLES, *(4 * sorted(oracle.WRITTEN_BY_ADMINS)))
        table = self.rng.choice(tables)
        kind = self.rng.random()
        if kind < 0.4:
            return self.insert_request(table)
        if kind < 0.72:
            return self.update_request(table)
        return self.upsert_request(table) if kind < 0.78 else self.delete_request(table)

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

    def returned_columns(self, table: str) -> str:
        parts: list[str] = []
        if not self.chance(0.5):
            return ""
        select = self.select(table, (), parts, 1)
        return "&".join((f"select={select}", *(part for part in parts if "." in part.split("=")[0])))

    def insert_request(self, table: str) -> HttpRequest:
        rows = [self.row(table) for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        keys = {key: None for row in rows for key in row}
        rows = [{key: row.get(key) for key in keys} for row in rows]
        more: tuple[str, ...] = ()
        query = [self.returned_columns(table)]
        if self.chance(0.3):
            more = (self.rng.choice(("resolution=merge-duplicates", "resolution=ignore-duplicates")),)
            if table == "users" and self.chance(0.4):
                query.append("on_conflict=email")
        if self.chance(0.1):
            query.append(f"columns={','.join(self.rng.sample(sorted(keys), max(1, len(keys) - 1)))}")
        path = f"/{table}?{'&'.join(filter(None, query))}"
        headers = self.preferences(*more)
        if self.chance(0.08):
            return make_request("POST", path, as_csv(rows), content_type="text/csv", **headers)
        return make_request("POST", path, rows[0] if len(rows) == 1 and self.chance(0.8) else rows, **headers)

    def update_request(self, table: str) -> HttpRequest:
        row = self.row(table)
        chosen = self.rng.sample(sorted(row), min(self.rng.choice((1, 1, 2)), len(row)))
        body = {column: row[column] for column in chosen if column != "email"}
        query = "&".join(
            filter(None, (*self.filters(table, "", self.rng.choice((1, 1, 2))), self.returned_columns(table)))
        )
        if self.chance(0.07):
            query += f"&limit={self.rng.randrange(3)}&order={self.order(table)}"
        return make_request("PATCH", f"/{table}?{query}", body, **self.preferences())

    def upsert_request(self, table: str) -> HttpRequest:
        row = self.row(table)
        key = oracle.PRIMARY_KEYS.get(table, ("id",))
        for column in key:
            row.setdefault(column, self.vocabulary.draw(self.rng, table, column))
        where = "&".join(f"{column}=eq.{escaped(row[column])}" for column in key)
        return make_request("PUT", f"/{table}?{where}", row, **self.preferences())

    def delete_request(self, table: str) -> HttpRequest:
        query = "&".join(
            filter(None, (*self.filters(table, "", self.rng.choice((1, 1, 2))), self.returned_columns(table)))
        )
        return make_request("DELETE", f"/{table}?{query}", **self.preferences())

    def row(self, table: str) -> dict:
        """Return a row to write. Its key is sometimes the key of a visible, hidden or missing row."""
        self.serial += 1
        rng, draw = self.rng, self.vocabulary.draw
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
            "clients": lambda: {"name": f"New {self.serial}"},
            "inspectors": lambda: {"name": f"New {self.serial}", "email": None},
            "users": lambda: {
                "email": f"new{self.serial}@new.example",
                "name": f"New {self.serial}",
                "role": rng.choice(("client_manager", "client_manager", "client_admin", "super_admin")),
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"), None)),
            },
            "buildings": lambda: {
                "name": f"New {self.serial}",
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"))),
                "units": rng.choice((None, 3)),
            },
            "inspections": lambda: {
                "building_id": draw(rng, "buildings", "id"),
                "inspection_type": rng.choice(("fire", "lead")),
                "inspector_id": rng.choice((None, draw(rng, "inspectors", "id"))),
                "notes": f"New {self.serial}",
            },
            "building_details": lambda: {
                "building_id": draw(rng, "buildings", "id"),
                "parcel": f"New {self.serial}",
                "year_built": rng.choice((None, 1928)),
            },
            "reports_lead": lambda: {
                "inspection_id": draw(rng, "inspections", "id"),
                **rng.choice(({"result": "negative"}, {"gun_id": rng.choice(GUNS), "lead_mg_cm2": rng.random()})),
            },
            "calibration_checks": lambda: {
                "inspection_id": draw(rng, "inspections", "id"),
                "gun_id": rng.choice(GUNS),
                "taken_at": "2025-06-14T12:00:00+00:00",
                **dict.fromkeys(("first", "second", "third"), rng.randrange(6, 14) / 10),
            },
            "xrf_instruments": lambda: {
                "gun_id": 1_000 + self.serial,  # a number that another instrument has would be refused
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"), None)),
                "make": "Niton",
                "model": f"New {self.serial}",
                "serial": "S",
            },
            "xrf_limits": lambda: {
                "gun_id": draw(rng, "xrf_instruments", "gun_id"),
                "substrate": rng.choice(("wood", "brick")),
                "negative_below": 0.4,
                "positive_from": 0.6,
            },
            "lead_standards": lambda: {
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"), None)),
                "unit": "mg_cm2",
                "from_value": rng.randrange(1, 9) / 10,
                "valid_from": "2020-01-01",
                "basis": f"New {self.serial}",
            },
            "schedules": lambda: {
                "building_id": draw(rng, "buildings", "id"),
                "inspection_type": "fire",
                "title": f"New {self.serial}",
                "every": 1,
                "unit": "year",
                "first_due": "2025-07-01",
            },
            "inspection_plans": lambda: {"inspection_id": draw(rng, "inspections", "id"), "outcome": "done"},
            "deadline_rules": lambda: {
                "client_id": rng.choice((self.user["client_id"], draw(rng, "clients", "id"), None)),
                "severity": rng.choice(("severe", "low")),
                "amount": rng.randrange(1, 90),
                "unit": "d",
                "basis": f"New {self.serial}",
            },
            "findings": lambda: {
                "inspection_id": draw(rng, "inspections", "id"),
                "description": f"New {self.serial}",
                "severity": "low",
            },
            "finding_events": lambda: {"finding_id": draw(rng, "findings", "id"), "note": f"New {self.serial}"},
            "issued_reports": lambda: {"inspection_id": draw(rng, "inspections", "id"), "number": f"New {self.serial}"},
            "notices": lambda: {"building_id": draw(rng, "buildings", "id"), "number": f"New {self.serial}"},
        }[table]()
        if self.chance(0.35) and "id" in COLUMNS[table]:
            row["id"] = draw(rng, table, "id")
        if self.chance(0.03):
            row["created_at"] = "2020-01-01T00:00:00+00:00"
        return row

    # Functions

    def function_request(self) -> HttpRequest:
        if self.chance(0.1):
            return self.report_request()
        name, arguments = self.function_call()
        if self.chance(0.3):
            arguments = {f"p_{key.removeprefix('p_')}": value for key, value in arguments.items()}
        if name.startswith("assign") or name == "import_csv":
            headers = {"prefer": "tx=rollback"} if self.chance(0.1) else {}
            return make_request("POST", f"/rpc/{name}", arguments, **headers)
        if self.chance(0.5):
            return make_request("POST", f"/rpc/{name}", arguments)
        query = "&".join(f"{key}={escaped(value)}" for key, value in arguments.items())
        return make_request("GET", f"/rpc/{name}?{query}")

    def report_request(self) -> HttpRequest:
        rng = self.rng
        key = escaped(self.vocabulary.draw(rng, "inspections", "id"))
        kind, rule = rng.choice(("lead", "findings")), rng.choice(("federal", "VA", "MN", "MI"))
        accept = rng.choice(("text/html", "application/json"))
        return make_request("GET", f"/reports/inspections/{key}?kind={kind}&rule={rule}", accept=accept)

    def function_call(self) -> tuple[str, dict]:
        rng, draw = self.rng, self.vocabulary.draw
        building = draw(rng, "buildings", "id")
        inspection = draw(rng, "inspections", "id")
        person = self.user["id"] if self.chance(0.4) else draw(rng, "users", "id")
        building_ids = [draw(rng, "buildings", "id") for _ in range(rng.randrange(3))]
        inspection_ids = [draw(rng, "inspections", "id") for _ in range(rng.randrange(3))]
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
            ("assign_buildings_to_client_admin", {"admin_id": person, "building_ids": building_ids}),
            ("assign_inspections_to_client_admin", {"admin_id": person, "inspection_ids": inspection_ids}),
            ("assign_to_client_manager",
             {"manager_id": person, "building_ids": building_ids, "inspection_ids": inspection_ids}),
            ("assign_to_client_manager",
             {"manager_id": person, "building_ids": building_ids, "inspection_ids": inspection_ids}),
            ("lead_summary", {"p_inspection_id": inspection}),
            ("report_gaps", {"p_inspection_id": inspection, "p_rule": rng.choice(("federal", "VA", "MN", "MI"))}),
            self.import_call(),
        ))  # fmt: skip

    def import_call(self) -> tuple[str, dict]:
        """Return an import of rows that may exist already, visible or hidden."""
        tables = ("buildings", "inspections", "reports_lead", "calibration_checks", "findings", "schedules")
        table = self.rng.choice(tables)
        rows = [self.row(table) for _ in range(self.rng.choice((1, 2, 3)))]
        text = {"buildings": "name", "inspections": "inspection_type", "reports_lead": "result"}.get(table)
        for row in rows:
            if text is not None and self.chance(0.6):
                row[text] = self.vocabulary.draw(self.rng, table, text)
        names = [name for name in rows[0] if name not in ("id", "created_at")]
        lines = [",".join(str(row.get(name) or "") for name in names) for row in rows]
        arguments = {
            "target": table,
            "csv": "\n".join((",".join(names), *lines, "")),
            "mapping": {name: name for name in names},
            "dry_run": self.chance(0.5),
        }
        return "import_csv", arguments | ({"key": [self.rng.choice(names)]} if self.chance(0.5) else {})


def as_csv(rows: list[dict]) -> bytes:
    lines = [",".join(rows[0])]
    lines += [",".join("NULL" if v is None else str(v) for v in row.values()) for row in rows]
    return "\n".join(lines).encode()
