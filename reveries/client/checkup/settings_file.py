"""Checks that the settings can be read, and names the line that is wrong."""

import re
from collections.abc import Iterator

from reveries.client.checkup.place import Place
from reveries.config import read_toml
from reveries.errors import ConfigError
from reveries.protocol import Fault, Finding

INVALID = Fault("config-invalid", "wrong", "The settings cannot be read, or one is wrong.", "Fix that line.")


def check(place: Place) -> Iterator[Finding]:
    """Yield the finding for a settings error, with its line."""
    file, error = place.home.config, place.settings
    if not isinstance(error, ConfigError):
        return
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (UnicodeDecodeError, OSError):
        yield INVALID.found(error.message, error.advice, file)
        return
    try:
        read_toml(file)
    except ConfigError:
        number = re.search(r"at line (\d+)", error.message)
        # An error without a line number is about the end of the file.
        line = int(number.group(1)) if number else max(1, len(text.splitlines()))
        yield INVALID.found(error.message, f"Fix line {line} of {file}.", f"{file}:{line}")
        return
    key = re.search(r"setting (\S+)", error.message)
    where = f"{file}:{find_key_line(text, key.group(1))}" if key else file
    yield INVALID.found(error.message, error.advice, where)


def find_key_line(text: str, key: str) -> int:
    """Return the line (from 1) of a dotted `key` in a TOML file, or of its table; 1 if not found."""
    table, best = "", 1
    for number, row in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", row):
            table = re.sub(r"[\"'\s]", "", header.group(1))
            if key == table or key.startswith(f"{table}."):
                best = number
        elif name := re.match(r"\s*([\w.\"'-]+)\s*=", row):
            full = ".".join(filter(None, (table, re.sub(r"[\"']", "", name.group(1)))))
            if full == key or key.startswith(f"{full}."):
                return number
    return best
