"""Write a demo portfolio with new passwords: `python -m demo --today 2026-11-20 --seed 1 > portfolio.json`."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, date, datetime

from demo.portfolio import SEED, compose, with_passwords


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    today = datetime.now(UTC).date()
    parser.add_argument("--today", type=date.fromisoformat, default=today, metavar="YYYY-MM-DD")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    portfolio, _ = with_passwords(compose(options.today, options.seed))
    json.dump(portfolio, sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main(sys.argv[1:])
