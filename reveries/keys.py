"""Key bindings of the terminal interface: the table [client.keys] of config.toml."""

from typing import Annotated

import msgspec

KeyNames = Annotated[str, msgspec.Meta(max_length=100, pattern=r"^[a-z0-9_+,\-?]*$")]


class KeySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Textual's key names, separated by commas; empty: no key."""

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
