"""The service with one worker whose system clock is 30 minutes ahead: `tests.http.two_clocks:create()`."""

import os
import time
from pathlib import Path

from flask import Flask

from app import create_app

AHEAD_SECONDS = 1_800
MARKER_VARIABLE = "ONE_IS_AHEAD"  # the variable with a directory that the first worker creates


def create() -> Flask:
    try:
        Path(os.environ[MARKER_VARIABLE]).mkdir()
    except FileExistsError:
        return create_app()
    present = time.time
    time.time = lambda: present() + AHEAD_SECONDS
    return create_app()
