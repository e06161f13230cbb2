"""The tools `fetch` and `web_search`: off until the owner enables and grants them.

No model composes an address: only addresses that the owner wrote, or that appear verbatim in an earlier result, are
fetched. No address of a local network is reached, whatever name resolves to it. Answers are limited in size and
untrusted.
"""

import asyncio
import codecs
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Annotated, Final
from urllib.parse import urljoin, urlsplit, urlunsplit

import httpx
import msgspec

from reveries import gates
from reveries.errors import ToolError
from reveries.gates import ToolGate
from reveries.tools.reach import Reach, source_of_host
from reveries.tools.registry import ToolCaller
from reveries.tools.results import ToolResult, cut_lines, fence
from reveries.tools.tool_group import ToolGroup, offer_tool

SERVER: Final = "web"
_SECONDS: Final = 20.0
_MOST_BYTES: Final = 2_000_000
_MOST_REDIRECTS: Final = 3
_MOST_FOUND: Final = 10
_ADDRESS: Final = re.compile(r"https?://[^\s<>\"'`|\\^{}\[\]()]+", re.IGNORECASE)
_TRAILING: Final = ".,;:!?*_"
_TRANSLATED: Final = tuple(
    ipaddress.ip_network(network) for network in ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")
)
"""IPv6 networks whose addresses contain an IPv4 address, which may be a local one."""
_CHARSETS: Final = (
    "utf-8", "ascii", "iso8859", "cp125", "utf-16", "koi8", "shift_jis", "euc_", "gb", "big5", "mac-roman",
)  # fmt: skip
"""Prefixes of the encodings that pages are decoded from: others, such as punycode, take quadratic time."""
_FED_CHARS: Final = 65_536
_MOST_UNREAD_CHARS: Final = 200_000
_TEXT_TYPES: Final = ("text/", "application/json", "application/xml", "application/xhtml+xml")

Resolve = Callable[[str, int], Awaitable[list[str]]]


class Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, msgspec.Meta(min_length=8, max_length=2_000)]
    from_line: Annotated[int, msgspec.Meta(ge=1)] = 1


class WebSearch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[str, msgspec.Meta(min_length=1, max_length=300)]


async def resolve_name(host: str, port: int) -> list[str]:
    """Resolve a host to its addresses. Raises OSError."""
    addresses = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in addresses))


@dataclass(slots=True)
class WebTools(ToolGroup):
    """The web tools of one task: each result adds to the addresses that may be fetched."""

    server = SERVER

    known_text: str
    """The owner's own words: addresses in them may be fetched."""
    search_url: str = ""
    """A SearXNG endpoint; empty: no search."""
    resolve: Resolve = resolve_name
    transport: httpx.AsyncBaseTransport | None = None
    _known: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._known |= addresses_in(self.known_text)

    def note_known(self, text: str) -> None:
        """Allow the addresses in a result to be fetched."""
        self._known |= addresses_in(text)

    def check_address(self, given: Fetch) -> None:
        """Raise ToolError for an address that a model composed."""
        if plain_address(given.url) not in self._known and gates.is_enforced(ToolGate.ADDRESS):
            raise ToolError(
                f"{given.url[:200]} is no address that the owner wrote or that stands in a fetched page.",
                advice="Name one of those, or ask the owner for it.",
            )

    @offer_tool(
        "A page that the owner named, or that stands in a result of the web.",
        Reach.OUT,
        is_repeatable=False,
        check="check_address",
    )
    async def fetch(self, given: Fetch, _: ToolCaller) -> ToolResult:
        """Fetch a page. Raises ToolError, without any text of the page: errors are not fenced."""
        self.check_address(given)
        url = plain_address(given.url)
        text, hosts = await self._get_page(url)
        self.note_known(text)
        lines = text.splitlines()
        kept, rest = cut_lines(lines, given.from_line)
        more = f"\nIt goes on: from_line {rest}." if rest else ""
        head = f"{url}, line {given.from_line} to {given.from_line + len(kept) - 1} of {len(lines)}:"
        return ToolResult(
            f"{head}\n{fence(kept, given.from_line)}{more}",
            frozenset(source_of_host(host) for host in hosts),
            hosts=tuple(hosts),
        )

    @offer_tool("Search the web: addresses with a line each.", Reach.OUT, is_repeatable=False)
    async def web_search(self, given: WebSearch, _: ToolCaller) -> ToolResult:
        """Raises ToolError."""
        parameters = {"q": given.query, "format": "json"}
        # The owner configured this address: it may be a local one.
        body = await self._get(self.search_url, {}, parameters)
        try:
            results = msgspec.json.decode(body, type=_SearchAnswer, strict=False).results[:_MOST_FOUND]
        except msgspec.MsgspecError as error:
            raise ToolError(
                "The search gave no answer that can be read.", advice="Look at [web] search_url."
            ) from error
        self._known |= {plain_address(result.url) for result in results}
        lines = [
            line for result in results for line in (f"{result.url} · {result.title}", f"    {result.content[:300]}")
        ]
        host = urlsplit(self.search_url).hostname or "search"
        return ToolResult(
            f"{len(results)} found for “{given.query[:80]}”:\n{fence(lines)}",
            frozenset({source_of_host(host)}),
            hosts=(host,),
        )

    async def _get_page(self, url: str) -> tuple[str, list[str]]:
        hosts: list[str] = []
        for _ in range(_MOST_REDIRECTS + 1):
            try:
                host, port = _host_and_port(url)
                address = await self._public_address(host, port)
            except ToolError as error:
                if not hosts:
                    raise
                fault = f"{hosts[0]} leads to no public address of the web."
                raise ToolError(fault, advice="Try another one.") from error
            parts = urlsplit(url)
            hosts.append(host)
            shown = f"[{address}]" if ":" in address else address
            pinned = urlunsplit((parts.scheme, f"{shown}:{port}", parts.path or "/", parts.query, ""))
            answer = await self._request(pinned, {"Host": parts.netloc}, None, host)
            if isinstance(answer, _WebPage):
                # A hostile page can be slow to parse: not on the event loop.
                return await asyncio.to_thread(readable_text, answer.text, answer.is_html, url), hosts
            url = _joined(url, answer)
        raise ToolError(f"{hosts[0]} leads on and on.", advice="Name the page itself.")

    async def _public_address(self, host: str, port: int) -> str:
        try:
            addresses = await self.resolve(host, port)
        except (OSError, UnicodeError) as error:
            raise ToolError(f"{host} is not found.", advice="Is the network there?") from error
        if not addresses or not all(is_public(address) for address in addresses):
            raise ToolError(f"{host} is no public address.", advice="Only the public web is fetched.")
        return addresses[0]

    async def _get(self, url: str, headers: dict[str, str], parameters: dict[str, str]) -> bytes:
        answer = await self._request(url, headers, parameters, "")
        if isinstance(answer, str):
            raise ToolError("The search leads elsewhere.", advice="Look at [web] search_url.")
        return answer.text.encode()

    async def _request(
        self, url: str, headers: dict[str, str], parameters: dict[str, str] | None, host: str
    ) -> "_WebPage | str":
        """Return the page, or the address it redirects to. No proxy, cookie or other local setting is used."""
        extensions = {"sni_hostname": host} if host else {}
        headers = {"User-Agent": "reveries", "Accept": "text/html, text/plain, application/json"} | headers
        try:
            async with (
                asyncio.timeout(_SECONDS),
                httpx.AsyncClient(trust_env=False, transport=self.transport, timeout=_SECONDS) as client,
                client.stream("GET", url, headers=headers, params=parameters, extensions=extensions) as answer,
            ):
                if answer.is_redirect:
                    return str(answer.headers.get("location", ""))
                if answer.is_error:
                    raise ToolError(f"The page answered with {answer.status_code}.", advice="Try another one.")
                kind = answer.headers.get("content-type", "text/plain").lower()
                if not kind.startswith(_TEXT_TYPES):
                    raise ToolError("The page is no text.", advice="Only text is read.")
                body = b""
                async for piece in answer.aiter_bytes():
                    body += piece
                    if len(body) > _MOST_BYTES:
                        break
                text = body[:_MOST_BYTES].decode(_charset(answer.charset_encoding), "replace")
                return _WebPage(text, is_html="html" in kind)
        except (httpx.HTTPError, httpx.InvalidURL, LookupError, ValueError, TimeoutError) as error:
            raise ToolError(
                f"The page could not be had ({type(error).__name__}).", advice="Try another one."
            ) from error


@dataclass(frozen=True, slots=True)
class _WebPage:
    text: str
    is_html: bool


class _Found(msgspec.Struct, frozen=True):
    url: str
    title: str = ""
    content: str = ""


class _SearchAnswer(msgspec.Struct, frozen=True):
    results: list[_Found] = []


def _charset(named: str | None) -> str:
    """The named encoding if it is one of the allowed ones; else UTF-8."""
    try:
        encoding = codecs.lookup(named or "utf-8").name
    except (LookupError, ValueError):
        return "utf-8"
    return encoding if encoding.startswith(_CHARSETS) else "utf-8"


def _joined(url: str, target: str) -> str:
    """The absolute address of a link; empty if it is invalid."""
    try:
        return plain_address(urljoin(url, target))
    except ValueError:
        return ""


def addresses_in(text: str) -> set[str]:
    """The web addresses in a text, without punctuation at their end. Pure."""
    return {plain_address(address.rstrip(_TRAILING)) for address in _ADDRESS.findall(text)}


def plain_address(url: str) -> str:
    """An address without its fragment (the part after `#`). Pure."""
    return url.strip().partition("#")[0].removesuffix("/")


def is_public(address: str) -> bool:
    """Whether an IP address is a public one. Pure."""
    if not gates.is_enforced(ToolGate.PUBLIC):
        return True
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            return is_public(str(ip.ipv4_mapped))
        if any(ip in network for network in _TRANSLATED):
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _host_and_port(url: str) -> tuple[str, int]:
    """Raises ToolError."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        raise ToolError(f"{url[:200]} is no web address.", advice="It begins with https://")
    return host, port or (443 if parts.scheme == "https" else 80)


def readable_text(text: str, is_html: bool, url: str) -> str:
    """A page as lines of text, with the address of each link after its words. Pure."""
    if not is_html:
        return text
    parser = _TextParser(url)
    for start in range(0, len(text), _FED_CHARS):
        parser.feed(text[start : start + _FED_CHARS])
        # An unclosed tag is parsed again with each piece.
        if len(parser.rawdata) > _MOST_UNREAD_CHARS:
            break
    else:
        parser.close()
    return "\n".join(_tidy_lines("".join(parser.pieces).splitlines()))


def _tidy_lines(lines: Iterable[str]) -> list[str]:
    return [line for line in (" ".join(line.split()) for line in lines) if line]


class _TextParser(HTMLParser):
    """Collects text without scripts and styles, one line per block."""

    _BLOCKS: Final = frozenset({
        "p", "div", "li", "tr", "br", "h1", "h2", "h3", "h4", "h5", "h6", "section", "article", "table", "pre",
        "dd", "dt",
    })  # fmt: skip
    _SKIPPED: Final = frozenset({"script", "style", "noscript", "svg", "template"})

    def __init__(self, url: str) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._url = url
        self._depth = 0
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self._SKIPPED:
            self._depth += 1
        elif tag in self._BLOCKS:
            self.pieces.append("\n")
        elif tag == "a":
            target = _joined(self._url, dict(attrs).get("href") or "")
            self._link = target if target.startswith(("http://", "https://")) else ""

    def handle_endtag(self, tag: str) -> None:
        if tag in self._SKIPPED:
            self._depth = max(0, self._depth - 1)
        elif tag in self._BLOCKS:
            self.pieces.append("\n")
        elif tag == "a" and self._link:
            self.pieces.append(f" <{self._link}> ")
            self._link = ""

    def handle_data(self, data: str) -> None:
        if not self._depth:
            self.pieces.append(data)
