"""What every message is made of."""

from typing import Annotated

import msgspec

PROTOCOL_VERSION = 1
MAX_FRAME_BYTES = 4 * 1024 * 1024
MAX_TEXT_CHARS = 1_000_000
SAFE_MODE = "safe mode"
"""The state (`Status.state`) of a mind that shows what it knows and does nothing else."""

RequestId = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TEXT_CHARS)]


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="t", tag=str.lower):
    """A map with its name under `t`."""
