"""A million changes of relations, with what must hold of one checked after each (V-33..V-35, V-60, V-62, V-135).

    make soak PART=relations                  # or ARGS="--changes 1000000 --steps 20000"

`--changes` run on single relations in memory, through the pure functions; `--steps` on a real database with two
projects, with searches, replacements and their undoing, erasures and restarts in between. There each replacement is
checked at once, and every relation and chunk each 25 steps. Ends with 1 at the first violation.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # tests is not part of the package.

from reveries.knowledge.evolution import merge_statements, strengthen_relation, unarchive_relation, weaken_relation
from tests.knowledge.kit import stored_relation
from tests.knowledge.relation_life import RelationLife
from tests.knowledge.test_evolution import assert_whole
from tests.memory.kit import NOW

_A_RELATION = 50


def change_in_memory(changes: int, chance: random.Random) -> None:
    relation = stored_relation()
    for number in range(changes):
        if number % _A_RELATION == 0:
            relation = stored_relation(weight=chance.uniform(0.05, 1.0))
        amount = chance.uniform(0.0, 1.0)
        relation = chance.choice(
            (
                lambda one, by: strengthen_relation(one, NOW, by),
                lambda one, by: weaken_relation(one, NOW, "manual", by),
                lambda one, by: merge_statements(one, max(0.05, by), []),
                lambda one, by: unarchive_relation(one),
            )
        )(relation, amount)
        assert_whole(relation)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=1_000_000)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    began = time.perf_counter()
    change_in_memory(options.changes, random.Random(options.seed))
    print(f"{options.changes} changes in memory: all whole, {time.perf_counter() - began:.0f} s", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        life = RelationLife(Path(folder), options.seed)
        asyncio.run(life.live(options.steps, max(1, options.steps // 500)))
        print(f"{options.steps} steps on a file: all whole, {dict(life.done)}, {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
