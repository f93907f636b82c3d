"""How threads allocate: with glibc from one arena, as its own account of itself shows.

That a service's workers do is shown with the service as it is run (tests/http/test_running.py).
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
ACCOUNT = """
import ctypes, sys, threading
from serving import memory
if sys.argv[1] == "shared":
    assert memory.share_one_arena()
together = threading.Barrier(4)
threads = [threading.Thread(target=together.wait) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
account = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, account)
libc.fflush(account)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="no glibc")
@pytest.mark.parametrize(("how", "is_one"), [("shared", True), ("as it is", False)])
def test_threads_allocate_from_one_arena(how: str, is_one: bool) -> None:
    told = subprocess.run(
        [sys.executable, "-c", ACCOUNT, how],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert (told.stdout.count("<heap nr=") == 1) is is_one


def test_another_c_library_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    from serving import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())

    assert memory.share_one_arena() is False
