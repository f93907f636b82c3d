"""All that the service has of one client, in a ZIP file: rows, files, issued reports and letters as pages.

The rows are an archive as `flask export` writes it, with the shared rows to which they refer. A person who is not of
the client, and a former client of a building, are named by the id alone. Reports and letters about buildings that moved
to another client are pages without rows.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from engine.interface.database import Transaction
from engine.maintenance.import_export import export_archive
from engine.storage.file_copies import drafted
from inspections.faults import BytesMissing, NoSuchRow
from inspections.files.records import parse_keys
from inspections.files.store import FileStore
from inspections.reports.frozen import filled_page
from models import (
    RESOURCES,
    Building,
    CalibrationCheck,
    Client,
    DeadlineRule,
    File,
    FindingEvent,
    Inspection,
    Inspector,
    IssuedReport,
    LeadStandard,
    Notice,
    ReportLead,
    Schedule,
    User,
    XrfInstrument,
    XrfLimit,
)
from models.fields import TENANT_COLUMN
from system import sync

SHARED: Final = (LeadStandard, DeadlineRule)
"""Tables whose rows without a client count for everybody."""
PARENTS: Final[dict[Any, tuple[str, Any]]] = {
    IssuedReport: ("inspection_id", Inspection.__table__),
    Notice: ("building_id", Building.__table__),
}
"""The frozen rows, which keep their client when a building moves, with the column and the table of their parent."""
LETTERS: Final[Any] = Notice.__table__
ROWS: Final = "rows.json"
PLAIN: Final = re.compile(r"[0-9][0-9A-Za-z._-]*")
"""A number that is the name of a page. No other page has it: an id follows the word `id`."""
ROWS_AT_ONCE: Final = 1_000

Condition = sa.ColumnElement[bool]


def rows_of_client(name: str, client_id: int) -> Condition:
    """Return the condition on the rows of a table that belong to a client, or to which such rows refer."""
    model = RESOURCES[name]
    columns: Any = model.__table__.c
    client: sa.ColumnElement[Any] = sa.literal_column(str(client_id))
    if model is Client:
        is_client: Condition = columns.id == client
        return is_client
    if model is Inspector:
        named = (Inspection.__table__, Schedule.__table__)
        return sa.or_(*(columns.id.in_(sa.select(each.c.inspector_id).where(of(each, client))) for each in named))
    if model.grant is not None:
        target = next(iter(columns[model.grant.target].foreign_keys)).column.table
        grantees = sa.select(User.__table__.c.id).where(of(User.__table__, client))
        targets = sa.select(target.c.id).where(of(target, client))
        return sa.and_(columns[model.grant.grantee].in_(grantees), columns[model.grant.target].in_(targets))
    if model in PARENTS:
        column, parent = PARENTS[model]
        is_of_parent: Condition = columns[column].in_(sa.select(parent.c.id).where(of(parent, client)))
        return is_of_parent
    own = of(model.__table__, client)
    if model in (XrfInstrument, XrfLimit):
        used = (ReportLead.__table__, CalibrationCheck.__table__)
        guns = sa.or_(*(columns.gun_id.in_(sa.select(each.c.gun_id).where(of(each, client))) for each in used))
        return sa.or_(own, sa.and_(columns[TENANT_COLUMN].is_(None), guns))
    return sa.or_(own, columns[TENANT_COLUMN].is_(None)) if model in SHARED else own


def value_of_client(column: Any, client_id: int) -> sa.ColumnElement[Any]:
    """Return SQL for the exported value of a column: the id of a letter that is not in the archive is null."""
    value: sa.ColumnElement[Any] = column
    if column is FindingEvent.__table__.c.notice_id:
        letters = sa.select(LETTERS.c.id).where(rows_of_client(LETTERS.name, client_id))
        value = sa.case((column.in_(letters), column))
    return value


def of(table: Any, client: sa.ColumnElement[Any]) -> Condition:
    """Return the condition that a row belongs to a client."""
    condition: Condition = table.c[TENANT_COLUMN] == client
    return condition


def write_client(transaction: Transaction, client_id: int, store: FileStore, file: Path) -> list[str]:
    """Write the ZIP file of a client, and return the names of files whose bytes are missing.

    An error leaves an existing file unchanged. Equal data give equal bytes. Raise NoSuchRow or OSError.
    """
    known = sa.select(Client.__table__.c.id).where(Client.__table__.c.id == client_id)
    if transaction.execute(known).fetchone() is None:
        raise NoSuchRow("Client")
    missing: list[str] = []
    with drafted(file) as draft:
        with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
            info = zipfile.ZipInfo(ROWS)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as out:
                for text in export_archive(
                    transaction,
                    lambda name: rows_of_client(name, client_id),
                    lambda column: value_of_client(column, client_id),
                ):
                    out.write(text.encode())
            for model, folder in ((IssuedReport, "reports"), (Notice, "letters")):
                write_pages(transaction, archive, model.__table__, folder, client_id)
            for name, sha256 in list(names_of_files(transaction, client_id)):
                try:
                    content = store.open(sha256)
                except BytesMissing:
                    missing.append(name)
                    continue
                with content, archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as out:
                    shutil.copyfileobj(content, out)
        sync(draft)
        draft.replace(file)
    sync(file.parent)
    return missing


def write_pages(transaction: Transaction, archive: zipfile.ZipFile, table: Any, folder: str, client_id: int) -> None:
    """Write the frozen pages of the issued reports or letters of a client or of its buildings, one at a time."""
    columns = table.c
    client: sa.ColumnElement[Any] = sa.literal_column(str(client_id))
    is_chosen = sa.or_(of(table, client), rows_of_client(table.name, client_id))
    ids = sa.select(columns.id, columns.number, of(table, client)).where(is_chosen).order_by(columns.number, columns.id)
    signature = columns.signature if "signature" in columns else sa.null()
    numbers: Any = transaction.execute(ids).all()
    for key, number, is_own in numbers:
        query = sa.select(sa.cast(columns.content, sa.Text), signature).where(columns.id == key)
        frozen: Any = transaction.execute(query).one()
        page = filled_page(json.loads(frozen[0]), frozen[1])
        name = number if is_own and PLAIN.fullmatch(number) else f"id-{key}"
        info = zipfile.ZipInfo(f"{folder}/{name}.html")
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, page)


def names_of_files(transaction: Transaction, client_id: int) -> Iterator[tuple[str, str]]:
    """Yield the name of each file of a client in the archive, and the SHA-256 of its bytes."""
    columns = File.__table__.c
    query = sa.select(columns.bucket, columns.name, columns.sha256, columns.id)
    own = query.where(of(File.__table__, sa.literal_column(str(client_id)))).order_by(columns.bucket, columns.name)
    for rows in transaction.pages(str(own.compile(dialect=transaction.dialect.sa_dialect)), ROWS_AT_ONCE):
        for bucket, name, sha256, key in rows:
            is_safe = name in parse_keys(bucket, [name])
            yield f"files/{bucket}/{name if is_safe else f'id-{key}'}", sha256
