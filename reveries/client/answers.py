"""How answers are shown to people and to programs.

`@page_of(Answer)` stands beside the function that builds the page of an answer, `@json_option(Answer)` on the command
that prints it. `--json`, the pages of the conversation and docs/reference/json.md read them from here.
"""

import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

import click
import msgspec

from reveries.client.render import Page, show, show_json

_F = TypeVar("_F", bound=Callable[..., Any])


class AnswerPage(NamedTuple):
    """How answers of one type are shown; `title`: what the conversation writes over the page."""

    build: Callable[..., Page]
    takes_now: bool
    title: str


PAGES: Final[dict[type[msgspec.Struct], AnswerPage]] = {}
"""By type of answer, as far as their modules are imported."""


def page_of(answer: type[msgspec.Struct], title: str = "") -> Callable[[_F], _F]:
    """Register a function that builds the page of `answer` from the answer and, if it has a parameter `now`, the time
    in unix seconds."""

    def register(build_page: _F) -> _F:
        assert answer not in PAGES, f"{answer.__name__} has two pages."
        PAGES[answer] = AnswerPage(build_page, "now" in inspect.signature(build_page).parameters, title)
        return build_page

    return register


def render_answer(answer: msgspec.Struct, now: float) -> Page:
    """Render `answer` as its page, as wide as `page_columns` says."""
    page = PAGES[type(answer)]
    return page.build(answer, now) if page.takes_now else page.build(answer)


def print_answer(answer: msgspec.Struct, as_json: bool, build_page: Callable[[], Page] | None = None) -> None:
    """Print `answer` as JSON, or as the page that `build_page` builds; without it, as the page of its type."""
    if as_json:
        show_json(answer)
    else:
        show(render_answer(answer, time.time()) if build_page is None else build_page())


class JsonOption(click.Option):
    """`--json`. `answers`: what the command prints with it, by the arguments that change it ("" for none): a struct, or
    a description where it is none. `takes_long`: it reports progress on standard error, as ProgressLine."""

    def __init__(
        self, *words: Any, answers: Mapping[str, type[msgspec.Struct] | str], takes_long: bool, **given: Any
    ) -> None:
        super().__init__(*words, **given)
        self.answers = answers
        self.takes_long = takes_long


def json_option(
    answer: type[msgspec.Struct] | str,
    variants: Mapping[str, type[msgspec.Struct]] | None = None,
    *,
    help: str = "Print one JSON object.",
    takes_long: bool = False,
) -> Callable[[_F], _F]:
    """Add `--json` to a command that prints `answer`; see JsonOption."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        help=help,
        cls=JsonOption,
        answers={"": answer, **(variants or {})},
        takes_long=takes_long,
    )
