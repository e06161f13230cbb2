"""A worker process that ends without its result."""

import pytest

from reveries import protocol
from reveries.client.offline_worker import run_for_frame
from reveries.errors import ModelUnavailableError, StorageError

_SILENT_MODULE = "this"
"""Ends with 0, and prints no object."""


def test_a_worker_without_a_result_is_the_error_that_its_caller_names() -> None:
    with pytest.raises(ModelUnavailableError, match="test ended without a result"):
        run_for_frame(protocol.ModelsProbed, "test", module=_SILENT_MODULE)
    with pytest.raises(StorageError, match="The export"):
        run_for_frame(
            protocol.MindMoved, "mind-export", module=_SILENT_MODULE, otherwise=StorageError("The export failed.")
        )
