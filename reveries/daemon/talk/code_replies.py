"""What code says in a reply, in the place of the model or after its words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeReply:
    """Words of code. `is_tainted`: they quote a text that others wrote."""

    text: str
    is_tainted: bool = False
