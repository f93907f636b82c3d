"""Signed links: to read a file, and to upload one. The rights of a link's maker decide when the link is used."""

from __future__ import annotations

from functools import partial
from typing import cast

from flask import Blueprint, Response, request

from access import request_state
from access.caller import Caller
from access.decorators import public, requires, requires_writer
from engine.current import reading
from engine.interface.transaction import Transaction
from engine.query.rule import Action
from inspections.faults import FileDenied, FileExists, InvalidFileName, InvalidLink, NoSuchFile
from inspections.files import links, records
from inspections.files.keys import FileKey, parse_key, require_bucket
from inspections.files.records import FileRow
from models import File
from routes.gotrue.bodies import json_response
from routes.gotrue.payload import Object
from routes.storage import payload
from routes.storage.objects import chosen_width, is_upsert, send_bytes, send_thumbnail
from routes.storage.state import file_limits, link_signer
from routes.storage.uploads import store_upload

MISSING = "Either the object does not exist or you do not have access to it"

bp = Blueprint("storage_links", __name__, url_prefix="/storage/v1")


@bp.post("/object/sign/<bucket>/<file:name>")
@requires(Action.READ, File)
def sign(caller: Caller, bucket: str, name: str) -> Response:
    key = parse_key(bucket, name)
    options = payload.read_options(payload.SIGNING)
    given = cast("Object | None", options["transform"])
    transform = payload.read_transform(given) if given else None
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
    options = payload.read_options(payload.SIGNING_ALL)
    paths = cast("list[str]", options["paths"])
    keys = {path: key for path in paths if (key := key_or_none(bucket, path))}
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


def key_or_none(bucket: str, name: str) -> FileKey | None:
    try:
        return parse_key(bucket, name)
    except InvalidFileName:
        return None


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
    request_state.state().caller = maker
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
