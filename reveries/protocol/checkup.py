"""What `reveries doctor` finds. Each kind of fault is a `Fault` in the module that checks for it (client/checkup,
daemon/checkup), so a check is one file."""

from dataclasses import dataclass
from types import ModuleType
from typing import Literal

import msgspec

from reveries.protocol.message import Answer, Request
from reveries.protocol.registry import request
from reveries.safe_text import one_line

Severity = Literal["wrong", "watch", "note"]
"""wrong: something does not work, or is in danger. watch: it works, but may not for long. note: for information."""
FIX = "Fix it: reveries doctor --fix"
_LONGEST_CHARS = 1000


class Finding(msgspec.Struct, frozen=True):
    """One fault (docs/reference/faults.md). `severity`: wrong, watch or note. `where`: the file, or the setting."""

    fault: str
    severity: str
    sentence: str
    advice: str
    where: str = ""
    is_mendable: bool = False


class Checkup(Answer, frozen=True):
    """`looked_at`: what was checked, in words; `not_looked_at`: what could not be checked, and why."""

    findings: list[Finding]
    looked_at: list[str]
    not_looked_at: list[str]


@request(answer=Checkup, safe=True)
class AskCheckup(Request, frozen=True):
    """Check the memory, the models and the daemon. Answered by `Checkup`."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of fault. Its id never changes its meaning, because scripts rely on it.

    `hides_memory`: the memory and the models are not checked before this is solved.
    """

    id: str
    severity: Severity
    meaning: str
    next_step: str
    hides_memory: bool = False

    def found(self, sentence: str = "", advice: str = "", where: object = "") -> Finding:
        """Return that it was found at `where`; its meaning and next step are the defaults."""
        text = one_line(sentence, _LONGEST_CHARS) or self.meaning
        return Finding(self.id, self.severity, text, advice or self.next_step, str(where), self.is_fixable)

    @property
    def is_fixable(self) -> bool:
        """Whether `reveries doctor --fix` fixes it."""
        return self.next_step == FIX


def modules_in(package: ModuleType) -> list[ModuleType]:
    """Import and return the modules in the folder of `package`, by name."""
    import importlib
    import pkgutil

    return [
        importlib.import_module(f"{package.__name__}.{module.name}")
        for module in pkgutil.iter_modules(package.__path__)
    ]


def faults_in(package: ModuleType) -> dict[str, Fault]:
    """Return the faults that the checks in the folder of `package` know, by id."""
    faults = [value for module in modules_in(package) for value in vars(module).values() if isinstance(value, Fault)]
    return {fault.id: fault for fault in faults}
