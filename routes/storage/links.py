"""Signed links: to read a file, and to upload one. The rights of a link's maker decide when the link is used."""

from __future__ import annotations

from functools import partial
from typing import cast

from flask import Blueprint, Response, request

from access import session
from access.caller import Caller
from access.decorators import public, requires, requires_writer
from engine.interface.database import Transaction
from engine.open import reading
from engine.query.statement import Action
from inspections.faults import FileDenied, FileExists, InvalidLink, NoSuchFile
from inspections.files import links, records
from inspections.files.records import FileKey, FileRow, parse_key, parse_keys, require_bucket
from models import File
from routes.http.body import Object, json_response
from routes.storage import bodies
from routes.storage.bodies import file_limits, link_signer
from routes.storage.objects import chosen_width, is_upsert, send_bytes, send_thumbnail
from routes.storage.uploads import store_upload

MISSING = "Either the object does not exist or you do not have access to it"

bp = Blueprint("storage_links", __name__, url_prefix="/storage/v1")


@bp.post("/object/sign/<bucket>/<file:name>")
@requires(Action.READ, File)
def sign(caller: Caller, bucket: str, name: str) -> Response:
    key = parse_key(bucket, name)
    options = bodies.read_options(bodies.SIGNING)
    given = cast("Object | None", options["transform"])
    transform = bodies.read_transform(given) if given else None
    with reading() as transaction:
        row = records.find(transaction, caller, key)
        width = chosen_width(row, transform) if transform is not None else None
        token = sign_link(transaction, caller, key, options, width)
    kind = "object" if width is None else "render/image"
    return json_response({"signedURL": f"/{kind}/sign/{key.path}?token={token}"})


@bp.post("/object/sign/<bucket>")
@requires(Action.READ, File)
def sign_all(caller: Caller, bucket: str) -> Response:
    require_bucket(bucket)
    options = bodies.read_options(bodies.SIGNING_ALL)
    paths = cast("list[str]", options["paths"])
    keys = parse_keys(bucket, paths)
    with reading() as transaction:
        found = records.find_all(transaction, caller, bucket, [key.name for key in keys.values()])
        signed = {
            path: f"/object/sign/{key.path}?token={sign_link(transaction, caller, key, options)}"
            for path, key in keys.items()
            if key.name in found
        }
    return json_response(
        [{"error": None if path in signed else MISSING, "path": path, "signedURL": signed.get(path)} for path in paths]
    )


def sign_link(transaction: Transaction, caller: Caller, key: FileKey, options: Object, width: int | None = None) -> str:
    seconds = cast("int", options["expiresIn"])
    return link_signer().sign(transaction, caller, links.DOWNLOAD, key, seconds, width=width)


@bp.get("/object/sign/<bucket>/<file:name>")
@public("the token of the link decides")
def download(bucket: str, name: str) -> Response:
    row, width = linked_file(parse_key(bucket, name))
    if width is not None:
        raise InvalidLink
    return send_bytes(row)


@bp.get("/render/image/sign/<bucket>/<file:name>")
@public("the token of the link decides")
def download_image(bucket: str, name: str) -> Response:
    row, width = linked_file(parse_key(bucket, name))
    if width is None:
        raise InvalidLink
    return send_thumbnail(row, width)


def linked_file(key: FileKey) -> tuple[FileRow, int | None]:
    """Return the file of the request's link and the width of its thumbnail.

    Raise NoSuchFile, InvalidLink or LinkExpired.
    """
    with reading() as transaction:
        link = link_signer().read(transaction, request.args.get("token", ""), links.DOWNLOAD, key)
        return records.find(transaction, load_maker(transaction, link), key), link.width


def load_maker(transaction: Transaction, link: links.Link) -> Caller:
    """Return the maker of a link, who counts as the caller of the request in the logs."""
    maker = links.load_maker(transaction, link)
    session.state().caller = maker
    return maker


@bp.post("/object/upload/sign/<bucket>/<file:name>")
@requires_writer
def sign_upload(caller: Caller, bucket: str, name: str) -> Response:
    key, upsert = parse_key(bucket, name), is_upsert()
    with reading() as transaction:
        existing = records.check_put(transaction, caller, key, None, upsert=upsert, total_max=file_limits().total_bytes)
        if existing is not None and not upsert:
            raise FileExists
        signer = link_signer()
        token = signer.sign(transaction, caller, links.UPLOAD, key, links.UPLOAD_SECONDS, upsert=upsert)
    return json_response({"url": f"/object/upload/sign/{key.path}?token={token}", "token": token})


@bp.put("/object/upload/sign/<bucket>/<file:name>")
@public("the token of the link decides")
def upload(bucket: str, name: str) -> Response:
    key = parse_key(bucket, name)
    with reading() as transaction:
        link = link_signer().read(transaction, request.args.get("token", ""), links.UPLOAD, key)
    try:
        store_upload(key, partial(load_maker, link=link), upsert=link.upsert, link=link)
    except FileDenied:
        raise NoSuchFile from None  # as for a link that reads
    return json_response({"Key": key.path})
