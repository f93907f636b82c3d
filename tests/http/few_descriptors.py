"""gunicorn's settings as they are shipped, where a process may have few files open, and as few clients."""

import resource
import runpy
from pathlib import Path

DESCRIPTORS = 128

resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
SHIPPED = runpy.run_path(str(Path(__file__).parent.parent.parent / "gunicorn.conf.py"))
globals().update({name: found for name, found in SHIPPED.items() if not name.startswith("__")})
