"""H4, the tests of the tests: the list of seeded faults fits the code. `make soak PART=seeds` runs each."""

from pathlib import Path

import pytest

from reveries.db.copies import verify_and_publish
from reveries.errors import StorageError
from tests.durability.mind import ROOT
from tests.durability.seeds import SEEDS, Seed
from tests.rows import check_rows


@pytest.mark.requirement("H4")
def test_there_are_twenty_seeded_faults_and_each_has_its_own_name() -> None:
    assert len({seed.name for seed in SEEDS}) == len(SEEDS) >= 20


@pytest.mark.requirement("H4")
@check_rows("seed", SEEDS)
def test_a_seed_fits_the_code_as_it_is(seed: Seed) -> None:
    assert (ROOT / "reveries" / seed.file).read_text(encoding="utf-8").count(seed.old) == 1
    file, _, name = seed.test.partition("::")
    assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.requirement("A9")
def test_a_copy_that_does_not_verify_is_never_seen(tmp_path: Path) -> None:
    (tmp_path / "copy.partial").write_bytes(b"half a backup" * 1000)
    with pytest.raises(StorageError, match="did not verify"):
        verify_and_publish(tmp_path / "copy.partial", tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []
