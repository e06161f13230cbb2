"""What the mind asks a model: one Markdown file a question, filled with `$name` placeholders."""

from importlib import resources
from string import Template


def prompt(question: str, **values: str) -> str:
    """The text of `question`.md with `values` filled in.

    Raises KeyError when a placeholder has no value, FileNotFoundError when there is no such question.
    """
    source = resources.files("reveries.prompts").joinpath(f"{question}.md").read_text(encoding="utf-8")
    return Template(source).substitute(values).strip()
