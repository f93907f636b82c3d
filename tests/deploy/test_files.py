"""The files of `deploy/`: each is valid, and agrees with the product."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from config import PROJECT
from settings import SETTINGS

DEPLOY = PROJECT / "deploy"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "walkthrough.service"
    text = (DEPLOY / "walkthrough.service").read_text(encoding="utf-8")
    unit.write_text(text.replace("/opt/walkthrough", str(PROJECT)), encoding="utf-8")

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, check=False
    )

    lines = [line for line in done.stderr.splitlines() if unit.name in line]
    assert (done.returncode, lines) == (0, [])


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
def test_unit_is_hardened() -> None:
    words = ["systemd-analyze", "security", "--offline=true", "--no-pager", str(DEPLOY / "walkthrough.service")]

    done = subprocess.run(words, capture_output=True, text=True, check=True)

    found = re.search(r"Overall exposure level for \S+ ([0-9.]+)", done.stdout)
    assert found, done.stdout
    assert float(found[1]) <= 2.5


@pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is not installed")
def test_caddy_accepts_its_file(tmp_path: Path) -> None:
    words = ["caddy", "adapt", "--adapter", "caddyfile", "--config", str(DEPLOY / "Caddyfile")]

    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    )

    assert done.returncode == 0, done.stderr
    assert "not formatted" not in done.stderr


def test_compose_starts_the_image_with_settings_of_the_product() -> None:
    for name in ("compose.yaml", "compose.postgres.yaml"):
        document = yaml.safe_load((DEPLOY / name).read_text(encoding="utf-8"))
        service = document["services"]["walkthrough"]
        dockerfile = DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]

        assert dockerfile.resolve() == DEPLOY / "Dockerfile"
        assert set(service.get("environment", {})) <= set(SETTINGS)
        for each in document["services"].values():
            assert {volume.partition(":")[0] for volume in each.get("volumes", ())} <= set(document["volumes"])
            assert set(each.get("depends_on", ())) <= set(document["services"])


def test_image_runs_without_root_over_a_volume() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    steps = [line.partition(" ")[::2] for line in lines if not line.startswith("#")]
    words = [step for step, _ in steps]

    assert words.index("HEALTHCHECK") < words.index("CMD")
    assert words.index("USER") < words.index("CMD")
    assert ("USER", "root") not in steps
    assert ("VOLUME", "/data") in steps
    assert "DATABASE_URL=sqlite:////data/walkthrough.db" in dict(steps)["ENV"]
    for path in re.findall(r"COPY (\S+)", "\n".join(lines)):
        assert (PROJECT / path).exists()
    assert not [name for name in re.findall(r"([A-Z_]+)=", dict(steps)["ENV"]) if name not in SETTINGS]


def test_help_is_printed_without_an_installation(tmp_path: Path) -> None:
    """In a copy of the script alone, an installation would fail."""
    (tmp_path / "bin").mkdir()
    shutil.copy(PROJECT / "bin" / "serve", tmp_path / "bin" / "serve")

    for word in ("--help", "-h"):
        done = subprocess.run([tmp_path / "bin" / "serve", word], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("usage: bin/serve ")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["bin", "serve"]
