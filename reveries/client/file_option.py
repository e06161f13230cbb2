"""The type of a command-line option that names a file or folder to create."""

import os
from typing import Any

import click


class PathToCreate(click.Path):
    """A path that does not begin with `-`: `--mind --help` asks for help, and must not create a file of that name."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path. Raises click.BadParameter for what looks like an option."""
        if os.fspath(value).startswith("-"):
            self.fail(f"{value} looks like an option. For a path of that name: ./{value}", param, ctx)
        return super().convert(value, param, ctx)
