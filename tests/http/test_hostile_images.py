"""A crowd of costly pictures and calls does not stop the service: what others ask is answered, and memory is bounded.

`test_others_are_answered` prints the medians that it measured. It asserts answers and memory, and no time.
"""

import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.client import HTTPException
from pathlib import Path

import pytest
from PIL import Image

from tests.durability.served import Served, serving
from tests.http.service import MIB, RUNNING_SERVICE, ask, served_over
from tests.support import hostile_images as hostile

pytestmark = [RUNNING_SERVICE, pytest.mark.one_engine]

ATTACK_SECONDS = 20.0
UPLOADERS, VIEWERS, REMOVERS = 90, 64, 4
WORKER_BYTES_MAX, WORKERS_BYTES_MAX = 200 * MIB, 400 * MIB
OBJECT = "/storage/v1/object"
RENDER = "/storage/v1/render/image/authenticated"
MARKS = "e" + "\u0301" * 4_080
FORTY_NINE = (7_000, 7_000)


@pytest.fixture
def service(base_file: Path, tmp_path: Path) -> Iterator[Served]:
    with serving(served_over(base_file, tmp_path / "served")) as running:
        yield running


def peaks(service: Served) -> list[int]:
    """Return the most memory that each worker has had so far, in bytes."""
    found = []
    for pid in service.workers():
        status = Path(f"/proc/{pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        found.append(int(line.split()[1]) * 1_024)
    return found


def upload(service: Served, name: str, body: bytes, who: str = "ada") -> int:
    return ask(service, who, "POST", f"{OBJECT}/{name}", body, Content_Type="application/octet-stream").status


# Memory of one thumbnail

LARGE_IMAGES: dict[str, tuple[Callable[[], bytes], set[int]]] = {
    "WebP with alpha": (
        lambda: hostile.encoded(Image.new("RGBA", FORTY_NINE, (1, 2, 3, 4)), "WEBP", lossless=True), {400}),
    "palette PNG": (lambda: hostile.encoded(Image.new("P", FORTY_NINE), "PNG"), {400}),
    "palette PNG with transparency": (
        lambda: hostile.encoded(Image.new("P", (3_400, 3_400)), "PNG", transparency=0), {200, 400}),
    "JPEG of a telephone": (
        lambda: hostile.encoded(Image.effect_noise((8_160, 6_120), 20).convert("RGB"), "JPEG", quality=60), {200}),
    "tall JPEG": (lambda: hostile.encoded(Image.new("RGB", (3_190, 16_000)), "JPEG"), {200}),
    "progressive JPEG": (
        lambda: hostile.encoded(
            Image.effect_noise((4_000, 3_000), 20).convert("RGB"), "JPEG", progressive=True, subsampling=0), {200}),
    "largest WebP": (
        lambda: hostile.encoded(Image.effect_noise((2_000, 2_000), 90).convert("RGB"), "WEBP", lossless=True), {200}),
    "largest PNG": (lambda: hostile.encoded(Image.new("RGB", (4_000, 3_000)), "PNG"), {200}),
}  # fmt: skip
"""What is stored, and the statuses that its thumbnails may have: the widths take different memory."""


def test_worker_stays_below_its_memory_with_any_image(service: Served) -> None:
    for number, (name, (content, statuses)) in enumerate(LARGE_IMAGES.items()):
        assert upload(service, f"inspections/1/{number}.bin", content()) == 200, name
        for width in (160, 640, 1_600):
            answer = ask(service, "ada", "GET", f"{RENDER}/inspections/1/{number}.bin?width={width}")
            assert answer.status in statuses, (name, width, answer.body)
    print("most memory of the workers in MiB:", [peak // MIB for peak in peaks(service)])
    assert max(peaks(service)) < WORKER_BYTES_MAX


# A crowd


class Crowd:
    """Threads that repeat an action until the end, and count its statuses."""

    def __init__(self, service: Served) -> None:
        self.service, self.stop = service, threading.Event()
        self.statuses: dict[str, dict[int, int]] = {}
        self.threads: list[threading.Thread] = []
        self.lock = threading.Lock()

    def repeat(self, name: str, count: int, who: str, request: Callable[[int, int], tuple]) -> None:
        """Start threads that send `request(thread, turn)`: method, path, body and headers."""

        def run(number: int) -> None:
            turn = 0
            with closing(self.service.consumer(who, timeout=120)) as consumer:
                while not self.stop.is_set():
                    turn += 1
                    method, path, body, headers = request(number, turn)
                    with suppress(OSError, HTTPException):
                        self.note(name, consumer.send(method, path, body, **headers).status)

        self.threads += [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]

    def note(self, name: str, status: int) -> None:
        with self.lock:
            counts = self.statuses.setdefault(name, {})
            counts[status] = counts.get(status, 0) + 1

    def __enter__(self) -> "Crowd":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join(120)


def test_others_are_answered_during_an_attack(service: Served) -> None:
    """The attackers are of client 1. The person whose answers count is of client 2."""
    cut = hostile.progressive((8_000, 6_000), 99)[:-200]
    for name, body in (("slow.jpg", cut), ("head.jpg", hostile.EXIF_SEGMENTS)):
        assert upload(service, f"inspections/1/{name}", body) == 200
    sent = {"Content_Type": "image/jpeg", "x_upsert": "true"}
    removal = json.dumps({"prefixes": [f"1/{number}{MARKS}" for number in range(120)]}, ensure_ascii=False).encode()
    assert len(removal) < MIB
    crowd = Crowd(service)
    crowd.repeat("uploads", UPLOADERS - 30, "ada", lambda number, turn: (
        "POST", f"{OBJECT}/inspections/1/{number}.jpg", hostile.EXIF_SEGMENTS, sent))  # fmt: skip
    crowd.repeat(
        "heads", 30, "ada", lambda number, turn: ("GET", f"{RENDER}/inspections/1/head.jpg?width=640", None, {})
    )
    crowd.repeat("views", VIEWERS, "ada", lambda number, turn: (
        "GET", f"{RENDER}/inspections/1/slow.jpg?width={(160, 640, 1_600)[turn % 3]}", None, {}))  # fmt: skip
    crowd.repeat("removals", REMOVERS, "moe", lambda number, turn: (
        "DELETE", f"{OBJECT}/inspections", removal, {}))  # fmt: skip
    questions = {
        "GET /live": lambda consumer, turn: consumer.send("GET", "/live"),
        "row by id": lambda consumer, turn: consumer.send("GET", "/buildings?id=eq.4"),
        "PATCH": lambda consumer, turn: consumer.send("PATCH", "/buildings?id=eq.4", {"address": f"{turn}"}),
    }
    times: dict[str, list[float]] = {name: [] for name in questions}
    refused: list[tuple[str, int, bytes]] = []
    with closing(service.consumer("bob")) as consumer:
        for name, question in questions.items():
            assert question(consumer, 0).status in (200, 204), name
        with crowd:
            ends_at = time.monotonic() + ATTACK_SECONDS
            while time.monotonic() < ends_at:
                for name, question in questions.items():
                    began = time.monotonic()
                    answer = question(consumer, len(times[name]))
                    times[name].append(time.monotonic() - began)
                    if answer.status not in (200, 204):
                        refused.append((name, answer.status, answer.body))
    most = peaks(service)
    medians = {name: f"{statistics.median(found) * 1_000:.0f} ms of {len(found)}" for name, found in times.items()}
    print("medians:", medians, "most memory in MiB:", [peak // MIB for peak in most], "attackers:", crowd.statuses)
    assert refused == []
    assert sum(most) < WORKERS_BYTES_MAX
    assert all(crowd.statuses.get(name) for name in ("uploads", "heads", "views", "removals"))
