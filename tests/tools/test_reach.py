"""Whether a call may go (DESIGN-projects.md, section 4): the whole table."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.tools.reach import CallFacts, GrantSet, Permit, Reach, decide_call, digest_call
from tests.rows import check_rows

GOES, ASKS, DENIED = Permit.GOES, Permit.NEEDS_APPROVAL, Permit.DENIED
SOURCES = frozenset({"folder", "web:1"})


@pytest.mark.requirement("F9")
@check_rows(
    ("reach", "sources", "grants", "expected"),
    [
        (Reach.LOOK, SOURCES, GrantSet(), GOES),
        (Reach.INSIDE, SOURCES, GrantSet(), GOES),
        (Reach.OUT, frozenset(), GrantSet(), ASKS),
        (Reach.OUT, frozenset(), GrantSet(tools=frozenset({"t"})), GOES),
        (Reach.OUT, SOURCES, GrantSet(tools=frozenset({"t"})), ASKS),
        (Reach.OUT, SOURCES, GrantSet(tools=frozenset({"t"}), sources=frozenset({"folder"})), ASKS),
        (Reach.OUT, SOURCES, GrantSet(sources=SOURCES), ASKS),
        (Reach.OUT, SOURCES, GrantSet(tools=frozenset({"t"}), sources=SOURCES), GOES),
        (Reach.OUT, SOURCES, GrantSet(calls=frozenset({"d"})), GOES),
        (Reach.OUT, SOURCES, GrantSet(tools=frozenset({"t"}), sources=SOURCES, denied=frozenset({"d"})), DENIED),
        (Reach.OUT, SOURCES, GrantSet(tools=frozenset({"other"}), sources=SOURCES), ASKS),
    ],
)
def test_what_reaches_out_needs_its_tool_and_every_source_granted_or_a_yes_to_just_this_call(
    reach: Reach, sources: frozenset[str], grants: GrantSet, expected: Permit
) -> None:
    assert decide_call(CallFacts("t", reach, "d", sources), grants) is expected


@pytest.mark.parametrize("reach", list(Reach))
def test_what_may_have_happened_is_not_done_again_without_a_yes(reach: Reach) -> None:
    granted = GrantSet(tools=frozenset({"t"}))
    unknown = CallFacts("t", reach, "d", frozenset(), is_unknown=True)
    assert decide_call(unknown, granted) is ASKS
    assert decide_call(unknown, GrantSet(calls=frozenset({"d"}))) is GOES


@given(st.dictionaries(st.text(max_size=5), st.integers(), min_size=2, max_size=5), st.text(max_size=5))
def test_a_digest_names_a_call_whatever_the_order_of_its_arguments(arguments: dict[str, int], tool: str) -> None:
    turned = dict(reversed(arguments.items()))
    assert digest_call(tool, arguments) == digest_call(tool, turned)
    assert digest_call(tool, arguments) != digest_call(tool + "x", arguments)
    changed = arguments | {next(iter(arguments)): next(iter(arguments.values())) + 1}
    assert digest_call(tool, changed) != digest_call(tool, arguments)
