"""The shipped settings of gunicorn, in a process with a low limit of open files."""

import resource
import runpy
from pathlib import Path

DESCRIPTORS = 128

resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
SHIPPED = runpy.run_path(str(Path(__file__).parent.parent.parent / "gunicorn.conf.py"))
globals().update({name: found for name, found in SHIPPED.items() if not name.startswith("__")})
