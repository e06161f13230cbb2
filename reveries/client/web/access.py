"""Access control of the web interface: token, Host and Origin headers, cookie and key. Pure.

Loopback alone protects from other machines, not from other pages in the same browser or other accounts on this machine.
"""

import hmac
import ipaddress
from dataclasses import dataclass

from reveries.errors import UsageError

_TOO_FAR = "The web interface is served on this machine only."


def loopback_address(host: str) -> str:
    """Return the address to listen on for `host`. Raises UsageError if it is not a loopback address."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise UsageError(f"{host!r} is not an address.", advice="Leave it out, or use 127.0.0.1 or ::1.") from error
    if not address.is_loopback:
        raise UsageError(
            _TOO_FAR, advice="To use it from elsewhere, through ssh: ssh -L 8399:127.0.0.1:8399 this-machine"
        )
    return str(address)


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The secrets of one server. `token` is in the address that the owner opens, and admits one browser, once; `stamp`
    signs the cookie that this browser then gets; `key` is held by the page alone.

    A browser sends a cookie to every port of the same address, so also to a server of another account. Opening a
    window therefore takes the key as well. It is in the fragment of the address (after `#`), which a browser never
    sends, and the page keeps it where only pages of this port can read it.
    """

    host: str
    port: int
    token: str
    cookie_secret: str
    key: str

    @property
    def host_names(self) -> frozenset[str]:
        """The Host header values of this server; any other may be a DNS-rebinding attack."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset({f"{shown}:{self.port}", f"localhost:{self.port}"})

    @property
    def address(self) -> str:
        """The address that the owner opens. The first browser to open it is admitted."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={self.token}#{self.key}"

    @property
    def cookie_name(self) -> str:
        """The cookie's name. It has the port because cookies are shared between ports."""
        return f"reveries_{self.port}"

    def is_own_host(self, host: str) -> bool:
        """Whether a Host header names this server; otherwise a foreign domain may point to this address."""
        return host.lower() in self.host_names

    def is_own_origin(self, origin: str | None, *, is_required: bool) -> bool:
        """Whether an Origin header names this server; browsers send none with a plain visit."""
        if origin is None:
            return not is_required
        scheme, _, name = origin.partition("://")
        return scheme == "http" and self.is_own_host(name)

    def has_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def sign_cookie(self, visit: str) -> str:
        """Return the signed cookie for a visit id."""
        return f"{visit}.{hmac.digest(self.cookie_secret.encode(), visit.encode(), 'sha256').hex()}"

    def has_cookie(self, cookie: str) -> bool:
        """Whether the cookie was signed by this server, for any visit."""
        return hmac.compare_digest(cookie.encode(), self.sign_cookie(cookie.rpartition(".")[0]).encode())

    def has_key(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(), self.key.encode())

    @property
    def headers(self) -> dict[str, str]:
        """Security headers of every answer: no foreign content, no framing, no caching, no referrer."""
        sockets = " ".join(f"ws://{name}" for name in sorted(self.host_names))
        policy = (
            f"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self' {sockets}; "
            "img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-store",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
