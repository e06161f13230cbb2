"""Checks what is installed, without importing it."""

from collections.abc import Iterator

from reveries.client.checkup.api_key import hosted_providers
from reveries.client.checkup.place import Place
from reveries.config import Settings
from reveries.protocol import Fault, Finding

_INSTALL = "Install Reveries again: make install, in its clone"
_NEEDED = (
    "aiosqlite",
    "apscheduler",
    "icalendar",
    "numpy",
    "ollama",
    "onnxruntime",
    "recurring_ical_events",
    "structlog",
    "tokenizers",
    "xllamacpp",
)
_ADVISED = ("numba", "sqlite_vec")

PATH_FILE = Fault("path-file", "watch", "A file of no package runs code whenever this Python starts.", "Read it.")
MISSING = Fault("package-missing", "wrong", "A Python package is missing.", _INSTALL, hides_memory=True)
ADVISED = Fault("package-advised", "note", "Reveries is slower without a Python package.", _INSTALL)
HOSTED_MISSING = Fault(
    "hosted-missing", "wrong", "A hosted provider is chosen without litellm.", "In its clone: make hosted"
)


def check(place: Place) -> Iterator[Finding]:
    """Yield what is missing, and what is there that should not be."""
    if not isinstance(settings := place.settings, Settings):
        return
    for fault, packages in ((MISSING, _NEEDED), (ADVISED, _ADVISED)):
        for package in packages:
            if not place.machine.is_installed(package):
                name = package.replace("_", "-")
                yield fault.found(f"{fault.meaning.removesuffix('.')}: {name}.", where=name)
    hosted = hosted_providers(settings.llm)
    if hosted and not place.machine.is_installed("litellm"):
        yield HOSTED_MISSING.found(f"{hosted[0]} is chosen, but litellm is not installed.", where="litellm")
    for file in place.machine.path_files():
        yield PATH_FILE.found(where=file)
