"""Calls of Supabase's clients that the service does not support: each is a 404 that names the alternative.

The answers need no key: browsers open `authorize` and the WebSocket without one.
"""

from __future__ import annotations

import re
from typing import Final

from routes.postgrest.requests import UnknownPath

ADMIN_USER: Final = re.compile(r"^admin/users/[^/]*/")

NO_MAIL: Final = "The service sends no mail: an administrator sets a new password."
NO_OAUTH: Final = "OAuth and single sign-on are not supported: sign in with e-mail and password."
NO_MFA: Final = "Multi-factor authentication and passkeys are not supported: sign in with e-mail and password."

SERVICES: Final = {
    "/realtime/v1": "Realtime is not supported: use polling, for example of /audit_log?id=gt.N.",
    "/storage/v1/upload/resumable": "Resumable uploads are not supported: upload with POST /storage/v1/object.",
    "/storage/v1/s3": "The S3 protocol is not supported: use /storage/v1/object.",
    "/storage/v1/vector": "Vector buckets are not supported: use the buckets inspections, findings and buildings.",
    "/storage/v1/iceberg": "Analytics buckets are not supported: read tables under /rest/v1.",
    "/functions/v1": "Edge Functions are not supported: call a function of the service under /rest/v1/rpc.",
    "/graphql/v1": "GraphQL is not supported: embed related rows with /rest/v1/TABLE?select=….",
}
"""Services of Supabase by path, each with the message of its answer."""

SIGN_IN_PATHS: Final = {
    "otp": "One-time passwords and magic links are not supported: sign in with e-mail and password.",
    "magiclink": "One-time passwords and magic links are not supported: sign in with e-mail and password.",
    "verify": NO_MAIL,
    "resend": NO_MAIL,
    "recover": NO_MAIL,
    "reauthenticate": "The service sends no mail: send `current_password` with the new password.",
    "invite": "The service sends no mail: an administrator creates users with POST /auth/v1/admin/users.",
    "admin/generate_link": NO_MAIL,
    "authorize": NO_OAUTH,
    "callback": NO_OAUTH,
    "sso": NO_OAUTH,
    "oauth": NO_OAUTH,
    "user/identities": NO_OAUTH,
    "user/oauth": NO_OAUTH,
    "admin/sso": NO_OAUTH,
    "admin/oauth": NO_OAUTH,
    "admin/custom-providers": NO_OAUTH,
    "factors": NO_MFA,
    "passkeys": NO_MFA,
    "admin/users/factors": NO_MFA,
    "admin/users/passkeys": NO_MFA,
    "admin/audit": "GoTrue's audit log is not supported: read /audit_log.",
}
"""Paths of GoTrue under /auth/v1, without the id of a user, each with the message of its answer."""


def unsupported_call(path: str) -> UnknownPath | None:
    """Return the fault of a path that a client library calls and the service does not have; None for other paths.

    >>> unsupported_call("/realtime/v1/websocket").message
    'Realtime is not supported: use polling, for example of /audit_log?id=gt.N.'
    >>> unsupported_call("/auth/v1/admin/users/1/factors").message == NO_MFA
    True
    """
    name = ADMIN_USER.sub("admin/users/", path.removeprefix("/auth/v1/"))
    messages, called = (SERVICES, path) if name == path else (SIGN_IN_PATHS, name)
    found = (message for known, message in messages.items() if f"{called}/".startswith(f"{known}/"))
    message = next(found, None)
    return UnknownPath(message) if message is not None else None
