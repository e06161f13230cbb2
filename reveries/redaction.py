"""Secrets out of text that is written or shown: logs, errors, tracebacks, settings, what the command line says (F6).

The last step before a text leaves for a file or a screen. What is known to be a secret is found word for word and in
the ways it may be written; what only looks like one is found by the forms that vendors give their keys, by what is
called a key, and by where addresses and headers carry them. Memory itself is never redacted: it is the owner's.
"""

import base64
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

REDACTED: Final = "[secret]"
_SHORTEST: Final = 8

# Keys as their makers write them, tokens that say of what kind they are, and private keys.
_START: Final = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""Where a word begins; also after a line break that was written as two signs."""
_FORMS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    rf"|{_START}(?:"
    r"(?:sk|csk|xai|gsk|fw|pplx|nvapi|tgp|[rps]k_live|r8|hf|sbp|glpat|dop_v1|lin_api)[-_][\w-]{8,}"
    r"|(?:gh[pousr]|github_pat|xox[abeoprs]|npm|pypi)[-_][\w-]{10,}"
    r"|AIza[\w-]{20,}|ya29\.[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*"
    r"|\d{8,}:[\w-]{30,})",
    re.DOTALL,
)
# After a word that says so; the word stays.
_HEADERS: Final = re.compile(rf"(?i){_START}(bearer|basic|token)(\s+)[\w.~+/=-]{{8,}}")
_NAMED: Final = re.compile(
    r"""(?ix)
    ([\w-]*(?:api[_-]?key|apikey|access[_-]?key|secret(?:[_-]?key)?|passw(?:or)?d|passphrase|auth[_-]?token|token
      |credential|signature|authorization)
    ["'\\]*\s*(?:=|:|=>)\s*["'\\]*)
    (?!\[secret\]|bearer\b|basic\b|true\b|false\b|none\b|null\b)
    ([^\s"'\\,;&}\])]{6,})"""
)
_IN_ADDRESS: Final = re.compile(r"(//)(?!\*\*\*@|\[\w+\]@)[^/@\s\"']+@")
_IN_QUERY: Final = re.compile(
    r"(?i)([?&](?:key|api[_-]?key|[\w-]*token|secret|sig(?:nature)?|password|code)=)[^&\s\"']+"
)


def redacted(text: str, known: Iterable[str] = ()) -> str:
    """`text` with every secret in it replaced: the `known` ones (see `spellings`) wherever they stand, and what has the
    form of one."""
    for secret in known:
        text = text.replace(secret, REDACTED)
    text = _FORMS.sub(REDACTED, text)
    text = _IN_ADDRESS.sub(rf"\g<1>{REDACTED}@", text)
    text = _IN_QUERY.sub(rf"\g<1>{REDACTED}", text)
    text = _HEADERS.sub(rf"\g<1>\g<2>{REDACTED}", text)
    return _NAMED.sub(rf"\g<1>{REDACTED}", text)


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """The ways in which these secrets may be written, longest first. Those of a few letters are left out: they would
    take ordinary words with them."""
    found: set[str] = set()
    for secret in secrets:
        if len(secret) < _SHORTEST:
            continue
        raw = secret.encode("utf-8", "replace")
        found |= {secret, quote(secret, safe=""), base64.b64encode(raw).decode("ascii").rstrip("="), raw.hex()}
        found.add(base64.urlsafe_b64encode(raw).decode("ascii").rstrip("="))
    return tuple(sorted(found, key=lambda spelling: (-len(spelling), spelling)))
