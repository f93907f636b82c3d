"""Node, supabase-js and ical.js, installed once from the npm registry into js/node_modules. Tests skip without them."""

import fcntl
import re
import shutil
import subprocess
from pathlib import Path

import pytest

JS = Path(__file__).parent / "js"
MODULES = JS / "node_modules"
NODE = MODULES / ".bin" / "node"
LOCK = JS / "package-lock.json"

INSTALL_SECONDS_MAX = 240

# Messages of npm and Node for network errors, as opposed to errors of the lock file.
UNREACHABLE = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT"
    r"|ENOTCACHED|UNABLE_TO_\w+|SELF_SIGNED_\w+|E40[137]|E50\d|network"
)


def installed() -> Path:
    """Return node_modules with the packages of package-lock.json."""
    npm = shutil.which("npm")
    with LOCK.open() as guard:  # several test processes may install at once
        fcntl.flock(guard, fcntl.LOCK_EX)
        if is_current():
            return MODULES
        if npm is None:
            pytest.skip("npm is not installed: supabase-js cannot be had")
        install(npm)
    return MODULES


def is_current() -> bool:
    stamp = MODULES / ".installed"
    return stamp.exists() and stamp.read_bytes() == LOCK.read_bytes() and NODE.exists()


def install(npm: str) -> None:
    command = [npm, "ci", "--no-audit", "--no-fund", "--prefer-offline", "--fetch-retries=1"]
    try:
        ran = subprocess.run(
            command,
            cwd=JS,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm ci took over {INSTALL_SECONDS_MAX} s: supabase-js cannot be had")
    if ran.returncode and (cause := UNREACHABLE.search(ran.stdout + ran.stderr)):
        pytest.skip(f"the npm registry cannot be reached ({cause[0]}): supabase-js cannot be had")
    assert ran.returncode == 0, f"npm ci failed: {ran.stdout}{ran.stderr}"
    (MODULES / ".installed").write_bytes(LOCK.read_bytes())
