"""Print the violations of the rules of style.

Without arguments, `python -m tests.style.report` prints the number for each folder and rule. With paths, such as
`access docs/SAFETY.md`, it prints each violation below these paths; `.` is the whole project.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence

from tests.style.checks import CHECKS, DOCUMENTS_WORDS_MAX, SHARED_FUNCTIONS_MAX, document_words, shared_functions


def folder(path: str) -> str:
    """Return the first two folders of a path, or the file's name if it is at the top.

    >>> folder("routes/console/pages.py"), folder("models/db.py"), folder("docs/SAFETY.md"), folder("app.py")
    ('routes/console', 'models', 'docs', 'app.py')
    """
    parts = path.split("/")
    return path if len(parts) == 1 else "/".join(parts[:-1][:2])


def print_violations(folders: Sequence[str]) -> None:
    violations = sorted(each for check in CHECKS.values() for each in check(folders))
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations", file=sys.stderr)


def print_summary() -> None:
    counted = Counter((folder(each.path), rule) for rule, check in CHECKS.items() for each in check([""]))
    folders = sorted({each for each, _ in counted})
    width = max(map(len, folders), default=0)
    print(" " * width, *CHECKS, sep="  ")
    for each in [*folders, ""]:
        numbers = (
            sum(count for (where, which), count in counted.items() if which == rule and each in {where, ""})
            for rule in CHECKS
        )
        cells = (f"{number:>{len(rule)}}" for number, rule in zip(numbers, CHECKS, strict=True))
        print(f"{each or 'all':<{width}}", *cells, sep="  ")
    print(f"{sum(document_words(['']).values())} of {DOCUMENTS_WORDS_MAX} words of documents")
    print(f"{len(shared_functions(['']))} of {SHARED_FUNCTIONS_MAX} function names in more than two modules")


def main(arguments: Sequence[str]) -> None:
    if arguments:
        print_violations([each.removeprefix("./").rstrip("/").removeprefix(".") for each in arguments])
    else:
        print_summary()


if __name__ == "__main__":
    main(sys.argv[1:])
