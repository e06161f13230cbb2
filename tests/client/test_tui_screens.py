"""Every screen at three sizes, as it was drawn when somebody last looked: draw_screens.py draws them anew."""

import pytest

from tests.client.draw_screens import SCREENS, SIZES, draw, file_of


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
async def test_a_screen_looks_as_it_was_drawn(name: str, size: tuple[int, int]) -> None:
    drawn, _ = await draw(name, size)
    assert drawn == _kept(name, size), "look at the difference; if it is right: python -m tests.client.draw_screens"
    assert all(len(row) <= size[0] for row in drawn.splitlines())


def _kept(name: str, size: tuple[int, int]) -> str:
    return file_of(name, size).read_text(encoding="utf-8")
