"""Secrets files and directories that the service refuses, and the message of each."""

from __future__ import annotations

import errno
import json
import os

import pytest

import config
from config import ConfigurationError
from tests.unit.test_config import database


def test_readable_secrets_file_is_refused(tmp_path):
    config.prepare(database(tmp_path), {})

    for loose in (0o640, 0o604):
        (tmp_path / "keys.json").chmod(loose)
        with pytest.raises(ConfigurationError, match="can be read by others"):
            config.load(database(tmp_path), {})


def test_symbolic_link_or_invalid_secrets_file_is_refused(tmp_path):
    config.make_secrets(tmp_path / "elsewhere.json")
    keys = tmp_path / "keys.json"

    keys.symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        config.prepare(database(tmp_path), {})

    keys.unlink()
    for content, message in (("", "is not JSON"), ("{}", "holds no SECRET_KEY")):
        keys.write_text(content)
        keys.chmod(0o600)
        with pytest.raises(ConfigurationError, match=message):
            config.prepare(database(tmp_path), {})


def test_secrets_file_that_is_a_directory_or_binary_is_refused(tmp_path):
    (tmp_path / "keys.json").mkdir(mode=0o700)
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        config.prepare(database(tmp_path), {})

    (tmp_path / "keys.json").rmdir()
    (tmp_path / "keys.json").write_text(json.dumps({"SECRET_KEY": "\udcff" * 40}))
    (tmp_path / "keys.json").chmod(0o600)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY is not UTF-8 text"):
        config.prepare(database(tmp_path), {})


def test_directory_that_cannot_be_created_is_named(tmp_path):
    (tmp_path / "file").touch()

    with pytest.raises(ConfigurationError, match=r"file/below cannot be created: Not a directory$"):
        config.prepare(database(tmp_path / "file" / "below"), {})


@pytest.mark.parametrize(
    ("call", "number"),
    [
        pytest.param("open", errno.EROFS, id="read-only"),
        pytest.param("fsync", errno.ENOSPC, id="full"),
        pytest.param("link", errno.EPERM, id="file-system-without-links"),
    ],
)
def test_failed_secrets_file_leaves_no_draft(tmp_path, monkeypatch, call, number):
    def fail(*words: object, **more: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(ConfigurationError) as refusal:
        config.prepare(database(tmp_path), {})
    monkeypatch.undo()

    assert str(refusal.value) == (
        f"{tmp_path}/keys.json cannot be created ({os.strerror(number)});"
        " set SECRET_KEY, ANON_KEY and SERVICE_KEY instead"
    )
    assert list(tmp_path.iterdir()) == []


def test_gunicorn_cmd_args_is_refused():
    config.refuse_arguments({"GUNICORN_CMD_ARGS": " "})

    with pytest.raises(ConfigurationError, match="GUNICORN_CMD_ARGS"):
        config.refuse_arguments({"GUNICORN_CMD_ARGS": "--bind 0.0.0.0:9999"})


def test_secrets_file_that_is_a_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "keys.json", 0o600)

    with pytest.raises(ConfigurationError, match="is not a regular file"):
        config.prepare(database(tmp_path), {})


@pytest.mark.parametrize("name", ["FLASK_DEBUG", "FLASK_TESTING", "DEBUG", "TESTING"])
def test_debug_settings_are_refused(name):
    config.refuse_debugging({name: "0"})

    with pytest.raises(ConfigurationError, match=name):
        config.refuse_debugging({name: "1"})
