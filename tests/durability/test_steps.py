"""A2: ended at each step where it matters what is on the disk and who knows of it, a mind loses and doubles nothing."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reveries.db.failpoints import Step
from reveries.db.schemas import SCHEMA_VERSION
from tests.durability.mind import Zygote
from tests.durability.steps import stop_at

AT_EVERY_RUN = (Step.WORDS_STORED, Step.EXCHANGE_STORED, Step.BACKUP_VERIFIED, Step.MIGRATION_STEP)
LATER = {
    Step.BEFORE_COMMIT: (7, 25),
    Step.AFTER_COMMIT: (7, 25),
    Step.CALL_RESERVED: (5,),
    Step.MIGRATION_STEP: (SCHEMA_VERSION - 1,),
}
"""Steps that come often: which time, beside the first."""
_OTHERS = [
    (step, times) for step in Step for times in (1, *LATER.get(step, ())) if times > 1 or step not in AT_EVERY_RUN
]
_STEPS_BETWEEN = [
    pytest.param(Step.MIGRATION_STEP, times, marks=pytest.mark.long) for times in range(2, SCHEMA_VERSION - 1)
]


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote.start()
    yield started
    started.close()


async def stopped(step: Step, times: int, zygote: Zygote) -> None:
    # Not tmp_path: a socket's path may have about a hundred bytes.
    with tempfile.TemporaryDirectory(prefix="rvs") as folder:
        seen = await stop_at(step, times, Path(folder), zygote)
    assert seen.was_hit
    assert seen.wrong == []


@pytest.mark.requirement("A2", "C2")
@pytest.mark.parametrize("step", AT_EVERY_RUN)
async def test_ended_at_a_step_it_loses_nothing_that_it_told(step: Step, zygote: Zygote) -> None:
    await stopped(step, 1, zygote)


@pytest.mark.system
@pytest.mark.requirement("A2", "C2")
@pytest.mark.parametrize(("step", "times"), [*_OTHERS, *_STEPS_BETWEEN])
async def test_ended_at_any_step_it_loses_nothing_that_it_told(step: Step, times: int, zygote: Zygote) -> None:
    await stopped(step, times, zygote)
