"""The shim: how it is built, what it logs, and which files a power cut at any moment may leave.

A record of the log is a head of 32 bytes (operation, length, inode, token, offset) and its data:

    W, T   a write, a truncation of an inode, told after it succeeded
    C U R  a name made, removed, changed (`old\\1new`)
    B, E   before and after a successful sync of an inode, with one token

Only what was told before B is durable at E. The directory is an inode too: its sync keeps its names.
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
    """The shim, compiled once; whoever needs it is skipped, by name, where that cannot be."""
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
    """What a process needs in its environment to be watched, its disk being slower than it is."""
    found = {"LD_PRELOAD": library(), "CUT_DIR": str(directory), "CUT_DB": DATABASE}
    found["CUT_SLOW"] = str(sync_microseconds)
    if log is not None:
        found["CUT_LOG"] = str(log)
    if control is not None:
        found["CUT_CONTROL"] = str(control)
    return found


class Word(IntEnum):
    """The control's words, 8 bytes each."""

    SEEN = 0
    FAIL_AT = 1  # 0: nothing fails
    KIND = 2  # 1 write, 2 sync
    ERRNO = 3
    ONCE = 4  # 0: from FAIL_AT on, until it is disarmed
    FAILED = 5
    WAL_SYNCS = 6
    SYNCS = 7


class Control:
    """A switchboard that every watched process has in its memory."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(8 * len(Word)))
        with path.open("r+b") as file:
            self.words = mmap.mmap(file.fileno(), 8 * len(Word))

    def __getitem__(self, word: Word) -> int:
        return int.from_bytes(self.words[8 * word : 8 * word + 8], "little")

    def __setitem__(self, word: Word, value: int) -> None:
        self.words[8 * word : 8 * word + 8] = value.to_bytes(8, "little")

    @contextlib.contextmanager
    def failing(self, kind: int, errno: int, at: int, *, once: bool) -> Iterator[None]:
        """Let the `at`-th write or sync from now on fail."""
        self[Word.SEEN] = self[Word.FAILED] = 0
        self[Word.KIND], self[Word.ERRNO], self[Word.ONCE] = kind, errno, once
        self[Word.FAIL_AT] = at
        try:
            yield
        finally:
            self[Word.FAIL_AT] = 0


@dataclass(frozen=True, slots=True)
class Record:
    op: bytes
    inode: int
    token: int
    offset: int
    data: bytes


def records(log: Path) -> list[Record]:
    told = log.read_bytes()
    found, at = [], 0
    while at < len(told):
        op, length, inode, token, offset = HEAD.unpack_from(told, at)
        at += HEAD.size
        found.append(Record(op, inode, token, offset, told[at : at + length]))
        at += length
    return found


@dataclass(slots=True)
class File:
    """What is surely on the disk, and what may be."""

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
    """A directory as a disk keeps it, record after record."""

    def __init__(self, directory: Path) -> None:
        """Begin with what is there, all of it durable."""
        self.inode = directory.stat().st_ino
        self.files = {each.stat().st_ino: File(bytearray(each.read_bytes())) for each in directory.iterdir()}
        self.names = {each.name: each.stat().st_ino for each in directory.iterdir()}
        self.objects = {name: self.files[inode] for name, inode in self.names.items()}
        self.renames: list[tuple[bytes, bytes, File | None]] = []
        self.begun: dict[int, tuple[int, int]] = {}
        self.acked: list[int] = []
        self.ack_inode = -1

    def take(self, record: Record) -> None:
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
            case b"U" | b"R":
                self.renames.append((record.op, record.data, None))
            case b"B":
                self.begun[record.token] = (record.inode, len(self.waiting(record.inode)))
            case b"E":
                self.keep(*self.begun.pop(record.token))

    def waiting(self, inode: int) -> list:
        if inode == self.inode:
            return self.renames
        return self.files[inode].pending if inode in self.files else []

    def keep(self, inode: int, count: int) -> None:
        waiting = self.waiting(inode)
        count = min(count, len(waiting))
        for each in waiting[:count]:
            if inode == self.inode:
                rename(self.objects, *each)
            else:
                apply(self.files[inode].durable, each)
        del waiting[:count]
        for token, (other, length) in self.begun.items():
            if other == inode:
                self.begun[token] = (other, max(0, length - count))

    def cut(self, dice: random.Random, into: Path) -> None:
        """Write what a power cut at this moment may leave."""
        objects = dict(self.objects)
        for each in self.renames[: dice.randint(0, len(self.renames))]:
            rename(objects, *each)
        for name, file in objects.items():
            content = bytearray(file.durable)
            for each in survivors(file.pending, dice):
                apply(content, each)
            (into / name).write_bytes(content)


def rename(objects: dict[str, File], op: bytes, data: bytes, file: File | None) -> None:
    if op == b"C":
        assert file is not None
        objects[data.decode()] = file
    elif op == b"U":
        objects.pop(data.decode(), None)
    else:
        old, new = data.decode().split("\1")
        if old in objects:
            objects[new] = objects.pop(old)


def survivors(pending: list[Record], dice: random.Random) -> list[Record]:
    """Which unsynced writes got to the disk: none, all, a prefix, some, or some of them torn."""
    match dice.randrange(5):
        case 0:
            return []
        case 1:
            return pending
        case 2:
            return pending[: dice.randint(0, len(pending))]
        case 3:
            return [each for each in pending if dice.random() < 0.5]
    return [torn(each, dice) for each in pending if dice.random() < 0.5]


def torn(record: Record, dice: random.Random) -> Record:
    sectors = len(record.data) // SECTOR
    if record.op == b"T" or sectors < 2:
        return record
    kept = record.data[: SECTOR * dice.randint(0, sectors)]
    if kept and dice.randrange(3) == 0:
        kept = kept[:-SECTOR] + dice.randbytes(SECTOR)
    return Record(record.op, record.inode, record.token, record.offset, kept)


def emptied(directory: Path) -> Path:
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(mode=0o700)
    return directory
