"""Names of projects that are made from what they are for. Pure."""

from itertools import chain, count

from reveries.projects.store import LONGEST_NAME_CHARS


def derive_project_name(vision: str, taken: set[str]) -> str:
    """Return the first words of a vision as an unused name. `taken` holds case-folded names. Pure."""
    name = ""
    for word in vision.split():
        if len(name) + len(word) + 1 > LONGEST_NAME_CHARS - 4 or name.endswith((".", ":", ";")):
            break
        name = f"{name} {word}".strip()
    name = name.rstrip(".,:;") or vision.strip()[: LONGEST_NAME_CHARS - 4]
    candidates = chain([name], (f"{name} {number}" for number in count(2)))
    return next(one for one in candidates if one.casefold() not in taken)
