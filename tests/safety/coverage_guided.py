"""The parsers under libFuzzer, which keeps inputs that reach new branches.

Usage:

    python -m tests.safety.coverage_guided DIRECTORY -max_total_time=1800
"""

import sys

import atheris

with atheris.instrument_imports(include=["routes.postgrest", "engine.query.shape", "models.types"]):
    from models.types import Fault
    from routes.postgrest import payload, preferences, querystring

PARSERS = 4


def parse_input(raw: bytes) -> None:
    """Parse one input. Its first byte selects the parser."""
    kind, rest = (raw[0] % PARSERS, raw[1:]) if raw else (0, b"")
    try:
        if kind == 0:
            querystring.parse(rest)
        elif kind == 1:
            preferences.parse_prefer(rest.decode("latin-1"))
        elif kind == 2:
            payload.parse_payload(rest, "application/json")
        else:
            payload.parse_payload(rest, "text/csv")
    except Fault:
        return


if __name__ == "__main__":
    atheris.Setup(sys.argv, parse_input)
    atheris.Fuzz()
