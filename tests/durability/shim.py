"""The shim that logs file operations, and a model of the files that a power cut can leave.

A record of the log is a head of 32 bytes (operation, length, inode, token, offset) and its data:

    W, T   a write, a truncation of an inode, logged after it succeeded
    C U    a name created, removed
    R L    a name changed, a second name given (`old\\1new`)
    B, E   before and after a successful sync of an inode, with one token

At E, all operations that were logged before B are durable. A directory is an inode too: its sync keeps its names.
"""

import contextlib
import functools
import mmap
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
HEAD = struct.Struct("<c3xIQQQ")
SECTOR = 512
DATABASE = "walkthrough.db"
ACK = "ACK"


@functools.cache
def library() -> str:
    """Compile the shim once and return its path. Skip the test where it cannot be compiled."""
    if not sys.platform.startswith("linux"):
        pytest.skip("the power-cut shim needs Linux")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("the power-cut shim needs a C compiler (cc)")
    made = Path(tempfile.mkdtemp(prefix="walkthrough-cut-")) / "cut.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(made), str(HERE / "cut.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return str(made)


def environment(
    directory: Path, log: Path | None = None, control: Path | None = None, sync_microseconds: int = 0
) -> dict:
    """Return the environment of a process under the shim. `sync_microseconds` slows down each sync."""
    found = {"LD_PRELOAD": library(), "CUT_DIR": str(directory), "CUT_DB": DATABASE}
    found["CUT_SLOW"] = str(sync_microseconds)
    if log is not None:
        found["CUT_LOG"] = str(log)
    if control is not None:
        found["CUT_CONTROL"] = str(control)
    return found


class ControlWord(IntEnum):
    """The words of the control file, 8 bytes each."""

    SEEN = 0
    FAIL_AT = 1  # 0: nothing fails
    KIND = 2  # 1 write, 2 sync
    ERRNO = 3
    ONCE = 4  # 0: all operations from FAIL_AT on fail
    FAILED = 5
    WAL_SYNCS = 6
    SYNCS = 7


class Control:
    """A file that every process under the shim maps into memory: it injects failures and counts syncs."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8 * len(ControlWord)))
        with path.open("r+b") as file:
            self.words = mmap.mmap(file.fileno(), 8 * len(ControlWord))

    def __getitem__(self, word: ControlWord) -> int:
        return int.from_bytes(self.words[8 * word : 8 * word + 8], "little")

    def __setitem__(self, word: ControlWord, value: int) -> None:
        self.words[8 * word : 8 * word + 8] = value.to_bytes(8, "little")

    @contextlib.contextmanager
    def failing(self, kind: int, errno: int, at: int, *, once: bool) -> Iterator[None]:
        """Make the `at`-th write or sync from now on fail."""
        self[ControlWord.SEEN] = self[ControlWord.FAILED] = 0
        self[ControlWord.KIND], self[ControlWord.ERRNO], self[ControlWord.ONCE] = kind, errno, once
        self[ControlWord.FAIL_AT] = at
        try:
            yield
        finally:
            self[ControlWord.FAIL_AT] = 0


@dataclass(frozen=True, slots=True)
class Record:
    op: bytes
    inode: int
    token: int
    offset: int
    data: bytes


def records(log: Path) -> list[Record]:
    content = log.read_bytes()
    found, at = [], 0
    while at < len(content):
        op, length, inode, token, offset = HEAD.unpack_from(content, at)
        at += HEAD.size
        found.append(Record(op, inode, token, offset, content[at : at + length]))
        at += length
    return found


@dataclass(slots=True)
class File:
    """The durable content of a file, and the operations that are not yet durable."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Record] = field(default_factory=list)


def apply(content: bytearray, record: Record) -> None:
    if record.op == b"T":
        del content[record.offset :]
        content.extend(bytes(record.offset - len(content)))
        return
    content.extend(bytes(max(0, record.offset - len(content))))
    content[record.offset : record.offset + len(record.data)] = record.data


class Disk:
    """A model of a directory on a disk, to which the records of the log are applied."""

    def __init__(self, directory: Path) -> None:
        """Begin with the files of the directory, all durable."""
        self.inode = directory.stat().st_ino
        self.files = {each.stat().st_ino: File(bytearray(each.read_bytes())) for each in directory.iterdir()}
        self.names = {each.name: each.stat().st_ino for each in directory.iterdir()}
        self.objects = {name: self.files[inode] for name, inode in self.names.items()}
        self.renames: list[tuple[bytes, bytes, File | None]] = []
        self.begun: dict[int, tuple[int, int]] = {}
        self.acked: list[int] = []
        self.ack_inode = -1

    def replay(self, record: Record) -> None:
        match record.op:
            case b"W" | b"T":
                if record.inode == self.ack_inode:
                    self.acked += map(int, record.data.split())
                elif (file := self.files.get(record.inode)) is not None:
                    file.pending.append(record)
            case b"C":
                if record.data == ACK.encode():
                    self.ack_inode = record.inode
                else:
                    self.files[record.inode] = File()
                    self.renames.append((b"C", record.data, self.files[record.inode]))
            case b"U" | b"R" | b"L":
                self.renames.append((record.op, record.data, None))
            case b"B":
                self.begun[record.token] = (record.inode, len(self.pending(record.inode)))
            case b"E":
                self.sync(*self.begun.pop(record.token))

    def pending(self, inode: int) -> list:
        if inode == self.inode:
            return self.renames
        return self.files[inode].pending if inode in self.files else []

    def sync(self, inode: int, count: int) -> None:
        pending = self.pending(inode)
        count = min(count, len(pending))
        for each in pending[:count]:
            if inode == self.inode:
                apply_rename(self.objects, *each)
            else:
                apply(self.files[inode].durable, each)
        del pending[:count]
        for token, (other, length) in self.begun.items():
            if other == inode:
                self.begun[token] = (other, max(0, length - count))

    def cut(self, dice: random.Random, into: Path) -> None:
        """Write one state of the files that a power cut at this moment can leave."""
        objects = dict(self.objects)
        for each in self.renames[: dice.randint(0, len(self.renames))]:
            apply_rename(objects, *each)
        for name, file in objects.items():
            content = bytearray(file.durable)
            for each in surviving_writes(file.pending, dice):
                apply(content, each)
            (into / name).write_bytes(content)


def apply_rename(objects: dict[str, File], op: bytes, data: bytes, file: File | None) -> None:
    if op == b"C":
        assert file is not None
        objects[data.decode()] = file
    elif op == b"U":
        objects.pop(data.decode(), None)
    else:
        old, new = data.decode().split("\1")
        if old in objects:
            objects[new] = objects[old] if op == b"L" else objects.pop(old)


def surviving_writes(pending: list[Record], dice: random.Random) -> list[Record]:
    """Choose the unsynced writes that reached the disk: none, all, a prefix, some, or some with torn writes."""
    match dice.randrange(5):
        case 0:
            return []
        case 1:
            return pending
        case 2:
            return pending[: dice.randint(0, len(pending))]
        case 3:
            return [each for each in pending if dice.random() < 0.5]
    return [torn_write(each, dice) for each in pending if dice.random() < 0.5]


def torn_write(record: Record, dice: random.Random) -> Record:
    sectors = len(record.data) // SECTOR
    if record.op == b"T" or sectors < 2:
        return record
    kept = record.data[: SECTOR * dice.randint(0, sectors)]
    if kept and dice.randrange(3) == 0:
        kept = kept[:-SECTOR] + dice.randbytes(SECTOR)
    return Record(record.op, record.inode, record.token, record.offset, kept)


def empty_directory(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    return directory
