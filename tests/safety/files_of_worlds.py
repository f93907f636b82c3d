"""Files of the rows of two worlds: equal ones of visible rows, and others of hidden rows."""

import hashlib
import random
from collections.abc import Mapping

from tests.safety.service_instances import OWNERS, ServiceInstance
from tests.support.photographs import photograph

BUCKETS = ("inspections", "buildings")
CHANCE = 0.7
PICTURE = photograph("wall", (40, 30))
SHA256 = hashlib.sha256(PICTURE).hexdigest()
AT = "2025-06-10T14:00:00+00:00"


def file_id(bucket: str, key: object) -> str:
    return f"ffffffff-0000-4000-8000-{BUCKETS.index(bucket)}{str(key)[-11:]:0>11}"


def insert_files(instance: ServiceInstance, world: dict, seen: Mapping[str, list[dict]], seed: str) -> None:
    """Replace the files. Whether a hidden row has one, and its values, depend on `seed`."""
    sql = instance.direct_database.sql
    sql("DELETE FROM files")
    store = instance.app.extensions["walkthrough.files"]
    store.prepare()
    store.path(SHA256).write_bytes(PICTURE)
    for bucket in BUCKETS:
        visible = {row["id"] for row in seen[bucket]}
        for row in world[bucket]:
            key = row["id"]
            rng = random.Random(f"{bucket} {key} {'' if key in visible else seed}")
            if rng.random() > CHANCE:
                continue
            values = {
                "id": file_id(bucket, key), "bucket": bucket, "name": f"{key}/image {rng.randrange(99)}.jpg",
                f"{bucket.removesuffix('s')}_id": key, "sha256": SHA256, "size": len(PICTURE), "mimetype": "image/jpeg",
                "caption": rng.choice((None, f"Caption {rng.randrange(99)}")), "created_at": AT, "updated_at": AT,
                "client_id": row["client_id"] if bucket == "buildings" else OWNERS[bucket](world, row),
            }  # fmt: skip
            places = ", ".join("?" * len(values))
            sql(f"INSERT INTO files ({', '.join(values)}) VALUES ({places})", tuple(values.values()))
