"""`bin/serve`: run gunicorn in this process, and print how to sign in once the server is ready.

gunicorn.conf.py has the settings and the checks of the start. `--demo` adds the demonstration's portfolio.
`--demo --passwords` gives the users of the demonstration new passwords, prints these, and serves nothing.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from contextlib import suppress
from typing import Any

if __name__ == "__main__":
    gc.disable()  # as gunicorn.conf.py does

from gunicorn.app.wsgiapp import WSGIApplication
from gunicorn.arbiter import Arbiter
from gunicorn.workers.base import Worker

import config
from serving.start import checks, introduction
from settings import file_url


def main(arguments: list[str]) -> None:
    try:
        options = _read(arguments)
        config.refuse_arguments()
        file = config.database_file()
        if options.passwords:
            from serving.start import demo

            introduction.write(demo.renew_passwords(config.environment()))
            return
    except (config.ConfigurationError, checks.StartRefused, checks.CommandFailed) as error:
        sys.exit(f"walkthrough: {error}")
    Service(is_demo=options.demo, is_first=file is not None and not os.path.lexists(file)).run()


def _read(arguments: list[str]) -> argparse.Namespace:
    """Put the command line's settings into the environment; return what to do with the demonstration."""
    parser = argparse.ArgumentParser(prog="bin/serve", add_help=False, allow_abbrev=False)
    parser.add_argument("--host")
    parser.add_argument("--port")
    parser.add_argument("--demo", action="store_true")
    parser.add_argument("--passwords", action="store_true")
    options = parser.parse_args(arguments)
    if options.passwords and not options.demo:
        raise checks.StartRefused("--passwords sets and prints new passwords of --demo")
    config.set_environment(HOST=options.host, PORT=options.port)
    if options.demo:
        if not config.is_loopback(config.process_settings()["HOST"]):
            raise checks.StartRefused("--demo serves this machine only: its passwords are printed")
        config.set_environment(DATABASE_URL=file_url(config.DEMONSTRATION))
    return options


class Service(WSGIApplication):  # type: ignore[misc]
    """gunicorn's application with the settings of gunicorn.conf.py. Its first worker prints the introduction."""

    def __init__(self, *, is_demo: bool, is_first: bool) -> None:
        self.is_demo, self.is_first = is_demo, is_first
        self.environ = config.environment()  # without what the checks of the start put there
        self.introduction = ""
        super().__init__(prog="bin/serve")

    def load_config(self) -> None:
        """Read gunicorn.conf.py, and no command line. gunicorn also calls this method at SIGHUP."""
        settings = self.load_config_from_file(str(config.PROJECT / "gunicorn.conf.py"))
        self.app_uri = self.cfg.wsgi_app
        self.chdir()
        self.cfg.set("on_starting", lambda server: self._introduce(server, settings))
        self.cfg.set("post_worker_init", self._print)

    def _introduce(self, server: Arbiter, settings: dict[str, Any]) -> None:
        """Check the database, then compose the introduction. The demonstration is imported before it is served."""
        settings["on_starting"](server)
        if not self.is_demo:
            self.introduction = introduction.compose(config.current_settings(), self.environ, is_first=self.is_first)
            return
        from serving.start import demo

        try:
            self.introduction = demo.introduce_all(config.current_settings(), self.environ)
        except checks.CommandFailed as error:
            settings["on_exit"](server)
            sys.exit(f"walkthrough: {error}")

    def _print(self, worker: Worker) -> None:
        """Print the introduction in the first worker, which now listens."""
        if worker.age == 1:
            with suppress(OSError):  # output to a full disk
                introduction.write(self.introduction)


if __name__ == "__main__":
    main(sys.argv[1:])
