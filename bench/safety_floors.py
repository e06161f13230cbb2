"""Minimum figures of the safety detectors: bench/safety/floors.toml, `--fail-below`.

The floors are the figures of the day they were written minus a margin, not goals (missed goals are in
docs/benchmarks/safety.md). A figure that was not measured, because its data is missing, is reported as not checked.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path


def fallen(figures: Mapping[str, float], file: Path) -> list[str]:
    """What of `figures` is beyond its bound in `file`, a sentence each. Raises OSError, and ValueError for a file that
    is no TOML."""
    bounds = tomllib.loads(file.read_text(encoding="utf-8"))
    found = [
        f"{name}: {figures[name]:.2%}, at least {least:.2%}"
        for name, least in bounds.get("at_least", {}).items()
        if name in figures and figures[name] < least
    ]
    found += [
        f"{name}: {figures[name]:.2%}, at most {most:.2%}"
        for name, most in bounds.get("at_most", {}).items()
        if name in figures and figures[name] > most
    ]
    return found


def not_measured(figures: Mapping[str, float], file: Path) -> list[str]:
    """The bounds that nothing was measured for."""
    bounds = tomllib.loads(file.read_text(encoding="utf-8"))
    return [name for table in ("at_least", "at_most") for name in bounds.get(table, {}) if name not in figures]
