"""bin/venv.sh and the requirements files: interrupted installations are repeated, and all files pin the same
versions.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config import PROJECT

pytestmark = [pytest.mark.sqlite("no database has a part in it"), pytest.mark.slow]

PIN = re.compile(r"^([\w.-]+)(?:\[\w+\])?==([^ ;\\]+)", re.MULTILINE)
MAKE = ". bin/venv.sh && make_venv requirements.txt"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project without requirements, so that nothing is downloaded."""
    (tmp_path / "bin").mkdir()
    shutil.copy(PROJECT / "bin" / "venv.sh", tmp_path / "bin")
    (tmp_path / "requirements.txt").write_text("# nothing\n")
    return tmp_path


def make(place: Path) -> tuple[int, str]:
    done = subprocess.run(["sh", "-euc", MAKE], cwd=place, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


def require_made(place: Path) -> None:
    assert (place / ".venv" / "installed-requirements.txt").read_text() == "# nothing\n"
    assert subprocess.run([place / ".venv/bin/python", "-c", "import pip"], check=False).returncode == 0
    assert make(place) == (0, "")


def test_pythonsafepath_is_unset(place: Path) -> None:
    said = subprocess.run(
        ["sh", "-euc", ". bin/venv.sh; echo ${PYTHONSAFEPATH-unset}"],
        cwd=place, env={**os.environ, "PYTHONSAFEPATH": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert said.stdout == "unset\n"


@pytest.mark.parametrize(
    ("kinds", "chosen"),
    [
        (("quick", "quick"), 0),
        (("slow", "quick"), 1),
        (("slow", "slow"), 0),
        (("bare", "slow"), 1),
        (("bare", ""), 0),
        (("", ""), None),
    ],
)
def test_first_optimized_python_is_chosen(tmp_path, kinds, chosen):
    names = []
    for number, kind in enumerate(kinds):
        python = tmp_path / f"python{number}"
        python.write_text(f"#!/bin/sh\necho {kind}\n")
        python.chmod(0o755)
        names.append(str(python))

    done = subprocess.run(
        ["sh", "-euc", ". bin/venv.sh; find_python"],
        cwd=PROJECT, env={**os.environ, "PYTHON": " ".join(names)}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    if chosen is None:
        assert (done.returncode, done.stdout) == (1, "")
        assert "Python 3.11 or later is needed" in done.stderr
    else:
        assert (done.returncode, done.stdout, done.stderr) == (0, names[chosen] + "\n", "")


def test_kind_of_python_is_detected():
    tell = [sys.executable, "-c", "import sysconfig; print(sysconfig.get_config_var('CONFIG_ARGS'))"]
    built = subprocess.run(tell, capture_output=True, text=True, check=True).stdout
    is_quick = sys.base_prefix == "/usr" or "--enable-optimizations" in built

    done = subprocess.run(
        ["sh", "-euc", '. bin/venv.sh; "$PYTHON" -c "$KIND"'],
        cwd=PROJECT, env={**os.environ, "PYTHON": sys.executable}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == ("quick\n" if is_quick else "slow\n")


@pytest.mark.long
def test_environment_without_pip_is_recreated(place):
    """The interpreter exists long before pip does."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=place, check=True)

    assert make(place)[0] == 0

    require_made(place)


@pytest.mark.long
def test_concurrent_installations_are_serialized(place):
    """Otherwise each would remove what the other installs."""
    with (place / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = subprocess.Popen(["sh", "-euc", MAKE], cwd=place, stderr=subprocess.PIPE, text=True)

        expected = second.stderr.readline()

        assert expected == "walkthrough: waiting for another start that is installing into .venv\n"
        assert not (place / ".venv").exists()
    assert second.wait(timeout=120) == 0
    second.stderr.close()
    require_made(place)


@pytest.mark.long
def test_interrupted_installation_is_repeated(place):
    """pip treats a package with metadata as installed, even if files are missing."""
    fails = place / "fake"
    fails.write_text('#!/bin/sh\n[ "$2" != pip ] || { touch .venv/half; kill -9 $$; }\n')
    fails.chmod(0o755)
    (place / ".venv" / "bin").mkdir(parents=True)
    (place / ".venv" / "bin" / "python").symlink_to(fails)
    assert make(place)[0] == 137
    assert (place / ".venv" / "half").exists()
    (place / ".venv" / "bin" / "python").unlink()
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=place, check=True)

    assert make(place)[0] == 0

    assert not (place / ".venv" / "half").exists()
    require_made(place)


@pytest.mark.long
def test_failed_installation_keeps_the_environment(place):
    assert make(place)[0] == 0
    (place / "requirements.txt").write_text("no-such-package-as-this\n")  # without a hash
    (place / ".venv" / "kept").touch()

    assert make(place)[0] == 1

    (place / "requirements.txt").write_text("# nothing\n")
    require_made(place)
    assert (place / ".venv" / "kept").exists()


def test_requirements_files_pin_the_same_versions() -> None:
    """The tested versions are the deployed ones."""
    pinned: dict[str, set[str]] = {}
    for path in (PROJECT / "requirements.txt", *(PROJECT / "requirements").glob("*.txt")):
        for name, version in PIN.findall(path.read_text(encoding="utf-8")):
            pinned.setdefault(name, set()).add(version)

    assert {name: versions for name, versions in pinned.items() if len(versions) > 1} == {}


def test_packages_of_service_are_installed_for_tests() -> None:
    """`bin/test` installs requirements/dev.txt and not requirements.txt: a package pinned only there is missing."""
    service = set(PIN.findall((PROJECT / "requirements.txt").read_text(encoding="utf-8")))
    tests = set(PIN.findall((PROJECT / "requirements" / "dev.txt").read_text(encoding="utf-8")))

    assert service - tests == set()
