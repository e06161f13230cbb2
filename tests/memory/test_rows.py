"""What goes into a row comes out of it."""

import pytest

from reveries.memory.model import Pattern, SelfModel
from reveries.memory.rows import self_model_of, self_model_row


@pytest.mark.requirement("R-82", "R-83", "R-84", "R-85", "R-87", "R-150")
def test_a_self_model_survives_its_row_with_every_field() -> None:
    whole = SelfModel(
        narrative="I keep what I am told.",
        values=("honesty",),
        tendencies=("asks back",),
        owner_facts=("You sail.",),
        communication_style="short",
        patterns=(Pattern("worries in the evening", 0.5, ("e1", "e2")),),
        strengths=("remembers",),
        limitations=("small",),
        current_focus="the thesis",
        unresolved_threads=("Will Anna come back?",),
        anticipations=("a visit in March",),
        updated_at=1.5,
    )
    assert self_model_of(self_model_row(whole)) == whole
