"""Three PostgreSQL servers under Patroni with etcd, and the service over them, on this machine.

A node is one server with its Patroni and its member of etcd. Nodes have addresses of the loopback network, or network
namespaces of their own, so that a node can be cut off.
"""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import string
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

from tests.support.ports import free_port
from tests.support.private_server import find_programs
from tests.support.tokens import ANON_KEY, SECRET_KEY, SERVICE_KEY

PROJECT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATE = PROJECT / "deploy/cluster/patroni.yaml"
PASSWORD = "of-the-cluster"
NODES = (1, 2, 3)
SECONDS_MAX = 90.0


def missing_programs() -> list[str]:
    missing = [each for each in ("patroni", "etcd", "setpriv") if shutil.which(each) is None]
    return missing if find_programs() is not None else [*missing, "postgresql"]


def wait(condition: Callable[[], object], what: str, seconds_max: float = SECONDS_MAX) -> None:
    deadline = time.monotonic() + seconds_max
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


def run(*words: str) -> None:
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Node:
    """A server, its Patroni and its member of etcd."""

    def __init__(self, cluster: NodeCluster, number: int) -> None:
        self.cluster = cluster
        self.name = f"node{number}"
        self.host = f"{cluster.network}.{number}"
        self.data = cluster.directory / self.name
        self.namespace = f"{cluster.prefix}n{number}" if cluster.prefix else ""
        self.link = f"{cluster.prefix}l{number}"
        self.programs: dict[str, subprocess.Popen[bytes]] = {}

    def add_namespace(self) -> None:
        run("ip", "netns", "add", self.namespace)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        run("ip", "link", "set", self.link, "master", self.cluster.bridge, "up")
        run("ip", "-n", self.namespace, "address", "add", f"{self.host}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run("ip", "-n", self.namespace, "link", "set", device, "up")

    def cut_off(self, *, is_away: bool = True) -> None:
        run("ip", "link", "set", self.link, "down" if is_away else "up")

    def start(self, program: str, *arguments: str) -> None:
        words = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        if os.getuid() == 0:
            words += ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        environ = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": str(self.cluster.directory)}
        with (self.cluster.directory / f"{self.name}.{program}.log").open("ab") as log:
            self.programs[program] = subprocess.Popen(
                [*words, shutil.which(program) or program, *arguments],
                cwd="/", env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def start_etcd(self) -> None:
        peers = ",".join(f"{each.name}=http://{each.host}:2380" for each in self.cluster.nodes)
        peer, client = f"http://{self.host}:2380", f"http://{self.host}:2379"
        self.start(
            "etcd", "--name", self.name, "--data-dir", f"{self.data}.etcd", "--initial-cluster", peers,
            "--initial-advertise-peer-urls", peer, "--listen-peer-urls", peer,
            "--advertise-client-urls", client, "--listen-client-urls", client,
            "--heartbeat-interval", "300", "--election-timeout", "3000", "--unsafe-no-fsync", "--enable-v2",
        )  # fmt: skip

    def start_patroni(self) -> None:
        values = {
            "name": self.name, "host": self.host, "etcd": self.cluster.etcd, "network": f"{self.cluster.network}.0/24",
            "data": str(self.data), "programs": str(find_programs()), "password": PASSWORD,
        }  # fmt: skip
        settings = self.cluster.directory / f"{self.name}.yaml"
        settings.write_text(string.Template(TEMPLATE.read_text()).substitute(values))
        self.start("patroni", str(settings))

    def server_pids(self) -> list[int]:
        """Return the process ids of PostgreSQL: the postmaster first."""
        try:
            postmaster = int((self.data / "postmaster.pid").read_text().splitlines()[0])
            children = pathlib.Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        except (OSError, IndexError, ValueError):
            return []
        return [postmaster, *map(int, children)]

    def signal_server(self, number: signal.Signals) -> None:
        for pid in self.server_pids():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def signal(self, program: str, number: signal.Signals) -> None:
        with suppress(KeyError, ProcessLookupError):
            os.killpg(self.programs[program].pid, number)
        if number == signal.SIGKILL and program in self.programs:
            self.programs[program].wait()

    def crash(self) -> None:
        """Kill Patroni and the server, as if the host had lost its power."""
        self.signal("patroni", signal.SIGKILL)
        self.signal_server(signal.SIGKILL)

    def status(self) -> dict:
        """Return what Patroni says of its node, or nothing."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:8008/patroni", timeout=2) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            return json.load(error)
        except (OSError, ValueError):
            return {}

    @property
    def is_primary(self) -> bool:
        status = self.status()
        return status.get("role") in ("master", "primary") and status.get("state") == "running"


class NodeCluster:
    """The nodes, and the service over them."""

    def __init__(self, *, has_namespaces: bool) -> None:
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="walkthrough-cluster-"))
        self.directory.chmod(0o755)
        if os.getuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        octet = random.randint(2, 250)
        self.network = f"10.{octet}.7" if has_namespaces else f"127.{octet}.7"
        self.prefix = f"wt{octet}" if has_namespaces else ""
        self.bridge = f"{self.prefix}b"
        self.nodes = [Node(self, number) for number in NODES]
        self.etcd = ",".join(f"{each.host}:2379" for each in self.nodes)
        self.service: subprocess.Popen[bytes] | None = None
        self.port = free_port()

    def database_url(self) -> str:
        hosts = ",".join(each.host for each in self.nodes)
        server = f"postgresql+psycopg://postgres:{PASSWORD}@/walkthrough?host={hosts}&port=5432,5432,5432"
        return f"{server}&target_session_attrs=read-write&connect_timeout=2"

    def read_urls(self) -> str:
        return ",".join(f"postgresql+psycopg://postgres:{PASSWORD}@{each.host}/walkthrough" for each in self.nodes)

    def start(self) -> None:
        if self.prefix:
            run("ip", "link", "add", self.bridge, "type", "bridge")
            run("ip", "address", "add", f"{self.network}.254/24", "dev", self.bridge)
            run("ip", "link", "set", self.bridge, "up")
            for node in self.nodes:
                node.add_namespace()
        for node in self.nodes:
            node.start_etcd()
        for node in self.nodes:
            node.start_patroni()
        self.wait_until_whole()
        self.sql("CREATE DATABASE walkthrough", database="postgres")

    def sql(self, statement: str, database: str = "walkthrough") -> list[Any]:
        """Run a statement on the primary, without the service."""
        import psycopg

        host = self.primary().host
        with psycopg.connect(
            host=host, user="postgres", password=PASSWORD, dbname=database, autocommit=True
        ) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description is not None else []

    @property
    def environ(self) -> dict[str, str]:
        return {
            **os.environ, "DATABASE_URL": self.database_url(), "DATABASE_READ_URL": self.read_urls(),
            "SECRET_KEY": SECRET_KEY, "ANON_KEY": ANON_KEY, "SERVICE_KEY": SERVICE_KEY,
            "HOST": "127.0.0.1", "PORT": str(self.port), "LOG_LEVEL": "warning",
        }  # fmt: skip

    def start_service(self, rows: pathlib.Path) -> None:
        """Import rows and start gunicorn."""
        words = [sys.executable, "-m", "flask", "--app", "app", "import", str(rows)]
        subprocess.run(words, cwd=PROJECT, env=self.environ, check=True, stdout=subprocess.DEVNULL)
        with (self.directory / "service.log").open("ab") as log:
            self.service = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", "wsgi:app"],
                cwd=PROJECT, env=self.environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        wait(self.is_ready, "the service answers")

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=10):
                return True
        except OSError:
            return False

    def primary(self) -> Node:
        wait(lambda: any(each.is_primary for each in self.nodes), "there is a primary")
        return next(each for each in self.nodes if each.is_primary)

    def is_whole(self) -> bool:
        """Return whether one primary has two standbys that stream, one of them synchronous."""
        replication = [each.status().get("replication", []) for each in self.nodes if each.is_primary]
        if len(replication) != 1:
            return False
        states = [(each["state"], each["sync_state"]) for each in replication[0]]
        return [state for state, _ in states] == ["streaming"] * 2 and "sync" in [sync for _, sync in states]

    def wait_until_whole(self) -> None:
        wait(self.is_whole, f"the cluster is whole: {[each.status() for each in self.nodes]}")

    def standbys(self) -> list[Node]:
        primary = self.primary()
        return [each for each in self.nodes if each is not primary]

    def switch_over(self) -> None:
        """Ask Patroni to make a synchronous standby the primary. It refuses (412) while it sees no such standby."""
        wait(lambda: self.ask_for_switchover() == http.HTTPStatus.OK, "a switchover")

    def ask_for_switchover(self) -> int:
        """Return Patroni's status."""
        primary = self.primary()
        connection = http.client.HTTPConnection(primary.host, 8008, timeout=60)
        with closing(connection):
            connection.request("POST", "/switchover", json.dumps({"leader": primary.name}))
            answer = connection.getresponse()
            text = answer.read()
        assert answer.status in (http.HTTPStatus.OK, http.HTTPStatus.PRECONDITION_FAILED), text
        return answer.status

    def stop(self) -> None:
        if self.service is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.service.pid, signal.SIGKILL)
            self.service.wait()
        for node in self.nodes:
            node.signal("patroni", signal.SIGKILL)
        for node in self.nodes:
            node.signal_server(signal.SIGKILL)
            node.signal("etcd", signal.SIGKILL)
        if self.prefix:
            for node in self.nodes:
                subprocess.run(["ip", "netns", "delete", node.namespace], check=False)
            subprocess.run(["ip", "link", "delete", self.bridge], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


@contextmanager
def running_cluster(rows: pathlib.Path, *, has_namespaces: bool = False) -> Iterator[NodeCluster]:
    cluster = NodeCluster(has_namespaces=has_namespaces)
    try:
        cluster.start()
        cluster.start_service(rows)
        yield cluster
    finally:
        cluster.stop()
