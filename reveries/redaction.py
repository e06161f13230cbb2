"""Redaction of secrets in text that is written or shown: logs, errors, tracebacks, settings, output (F6).

This is the last step before a text is written to a file or a screen. Known secrets are found literally and in their
encodings; unknown ones by the formats of vendors' keys, by names such as "api_key", and by their place in URLs and
headers. Memory itself is never redacted: it is the owner's.
"""

import base64
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

REDACTED: Final = "[secret]"
_SHORTEST: Final = 8

# Keys in vendors' formats, tokens with a type prefix, and private keys.
_START: Final = r"(?:(?<!\w)|(?<=\\[nrt]))"
"""The beginning of a word; also after an escaped line break (backslash and n)."""
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
# After a word that announces a secret; the word itself stays.
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


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` with its secrets replaced: `secrets` (see `list_spellings`), and whatever has the form of a
    secret."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    text = _FORMS.sub(REDACTED, text)
    text = _IN_ADDRESS.sub(rf"\g<1>{REDACTED}@", text)
    text = _IN_QUERY.sub(rf"\g<1>{REDACTED}", text)
    text = _HEADERS.sub(rf"\g<1>\g<2>{REDACTED}", text)
    return _NAMED.sub(rf"\g<1>{REDACTED}", text)


def list_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the secrets in plain, URL-encoded, base64 and hex form, longest first. Very short ones are left out,
    because ordinary words would be redacted with them."""
    spellings: set[str] = set()
    for secret in secrets:
        if len(secret) < _SHORTEST:
            continue
        raw = secret.encode("utf-8", "replace")
        spellings |= {secret, quote(secret, safe=""), base64.b64encode(raw).decode("ascii").rstrip("="), raw.hex()}
        spellings.add(base64.urlsafe_b64encode(raw).decode("ascii").rstrip("="))
    return tuple(sorted(spellings, key=lambda spelling: (-len(spelling), spelling)))
