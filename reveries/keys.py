"""Which keys the terminal interface obeys: a table of config.toml of its own."""

from typing import Annotated

import msgspec

KeyNames = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_+,\-?]*$")]


class KeySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Textual's names of keys, several apart by commas; empty: no key."""

    stop: KeyNames
    leave: KeyNames
    newest: KeyNames
    side: KeyNames
    help: KeyNames
    edit: KeyNames
    past: KeyNames
    copy: KeyNames
    mark_up: KeyNames
    mark_down: KeyNames
    context: KeyNames
    recalled: KeyNames
    memory: KeyNames
    sleeps: KeyNames
    thoughts: KeyNames
    status: KeyNames
    conversations: KeyNames
    graph: KeyNames
    projects: KeyNames
