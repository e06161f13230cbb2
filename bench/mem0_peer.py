"""Speed of mem0 for adding and searching the same texts with the same vectors: the part of `speed.py --mem0` that runs
in a Python environment with mem0 (it pins its own numpy); imports nothing of ours.

    PYTHON bench/mem0_peer.py FOLDER

FOLDER holds texts.json, vectors.npy, cues.json and cue_vectors.npy. Local Qdrant store, `infer=False` (no language
model takes part), no keyword search. Prints one JSON object: milliseconds of processor time, all threads.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import numpy as np

_WARM_UPS = 5
_LAST_ADDED = 500
_TOP = 10


class Given:
    """An embedder with precomputed vectors, so that only the store is timed."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self._vectors = vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of a text that was given."""
        return self._vectors[text]


def main(folder: Path) -> None:
    """Add everything, one memory at a time as talk comes, then search."""
    os.environ["MEM0_DIR"] = str(folder / "mem0")
    from mem0 import Memory  # type: ignore[import-not-found, unused-ignore]  # in an environment of its own

    texts, cues = (json.loads((folder / name).read_text(encoding="utf-8")) for name in ("texts.json", "cues.json"))
    vectors, cue_vectors = np.load(folder / "vectors.npy"), np.load(folder / "cue_vectors.npy")
    config = {
        "vector_store": {
            "provider": "qdrant",
            "config": {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": vectors.shape[1]},
        },
        "history_db_path": str(folder / "history.db"),
    }
    memory = Memory.from_config(config)
    known = dict(zip([*texts, *cues], [*vectors.tolist(), *cue_vectors.tolist()], strict=True))
    memory.embedding_model = Given(known)
    adding = [
        _timed(lambda text=text: memory.add([{"role": "user", "content": text}], user_id="owner", infer=False))  # type: ignore[misc]
        for text in texts
    ]
    searching = [
        _timed(lambda cue=cue: memory.search(cue, top_k=_TOP, filters={"user_id": "owner"}))  # type: ignore[misc]
        for cue in [*cues[:_WARM_UPS], *cues]
    ][_WARM_UPS:]
    print(json.dumps({"add_ms": _median(adding[-_LAST_ADDED:]), "search_ms": _median(searching)}))


def _timed(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _median(seconds: list[float]) -> float:
    return round(1000 * float(np.median(seconds)), 3)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
