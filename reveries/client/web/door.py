"""Who may come in: whoever has the token, from a page of this server, asking for it by its own name. Pure.

Loopback alone protects from other machines, not from other pages in the same browser, nor from other accounts here.
"""

import hmac
import ipaddress
from dataclasses import dataclass

from reveries.errors import UsageError

_TOO_FAR = "The terminal in the browser is served on this machine alone."


def loopback(host: str) -> str:
    """The address to listen on for `host`. Raises UsageError for one that others could reach."""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError as error:
        raise UsageError(f"{host!r} is no address.", advice="Leave it out, or give 127.0.0.1 or ::1.") from error
    if not address.is_loopback:
        raise UsageError(_TOO_FAR, advice="From elsewhere, through ssh: ssh -L 8399:127.0.0.1:8399 this-machine")
    return str(address)


@dataclass(frozen=True, slots=True)
class Door:
    """`token` stands in the address that the owner opens, and lets one browser in, once; with `stamp` the cookies are
    made of which that browser has one from then on, and `key` is what the page has.

    A browser hands a cookie to every port of the same address, whoever listens there: another account's server, too.
    So a window takes the key as well. It stands behind the `#` of the address, which is sent to nobody, and the page
    keeps it where only pages of this very port may look.
    """

    host: str
    port: int
    token: str
    stamp: str
    key: str

    @property
    def names(self) -> frozenset[str]:
        """What this server is called in a Host header: anything else is somebody else's name for this address."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return frozenset({f"{shown}:{self.port}", f"localhost:{self.port}"})

    @property
    def address(self) -> str:
        """What the owner opens. Whoever opens it first comes in."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}/?token={self.token}#{self.key}"

    @property
    def cookie_name(self) -> str:
        """Cookies do not tell ports apart; the name does."""
        return f"reveries_{self.port}"

    def is_named(self, host: str) -> bool:
        """Whether a Host header means this server: else a page elsewhere has let its own name lead here."""
        return host.lower() in self.names

    def is_from_here(self, origin: str | None, *, is_required: bool) -> bool:
        """Whether an Origin header is of a page of this server; browsers send none with a plain visit."""
        if origin is None:
            return not is_required
        scheme, _, name = origin.partition("://")
        return scheme == "http" and self.is_named(name)

    def has_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token.encode())

    def cookie_of(self, visit: str) -> str:
        """The cookie for a visit of that name, which nobody else can make."""
        return f"{visit}.{hmac.digest(self.stamp.encode(), visit.encode(), 'sha256').hex()}"

    def has_cookie(self, cookie: str) -> bool:
        """Whether it was made here, for whatever visit."""
        return hmac.compare_digest(cookie.encode(), self.cookie_of(cookie.rpartition(".")[0]).encode())

    def has_key(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(), self.key.encode())

    @property
    def headers(self) -> dict[str, str]:
        """With every answer: nothing is loaded from elsewhere, nothing is framed, nothing is kept or passed on."""
        sockets = " ".join(f"ws://{name}" for name in sorted(self.names))
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
