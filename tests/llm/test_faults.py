from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reveries.errors import ModelFault
from reveries.llm.faults import LONGEST_ASKED_SECONDS, fault_of_status, retry_after_seconds
from tests.rows import check_rows

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()


@pytest.mark.requirement("D3")
@check_rows(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("7", 7.0),
        ("0.5", 0.5),
        ("-3", 0.0),
        ("1e300", LONGEST_ASKED_SECONDS),
        ("inf", LONGEST_ASKED_SECONDS),
        (format_datetime(datetime.fromtimestamp(NOW + 90, UTC), usegmt=True), 90.0),
        (format_datetime(datetime.fromtimestamp(NOW - 90, UTC), usegmt=True), 0.0),
        ("Sat, 99 Nov 2026 12:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_its_forms(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, NOW) == seconds


@given(header=st.text(max_size=60))
def test_whatever_stands_in_the_header_is_a_wait_or_nothing(header: str) -> None:
    seconds = retry_after_seconds(header, NOW)
    assert seconds is None or 0 <= seconds <= LONGEST_ASKED_SECONDS


@pytest.mark.requirement("D1")
@pytest.mark.parametrize(
    ("statuses", "fault"),
    [
        ((401, 402), ModelFault.KEY_REFUSED),
        ((403,), ModelFault.FORBIDDEN),
        ((400, 404, 413, 422), ModelFault.BAD_REQUEST),
        ((408,), ModelFault.TIMED_OUT),
        ((429,), ModelFault.RATE_LIMITED),
        ((409, 500, 502, 503, 504, 529), ModelFault.OVERLOADED),
        ((204, 302), ModelFault.BROKEN),
    ],
)
def test_every_status_has_a_kind(statuses: tuple[int, ...], fault: ModelFault) -> None:
    assert {fault_of_status(status) for status in statuses} == {fault}
