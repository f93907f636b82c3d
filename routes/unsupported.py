"""Calls of Supabase's clients that the service does not support: each is a 404 that names the alternative.

The views are public: browsers open `authorize` and the WebSocket without a key, and the answers reveal nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn

from flask import Blueprint

from access.decorators import public
from routes.postgrest.requests import UnknownPath

METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

NO_MAIL: Final = "The service sends no mail: an administrator sets a new password."
NO_OAUTH: Final = "OAuth and single sign-on are not supported: sign in with e-mail and password."
NO_MFA: Final = "Multi-factor authentication and passkeys are not supported: sign in with e-mail and password."

SERVICES: Final = {
    "/realtime/v1": "Realtime is not supported: use polling, for example of /audit_log?id=gt.N.",
    "/storage/v1": "Storage is not supported: store files elsewhere and keep their addresses in a text column.",
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
    "admin/users/<user_id>/factors": NO_MFA,
    "admin/users/<user_id>/passkeys": NO_MFA,
    "admin/audit": "GoTrue's audit log is not supported: read /audit_log.",
}
"""Paths of GoTrue under /auth/v1, with those below each."""

bp = Blueprint("unsupported", __name__)


def refuse_with(message: str) -> Callable[..., NoReturn]:
    @public("the answer is the same for everyone and reveals nothing")
    def refuse(**parts: str) -> NoReturn:
        raise UnknownPath(message)

    return refuse


MESSAGES: Final = SERVICES | {f"/auth/v1/{path}": message for path, message in SIGN_IN_PATHS.items()}

for path, message in MESSAGES.items():
    refuse = refuse_with(message)
    for rule in (path, f"{path}/", f"{path}/<path:below>"):
        bp.add_url_rule(rule, path.strip("/").replace(".", "-"), refuse, methods=METHODS)
