"""What `reveries doctor` is told."""

import msgspec

from reveries.faults import FAULTS
from reveries.plaintext import one_line
from reveries.protocol.message import Message

_LONGEST_CHARS = 1000


class Finding(msgspec.Struct, frozen=True):
    """One fault (docs/reference/faults.md). `severity`: wrong, watch or note. `where`: the file, or the setting."""

    fault: str
    severity: str
    sentence: str
    advice: str
    where: str = ""
    is_mendable: bool = False


class Checkup(Message, frozen=True):
    """`looked_at`: what was examined, in words; `not_looked_at`: what could not be, and why."""

    request_id: int
    findings: list[Finding]
    looked_at: list[str]
    not_looked_at: list[str]


def found(fault: str, sentence: str = "", advice: str = "", where: str = "") -> Finding:
    """The finding of one of FAULTS; its own words where none are given."""
    known = FAULTS[fault]
    return Finding(
        fault,
        known.severity,
        one_line(sentence, _LONGEST_CHARS) or known.meaning,
        advice or known.next_step,
        where,
        known.is_mended,
    )
