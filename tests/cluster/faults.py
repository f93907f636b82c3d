"""What goes wrong in a cluster. Each fault lasts for a block, and is repaired after it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from tests.cluster.nodes import Node, NodeCluster, wait

Fault = Callable[[NodeCluster], AbstractContextManager[None]]
AWAY_SECONDS = 10.0


def wait_for_another(cluster: NodeCluster, old: Node) -> None:
    wait(lambda: any(each.is_primary for each in cluster.nodes if each is not old), "another node is the primary")


@contextmanager
def kill(cluster: NodeCluster) -> Iterator[None]:
    """Kill -9 of the primary's processes. Its Patroni starts it again, or leaves the role to a standby."""
    old = cluster.primary()
    killed = old.server_pids()[0]
    old.signal_server(signal.SIGKILL)
    wait(lambda: killed not in cluster.primary().server_pids(), "a new process is the primary")
    yield


@contextmanager
def crash(cluster: NodeCluster) -> Iterator[None]:
    """Kill -9 of the primary and its Patroni."""
    old = cluster.primary()
    old.crash()
    wait_for_another(cluster, old)
    yield
    old.start_patroni()


@contextmanager
def freeze(cluster: NodeCluster) -> Iterator[None]:
    """SIGSTOP of the primary and its Patroni, and SIGCONT after another node has taken over."""
    old = cluster.primary()
    old.signal("patroni", signal.SIGSTOP)
    old.signal_server(signal.SIGSTOP)
    try:
        wait_for_another(cluster, old)
        yield
    finally:
        old.signal_server(signal.SIGCONT)
        old.signal("patroni", signal.SIGCONT)


@contextmanager
def switchover(cluster: NodeCluster) -> Iterator[None]:
    cluster.switch_over()
    yield


@contextmanager
def one_standby(cluster: NodeCluster) -> Iterator[None]:
    """Loss of the synchronous standby."""
    primary = cluster.primary()
    [name] = [each["application_name"] for each in primary.status()["replication"] if each["sync_state"] == "sync"]
    [lost] = [each for each in cluster.nodes if each.name == name]
    lost.crash()
    time.sleep(AWAY_SECONDS)
    yield
    lost.start_patroni()


@contextmanager
def both_standbys(cluster: NodeCluster) -> Iterator[None]:
    lost = cluster.standbys()
    for each in lost:
        each.crash()
    time.sleep(AWAY_SECONDS)
    yield
    for each in lost:
        each.start_patroni()


@contextmanager
def etcd(cluster: NodeCluster) -> Iterator[None]:
    """Loss of all members of etcd."""
    for each in cluster.nodes:
        each.signal("etcd", signal.SIGKILL)
    time.sleep(AWAY_SECONDS * 2)
    yield
    for each in cluster.nodes:
        each.start_etcd()


@contextmanager
def partition(cluster: NodeCluster) -> Iterator[None]:
    """The primary's node loses its network."""
    old = cluster.primary()
    old.cut_off()
    try:
        wait_for_another(cluster, old)
        yield
    finally:
        old.cut_off(is_away=False)


FAULTS: dict[str, Fault] = {
    "kill": kill,
    "crash": crash,
    "freeze": freeze,
    "switchover": switchover,
    "one-standby": one_standby,
    "both-standbys": both_standbys,
    "etcd": etcd,
    "partition": partition,
}
