"""A reverse proxy in front of the service: the address and scheme of its client, and the path prefix.

The service reads the headers of trusted proxies only: the addresses of TRUSTED_PROXIES, and every client of the Unix
socket. This module removes the prefix from each request path and adds the prefix to each response. A proxy that removes
the prefix itself sends X-Forwarded-Prefix. With URL_PREFIX alone, request paths include the prefix.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple

from flask import Response

from routes.http.flask_app import StartResponse, Wsgi
from settings import Network, read_prefix

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

UNIX_PEER: Final = "unix:"
SCHEMES: Final = ("http", "https")
ADDRESS_WITH_PORT: Final = re.compile(r"(?:\[([^\[\]]+)\]|([0-9.]+))(?::[0-9]{1,5})?", re.ASCII)
LOCAL_URL: Final = re.compile(rb'(\s(?:href|src|action|formaction)="|\scontent="0; url=)(?=/(?!/))')
"""What precedes the path of this server in a rendered page. A value of a row has no bare quote there."""


class ForwardedClient(NamedTuple):
    """The client of the outermost trusted proxy, and the number of trusted proxies. Without any, it is the peer."""

    address: str
    proxies: int


class Proxied:
    """A WSGI application behind proxies: it sees the client's address and scheme, and paths without the prefix."""

    def __init__(self, inner: Wsgi, config: Mapping[str, Any]) -> None:
        self.inner, self.config = inner, config

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        peer, trusted = environ.get("REMOTE_ADDR") or "", self.config["TRUSTED_PROXIES"]
        prefix = ""
        if trusted or peer == UNIX_PEER:
            client = find_client(peer, environ.get("HTTP_X_FORWARDED_FOR"), trusted)
            environ["REMOTE_ADDR"] = client.address
            if client.proxies:
                scheme = chosen_scheme(environ.get("HTTP_X_FORWARDED_PROTO", ""), client.proxies)
                environ["wsgi.url_scheme"] = scheme or environ["wsgi.url_scheme"]
                prefix = chosen_prefix(environ.get("HTTP_X_FORWARDED_PREFIX", ""))
        if not prefix and (prefix := self.config["URL_PREFIX"]):
            environ["PATH_INFO"] = without_prefix(environ["PATH_INFO"], prefix)
        if prefix:
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + prefix
        return self.inner(environ, start_response)


def find_client(peer: str, forwarded: str | None, trusted: Collection[Network]) -> ForwardedClient:
    """Return the peer, or the last address in `forwarded` that no trusted proxy has.

    A proxy appends the address of its own peer. A client can forge all addresses before that.

    >>> proxies = [ipaddress.ip_network("10.0.0.0/8")]
    >>> find_client("10.0.0.1", "6.6.6.6, 192.0.2.7:51234", proxies)
    ForwardedClient(address='192.0.2.7', proxies=1)
    >>> find_client("192.0.2.7", "6.6.6.6", proxies)
    ForwardedClient(address='192.0.2.7', proxies=0)
    """
    hops = [hop.strip() for hop in forwarded.split(",")] if forwarded else []
    address = read_address(peer)
    proxies = 0
    is_proxy = peer == UNIX_PEER or is_trusted(address, trusted)
    while is_proxy:
        proxies += 1
        hop = read_address(hops.pop()) if hops else None
        if hop is None:
            break
        address, is_proxy = hop, is_trusted(hop, trusted)
    return ForwardedClient(str(address) if address is not None else peer[:64], proxies)


def is_trusted(address: Address | None, trusted: Collection[Network]) -> bool:
    return address is not None and any(address in network for network in trusted)


def read_address(text: str) -> Address | None:
    """Return an address, which may have a port or brackets.

    >>> [str(read_address(text)) for text in ("203.0.113.7:51234", "[2001:db8::1]:443", "2001:db8::1", "unknown")]
    ['203.0.113.7', '2001:db8::1', '2001:db8::1', 'None']
    """
    match = ADDRESS_WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address((match[1] or match[2]) if match else text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, ipaddress.IPv6Address) else address


def chosen_scheme(listed: str, proxies: int) -> str | None:
    """Return the scheme that the outermost trusted proxy saw, or None. Each proxy appends one to the list.

    >>> chosen_scheme("https", 2), chosen_scheme("https, http", 2), chosen_scheme("https, http", 1)
    ('https', 'https', 'http')
    """
    schemes = [each.strip().lower() for each in listed.split(",")]
    scheme = schemes[max(len(schemes) - proxies, 0)]
    return scheme if scheme in SCHEMES else None


def chosen_prefix(text: str) -> str:
    """Return the prefix of a header; none if it is malformed."""
    try:
        return read_prefix(text.strip())
    except ValueError:
        return ""


def without_prefix(path: str, prefix: str) -> str:
    """Return the path below the prefix, or the path itself if it is elsewhere: a proxy may remove the prefix.

    >>> without_prefix("/site/console/", "/site"), without_prefix("/site", "/site"), without_prefix("/live", "/site")
    ('/console/', '/', '/live')
    """
    if path == prefix:
        return "/"
    return path.removeprefix(prefix) if path.startswith(f"{prefix}/") else path


def add_prefix(response: Response, prefix: str) -> None:
    """Put the paths of a response under the prefix: its Location, the paths of its cookies, and a page's URLs."""
    headers = response.headers
    if headers.get("Location", "").startswith("/"):
        headers["Location"] = prefix + headers["Location"]
    cookies = headers.getlist("Set-Cookie")
    if cookies:
        headers.setlist("Set-Cookie", [each.replace("; Path=/", f"; Path={prefix}/", 1) for each in cookies])
    if response.mimetype == "text/html" and not response.is_streamed:
        response.set_data(LOCAL_URL.sub(lambda match: match[1] + prefix.encode(), response.get_data()))
