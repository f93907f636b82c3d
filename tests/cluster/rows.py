"""The rows of the cluster's database."""

import json
import pathlib
import tempfile

from tests.conftest import DATASET
from tests.support.signin import EMAILS, PASSWORDS


def rows_with_passwords() -> pathlib.Path:
    rows = json.loads(DATASET.read_text())
    for user in rows["users"]:
        if user["email"] == EMAILS["mia"]:
            user["password"] = PASSWORDS["mia"]
    source = pathlib.Path(tempfile.mkdtemp()) / "rows.json"
    source.write_text(json.dumps(rows))
    return source
