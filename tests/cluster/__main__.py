"""`python -m tests.cluster`: a cluster of three nodes with the service. `python -m tests.cluster kill 10 freeze 10`:
ten faults of each kind under load, and a table of what they did."""

from __future__ import annotations

import signal
import statistics
import sys
import time

from tests.cluster.faults import FAULTS
from tests.cluster.load import Load
from tests.cluster.nodes import NodeCluster, missing_programs, running_cluster, wait
from tests.cluster.rows import rows_with_passwords

SETTLED_SECONDS = 2.0
VISITS = "SELECT id, status FROM inspections"


def suffer(cluster: NodeCluster, load: Load, kind: str) -> float:
    """Run one fault and repair it. Return the longest time without an acknowledged write."""
    time.sleep(SETTLED_SECONDS)
    start = time.monotonic()
    with FAULTS[kind](cluster):
        time.sleep(SETTLED_SECONDS)
    cluster.wait_until_whole()
    known = len(load.record.acknowledged_at)
    wait(lambda: len(load.record.acknowledged_at) > known, "writes go on")
    gap = load.record.longest_gap(start, time.monotonic())
    print(f"{kind}: {gap:.1f} s", file=sys.stderr, flush=True)
    return gap


def measure(kind: str, times: int) -> None:
    with running_cluster(rows_with_passwords(), has_namespaces=kind == "partition") as cluster:
        with Load(cluster.port) as load:
            gaps = [suffer(cluster, load, kind) for _ in range(times)]
        record, lost = load.record, load.lost(cluster.sql(VISITS))
    print(
        f"| {kind} | {times} | {statistics.median(gaps):.1f} | {max(gaps):.1f} | {len(record.acknowledged_at)}"
        f" | {len(lost)} | {record.pairs} | {record.revocations} | {len(record.stale)} | {len(record.unanswered)}"
        f" | {record.statuses[503]} of {record.statuses.total()} |",
        flush=True,
    )
    for each in (*lost, *record.stale, *record.unanswered)[:10]:
        print(f"    {each}", flush=True)


def main(arguments: list[str]) -> None:
    if missing := missing_programs():
        sys.exit(f"walkthrough: not installed: {', '.join(missing)}")
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    if not arguments:
        with running_cluster(rows_with_passwords()) as cluster:
            print(f"http://127.0.0.1:{cluster.port} over {cluster.database_url()}", flush=True)
            input("Enter stops the cluster. ")
        return
    print("| fault | times | median s | longest s | writes | lost | pairs | revocations | stale | unanswered | 503 |")
    for kind, times in zip(arguments[::2], arguments[1::2], strict=True):
        measure(kind, int(times))


if __name__ == "__main__":
    main(sys.argv[1:])
