"""Settings for the Model Context Protocol: programs that may write, and servers whose tools may be used."""

from typing import Annotated

import msgspec

_Text = Annotated[str, msgspec.Meta(min_length=1)]
ServerName = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]


class McpServerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An MCP server whose tools projects may be granted: a command to start, or a URL."""

    command: tuple[_Text, ...] = ()
    url: Annotated[str, msgspec.Meta(max_length=500)] = ""
    look: tuple[_Text, ...] = ()
    network: bool = False
    reads: tuple[_Text, ...] = ()
    writes: tuple[_Text, ...] = ()
    environment_file: str = ""
    token_file: str = ""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server needs either a command or a url")


class McpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    may_write: tuple[_Text, ...]
    servers: dict[ServerName, McpServerSettings]
