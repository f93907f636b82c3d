"""The bodies of Storage's responses: a file as Supabase describes an object."""

from __future__ import annotations

import datetime
import json

from inspections.files.records import FileRow
from routes.gotrue.payload import Object


def etag_of(row: FileRow) -> str:
    return f'"{row.sha256}"'


def modified_at(row: FileRow) -> datetime.datetime:
    return datetime.datetime.fromisoformat(row.updated_at)


def user_metadata(row: FileRow) -> object:
    return json.loads(row.user_metadata) if row.user_metadata is not None else None


def listed_object(row: FileRow, name: str) -> Object:
    """Return a file as an entry of a list, under a name relative to the list's folder."""
    return {
        "name": name,
        "id": row.id,
        "updated_at": row.updated_at,
        "created_at": row.created_at,
        "last_accessed_at": row.updated_at,
        "metadata": {
            "eTag": etag_of(row),
            "size": row.size,
            "mimetype": row.mimetype,
            "cacheControl": row.cache_control or "no-cache",
            "lastModified": row.updated_at,
            "contentLength": row.size,
            "httpStatusCode": 200,
        },
    }


def listed_folder(name: str) -> Object:
    """Return a folder as an entry of a list: the name alone."""
    keys = ("id", "updated_at", "created_at", "last_accessed_at", "metadata")
    return {"name": name, **dict.fromkeys(keys)}


def object_body(row: FileRow) -> Object:
    """Return a file that was copied or removed."""
    return {
        **listed_object(row, row.name),
        "bucket_id": row.bucket,
        "owner": row.created_by,
        "owner_id": row.created_by,
        "version": row.sha256,
        "user_metadata": user_metadata(row),
    }


def info_body(row: FileRow) -> Object:
    return {
        "id": row.id,
        "name": row.name,
        "version": row.sha256,
        "bucket_id": row.bucket,
        "size": row.size,
        "content_type": row.mimetype,
        "cache_control": row.cache_control or "no-cache",
        "etag": etag_of(row),
        "metadata": user_metadata(row),
        "last_modified": row.updated_at,
        "created_at": row.created_at,
    }
