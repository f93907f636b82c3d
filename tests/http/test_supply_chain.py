"""Attack catalogue, group H: dependencies, and network connections. Marks name the entries."""

import ast
import re
from pathlib import Path

import pytest

from tests.durability.served import PROJECT, Served
from tests.http.service import RUNNING_SERVICE
from tests.support.raw import socket_inodes, tcp_rows

pytestmark = [RUNNING_SERVICE, pytest.mark.one_engine]
# H15: supply chain

PINNED_LINE = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*)==[0-9][^ ]*(?: ; .*)?(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)"
)
OPTION_LINE = re.compile(r"--only-binary [a-z0-9-]+")
NETWORK_MODULES = {
    "urllib.request",
    "http.client",
    "requests",
    "httpx",
    "aiohttp",
    "ftplib",
    "smtplib",
    "pip",
    "urllib3",
}
PACKAGES = ("access", "demo", "models", "routes", "serving")


def lock_files() -> list[Path]:
    return [PROJECT / "requirements.txt", *sorted((PROJECT / "requirements").glob("*.txt"))]


@pytest.mark.parametrize("lock_file", lock_files(), ids=lambda path: path.name)
@pytest.mark.attack(entry="H15")
def test_every_package_is_pinned_with_hashes(lock_file: Path) -> None:
    joined = lock_file.read_text().replace("\\\n", " ")
    lines = [re.sub(r"\s+", " ", line).strip() for line in joined.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]

    packages = [line for line in lines if not OPTION_LINE.fullmatch(line)]

    assert packages
    assert [line for line in packages if not PINNED_LINE.fullmatch(line)] == []
    wanted = re.findall(r"^[A-Za-z0-9][A-Za-z0-9._-]*", lock_file.with_suffix(".in").read_text(), re.MULTILINE)
    names = {PINNED_LINE.fullmatch(line)["name"] for line in packages}
    missing = {re.sub(r"[-_.]+", "-", name).lower() for name in wanted} - names
    assert missing == set()


@pytest.mark.attack(entry="H15")
def test_installation_requires_hashes() -> None:
    installing = (PROJECT / "bin" / "venv.sh").read_text()

    assert re.findall(r"pip install (?!.*--require-hashes).*", installing) == []
    assert "--require-hashes" in installing


@pytest.mark.attack(entry="H15")
def test_product_imports_no_network_client() -> None:
    files = [PROJECT / name for name in ("app.py", "config.py", "gunicorn.conf.py", "wsgi.py")]
    files += [file for package in PACKAGES for file in (PROJECT / package).rglob("*.py")]
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {(file.name, alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {(file.name, node.module)}

    assert [each for each in found if each[1] in NETWORK_MODULES or each[1].split(".")[0] in NETWORK_MODULES] == []


@pytest.mark.attack(entry="H15")
def test_running_service_opens_no_outgoing_connection(service: Served) -> None:
    sockets = {inode for pid in service.workers() for inode in socket_inodes(pid)}

    local = {row[1] for row in tcp_rows() if row[9] in sockets}

    assert local
    assert {int(address.split(":")[1], 16) for address in local} == {service.port}
    assert {address.split(":")[0] for address in local} == {"0100007F"}
