"""`python -m tests.support.private_server COMMAND …`: run a command beside a temporary PostgreSQL server.

The programs are on the PATH or in Debian's directory. The server runs in a temporary directory, listens on a Unix
socket only, and does not flush to disk. PostgreSQL refuses to run as root, so root runs it as the user `postgres`.
"""

import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

VERSIONS = ("15", "16", "17", "18")
NOT_INSTALLED = 3  # exit status

SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "autovacuum": "off",  # plans must not depend on when it runs
    "max_connections": "600",
    "shared_buffers": "128MB",
}


def find_programs() -> pathlib.Path | None:
    """Return the directory of initdb and pg_ctl, or None."""
    on_path = shutil.which("postgres")
    found = [pathlib.Path(on_path).resolve().parent] if on_path is not None else []
    found += [pathlib.Path(f"/usr/lib/postgresql/{version}/bin") for version in VERSIONS]
    return next((each for each in found if (each / "initdb").exists()), None)


@contextmanager
def running_server(programs: pathlib.Path, **settings: str) -> Iterator[pathlib.Path]:
    """Run a server with these settings. Yields its directory with `data` and the socket."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="walkthrough-"))
    try:
        if os.getuid() == 0:
            shutil.chown(directory, "postgres")
        run(programs / "initdb", "-D", directory / "data", "-U", "walkthrough", "--auth=trust",
            "--no-sync", "--encoding=UTF8", "--locale=C.UTF-8")  # fmt: skip
        with started_server(programs, directory, **settings):
            yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def started_server(programs: pathlib.Path, directory: pathlib.Path, **settings: str) -> Iterator[None]:
    """Run the server over `directory/data`."""
    chosen = SETTINGS | {"unix_socket_directories": str(directory)} | settings
    options = " ".join(f"-c {name}={shlex.quote(value)}" for name, value in chosen.items())
    control = (programs / "pg_ctl", "-D", directory / "data", "-w", "-s")
    run(*control, "-l", directory / "log", "-o", options, "start")
    try:
        yield
    finally:
        run(*control, "-m", "immediate", "stop")


def run(*words: object) -> None:
    """Run a program of PostgreSQL, as `postgres` if the user is root."""
    command = [str(word) for word in words]
    if os.getuid() == 0:
        command = ["su", "postgres", "-s", "/bin/sh", "-c", shlex.join(command)]
    finished = subprocess.run(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if finished.returncode:
        sys.exit(f"walkthrough: {shlex.join(command)}: {finished.stdout.decode()}")


def main(command: list[str]) -> int:
    programs = find_programs()
    if programs is None:
        print("walkthrough: not tested on PostgreSQL: there is none on the PATH or in /usr/lib/postgresql")
        return NOT_INSTALLED
    # SIGTERM stops the server too. An interrupt ends the command in `run`.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with running_server(programs) as directory:
        server = f"postgresql+psycopg://walkthrough@/{{database}}?host={directory}"
        return subprocess.run(command, env=os.environ | {"WALKTHROUGH_TEST_SERVER": server}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
