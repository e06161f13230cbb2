"""What the mind asks a model: one Markdown file a question, filled with `$name` placeholders."""

from functools import cache
from importlib import resources
from string import Template


def prompt(question: str, **values: str) -> str:
    """The text of `question`.md with `values` filled in.

    Raises KeyError when a placeholder has no value, FileNotFoundError when there is no such question.
    """
    return _template(question).substitute(values).strip()


@cache
def _template(question: str) -> Template:
    return Template(resources.files("reveries.prompts").joinpath(f"{question}.md").read_text(encoding="utf-8"))
