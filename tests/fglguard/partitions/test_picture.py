import pytest

from fglguard.errors import SettingsError
from fglguard.partitions import partition
from fglguard.partitions.picture import draw_shares


@pytest.fixture
def silo(make_silo):
    return make_silo(count=100)


def test_names_and_figures_stand_in_the_picture(silo, make_settings, tmp_path):
    shares = partition([silo], make_settings("domain"), 4, seed=0)
    draw_shares(shares, [silo], tmp_path / "shares.svg", title="who holds what")
    text = (tmp_path / "shares.svg").read_text(encoding="utf-8")
    for share in shares:
        rows = share.indices[0]
        train = silo.split[rows] == 0
        unsafe = (silo.label[rows] == 1)[train].mean()
        assert share.site in text
        assert f"{train.sum()}, {unsafe:.0%} unsafe" in text
    assert "who holds what" in text and "training episodes" in text


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf"])
def test_same_shares_same_bytes(silo, make_settings, tmp_path, ending):
    shares = partition([silo], make_settings("iid"), 40, seed=0)
    for name in ("one", "two"):
        draw_shares(shares, [silo], tmp_path / f"{name}{ending}")
    assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"two{ending}").read_bytes()


def test_another_ending_is_refused(silo, make_settings, tmp_path):
    shares = partition([silo], make_settings("iid"), 4, seed=0)
    with pytest.raises(SettingsError, match=r"\.svg, \.png, \.pdf, got .*shares\.txt"):
        draw_shares(shares, [silo], tmp_path / "shares.txt")
    assert not list(tmp_path.glob("*.txt"))
