"""The processes of `reveries.llm.assets` and `model_suggestion`, with a manifest and a machine that a test made.

TEST_MANIFEST names the file of the manifest, TEST_MACHINE is "CORES FREE_BYTES FREE_DISK_BYTES".
"""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import msgspec

from reveries.llm import assets, model_suggestion


def main(words: list[str]) -> int:
    """Like theirs."""
    known = tuple(msgspec.json.decode(Path(os.environ["TEST_MANIFEST"]).read_bytes(), type=list[assets.Asset]))
    cores, free_bytes, free_disk_bytes = (int(number) for number in os.environ["TEST_MACHINE"].split())
    with (
        patch.object(assets, "manifest", lambda: known),
        patch("shutil.disk_usage", lambda folder: SimpleNamespace(free=free_disk_bytes)),
        patch.object(model_suggestion, "read_machine_memory", lambda: SimpleNamespace(cores=cores)),
        patch.object(model_suggestion, "free_memory_bytes", lambda: free_bytes),
    ):
        return assets.main(words) if words else model_suggestion.main()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
