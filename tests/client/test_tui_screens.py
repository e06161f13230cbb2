"""Every screen at three sizes, compared with the last reviewed version; draw_screens.py redraws them."""

import pytest

from tests.client.draw_screens import SCREENS, draw, file_of

_MARKS = {(80, 24): (), (120, 40): (pytest.mark.system,), (50, 20): (pytest.mark.system, pytest.mark.long)}
_ALL = [pytest.param(name, size, marks=_MARKS[size]) for name, screen in SCREENS.items() for size in screen.sizes]
"""In `make test` as most terminals are, large with the slow tests, tiny with the long ones."""


@pytest.mark.parametrize(
    ("name", "size"), _ALL, ids=lambda value: value if isinstance(value, str) else f"{value[0]}x{value[1]}"
)
async def test_a_screen_looks_as_it_was_drawn(name: str, size: tuple[int, int]) -> None:
    drawn, _ = await draw(name, size)
    assert drawn == _kept(name, size), "look at the difference; if it is right: python -m tests.client.draw_screens"
    assert all(len(row) <= size[0] for row in drawn.splitlines())


def _kept(name: str, size: tuple[int, int]) -> str:
    return file_of(name, size).read_text(encoding="utf-8")
