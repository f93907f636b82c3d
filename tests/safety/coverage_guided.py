"""The parser under libFuzzer, which keeps the inputs that reach new branches:

python -m tests.safety.coverage_guided DIRECTORY -max_total_time=1800
"""

import sys

import atheris

with atheris.instrument_imports(include=["routes.postgrest", "engine.query.shape", "models.types"]):
    from models.errors import Fault
    from routes.postgrest import payload, preferences, querystring

KINDS = 4


def try_one(raw: bytes) -> None:
    """The first byte says which parser reads the rest."""
    kind, rest = (raw[0] % KINDS, raw[1:]) if raw else (0, b"")
    try:
        if kind == 0:
            querystring.parse(rest)
        elif kind == 1:
            preferences.parse_prefer((rest.decode("latin-1"),))
        elif kind == 2:
            payload.parse_payload(rest, "application/json")
        else:
            payload.parse_payload(rest, "text/csv")
    except Fault:
        return


if __name__ == "__main__":
    atheris.Setup(sys.argv, try_one)
    atheris.Fuzz()
