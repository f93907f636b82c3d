"""The shipped settings of gunicorn, without a directory for temporary files."""

import runpy
import tempfile
from pathlib import Path


def fail() -> str:
    raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")


tempfile.gettempdir = fail

SHIPPED = runpy.run_path(str(Path(__file__).parent.parent.parent / "gunicorn.conf.py"))
globals().update({name: found for name, found in SHIPPED.items() if not name.startswith("__")})
