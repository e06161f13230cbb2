"""References that a text makes to other places."""

import pytest

from reveries.knowledge.reading.references import find_references


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("See S-101 and E-201 for anchors.", ("S-101", "E-201")),
        ("Refer to detail 4/A3.01.", ("detail 4/A3.01",)),
        ("Door as 7/A5.2, see AE213.", ("7/A5.2", "AE213")),
        ("As section 5.2 says, see Table 3 and Figure B.", ("section 5.2", "Table 3", "Figure B")),
        ("Nach Abschnitt 4.1 und § 12.", ("Abschnitt 4.1", "§ 12")),
        ("See Appendix A.3; see Appendix A.3 again.", ("Appendix A.3",)),
        ("The beam is 3.5 m long and costs 450 euros.", ()),
    ],
)
def test_places_are_found_as_they_are_named(text: str, named: tuple[str, ...]) -> None:
    assert find_references(text) == named
