"""Patroni replaces a killed primary and switches over: nothing acknowledged is lost, nothing revoked is shown."""

from collections.abc import Iterator

import pytest

from tests.cluster.__main__ import VISITS, suffer
from tests.cluster.load import Load
from tests.cluster.nodes import NodeCluster, missing_programs, running_cluster
from tests.cluster.rows import rows_with_passwords

pytestmark = pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}")


@pytest.fixture(scope="module")
def cluster() -> Iterator[NodeCluster]:
    with running_cluster(rows_with_passwords()) as running:
        yield running


@pytest.mark.parametrize("kind", ["crash", "switchover"])
def test_failover_keeps_what_was_acknowledged(cluster: NodeCluster, kind: str) -> None:
    old = cluster.primary()
    with Load(cluster.port) as load:
        suffer(cluster, load, kind)

    assert cluster.primary() is not old
    assert load.lost(cluster.sql(VISITS)) == []
    assert load.record.stale == []
    assert load.record.unanswered == []
    assert load.record.revocations
    assert load.record.closed
    assert load.record.sessions
