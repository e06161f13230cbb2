"""What the README and the first pages tell people to type is there."""

import re
import shlex
from pathlib import Path

import click

from reveries.client.cli import cli
from tests.rows import check_rows

_ROOT = Path(__file__).parents[2]
_PAGES = [_ROOT / "README.md", _ROOT / "docs/start.md", *sorted((_ROOT / "docs/howto").glob("*.md"))]
_LINE = re.compile(r"^ {4}(?:\.venv/bin/)?reveries(?: (?P<words>[^#|<;\n]*))?(?:[#|<;].*)?$", re.MULTILINE)


def _ends_where(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that `words` name, and what is left for it."""
    command: click.Command = cli
    context = click.Context(command)
    while words and isinstance(command, click.Group) and (inner := command.get_command(context, words[0])):
        command, words = inner, words[1:]
        context = click.Context(command)
    return command, words


@check_rows("page", _PAGES)
def test_every_command_of_the_page_exists_with_its_options(page: Path) -> None:
    for match in _LINE.finditer(page.read_text(encoding="utf-8")):
        words = shlex.split(match["words"] or "")
        command, rest = _ends_where(words)
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in rest if word.startswith("-")} <= known | {"--help", "--version"}, match[0]
        assert command is not cli or not [word for word in rest if not word.startswith("-")], match[0]


def test_the_readme_shows_what_it_looks_like_and_how_to_begin_within_one_screen() -> None:
    first = (_ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:40]
    assert any("make wake" in row for row in first)
    assert any("docs/images/chat.svg" in row for row in first)
    assert (_ROOT / "docs/images/chat.svg").exists()
