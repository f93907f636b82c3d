"""The shipped settings of gunicorn, with a second worker that installs its signal handlers 2 s late."""

import runpy
import time
from pathlib import Path

SHIPPED = runpy.run_path(str(Path(__file__).parent.parent.parent / "gunicorn.conf.py"))
globals().update({name: found for name, found in SHIPPED.items() if not name.startswith("__")})


def post_fork(server, worker):
    SHIPPED["post_fork"](server, worker)
    if worker.age == 2:
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            time.sleep(0.05)
