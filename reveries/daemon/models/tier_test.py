"""Runs the tier tasks of `reveries models test` on each role's model, and stores the results.

Each task is a normal call through the ledger, charged to the first role that uses the model. An incomplete test changes
no tier.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reveries import protocol
from reveries.clock import Clock
from reveries.daemon.models.model_probe import CallWatch, select_roles, sum_usage
from reveries.errors import ModelError, ReveriesError, StorageError
from reveries.llm.base import CHAT_ROLES, Role
from reveries.llm.choose import HOSTED_PROVIDERS
from reveries.llm.circuits import Circuits
from reveries.llm.role_model import ModelCandidate
from reveries.llm.sight import SIGHT_NUMBERS, assumed_to_see, is_number_read, sight_prompt
from reveries.llm.structured import collect
from reveries.llm.tier import GroupScore, Tier
from reveries.llm.tier_results import TierResults
from reveries.llm.tier_test_tasks import TIER_GROUPS, Task, TaskGroup, all_tasks, is_right, prompt_of

TEST_SECONDS = 1800.0
"""Time limit per model, with loading. The default model needs five minutes on two cores."""

_TOKENS_TO_REASON = 512
"""A hosted model may use hidden reasoning tokens before it answers."""


@dataclass(frozen=True, slots=True)
class TierTester:
    """Tests models. `tell` gets the current task, how many are done, and the total."""

    chat: Mapping[Role, ModelCandidate]
    """The first model of each role, behind the ledger."""
    tier_of: Callable[[Role], Tier]
    results: TierResults
    circuits: Circuits
    clock: Clock
    tell: Callable[[str, int, int], None]

    async def test(self, role: str = "") -> list[protocol.TierTest]:
        """Test the models of all roles, or of `role`, each model once. A failing model is a result. Raises
        NotFoundError, StorageError."""
        first: dict[str, Role] = {}
        for chosen in select_roles(role):
            if chosen in CHAT_ROLES:
                first.setdefault(self.chat[chosen].model.name, chosen)
        return [await self._test(tested) for tested in first.values()]

    async def _test(self, role: Role) -> protocol.TierTest:
        watch = CallWatch(self.chat[role], self.circuits, self.clock)
        began = self.clock.monotonic()
        scores: Sequence[GroupScore] = ()
        tier, error, advice = self.tier_of(role), "", ""
        try:
            async with asyncio.timeout(TEST_SECONDS):
                scores = await self._run_tasks(role, watch)
            tier = (await self.results.record(watch.name, scores, self.clock.now())).tier
        except StorageError:
            raise
        except ReveriesError as failed:
            error, advice = failed.message, failed.advice
        except TimeoutError:
            error = f"It did not finish its tasks within {TEST_SECONDS / 60:.0f} minutes."
            advice = "Choose a smaller model, or test again when the machine has nothing else to do."
        used = sum_usage(watch)
        return protocol.TierTest(
            model=watch.name,
            tier=int(tier),
            scores=[protocol.TierScore(score.group.value, score.right, score.asked) for score in scores],
            seconds=self.clock.monotonic() - began,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            dollars=used.dollars,
            error=error,
            advice=advice,
        )

    async def _run_tasks(self, role: Role, watch: CallWatch) -> list[GroupScore]:
        tasks = all_tasks()
        right: list[Task] = []
        for done, task in enumerate(tasks):
            self.tell(f"{watch.name}: task {done + 1} of {len(tasks)}", done, len(tasks))
            if await self._passes(task, role, watch):
                right.append(task)
        scores = [_group_score(group, tasks, right) for group in TIER_GROUPS]
        if assumed_to_see(watch.name):
            seen = [await self._reads_picture(number, role, watch) for number in SIGHT_NUMBERS]
            scores.append(GroupScore(TaskGroup.SIGHT, sum(seen), len(seen)))
        return scores

    async def _passes(self, task: Task, role: Role, watch: CallWatch) -> bool:
        text, reason = await collect(watch, prompt_of(task, role, _least_tokens(watch)))
        return is_right(task, text, reason)

    async def _reads_picture(self, number: str, role: Role, watch: CallWatch) -> bool:
        """Whether the model reads a number in a picture; one that refuses pictures does not."""
        try:
            text, _ = await collect(watch, sight_prompt(role, number, _least_tokens(watch)))
        except ModelError:
            return False
        return is_number_read(number, text)


def _least_tokens(watch: CallWatch) -> int:
    return _TOKENS_TO_REASON if watch.candidate.provider in HOSTED_PROVIDERS else 0


def _group_score(group: TaskGroup, tasks: Sequence[Task], right: Sequence[Task]) -> GroupScore:
    return GroupScore(group, sum(task.group is group for task in right), sum(task.group is group for task in tasks))
