import numpy as np
import pytest

from fglguard.corpora.selection import open_corpus
from fglguard.errors import SettingsError
from fglguard.settings import CorpusSettings
from fglguard.silo import Silo


def settings(silo, domains, path=None):
    return CorpusSettings("silos", str(path or silo.path), "hashed-words", domains, "")


def test_without_a_choice_the_whole_corpus(make_silo):
    silo = make_silo()
    (opened,) = open_corpus(settings(silo, ""))
    assert opened.domains == ("a", "b")
    assert np.array_equal(opened.split, silo.split)


def test_other_domains_stand_in_no_split(make_silo):
    silo = make_silo(domains=("a", "b", "c"))
    (view,) = open_corpus(settings(silo, " c ,a"))
    assert view.domains == ("a", "c")
    names = np.array(silo.domains)[silo.domain]
    kept = names != "b"
    assert np.array_equal(view.split[kept], silo.split[kept])
    assert set(view.split[~kept]) == {255}
    assert np.array_equal(np.array(view.domains)[view.domain][kept], names[kept])


def test_rows_keep_their_numbers(make_silo):
    silo = make_silo()
    (view,) = open_corpus(settings(silo, "b"))
    (row,) = np.flatnonzero(view.split != 255)[:1]
    assert next(view.episodes([row])).domain == "b"
    # The silo itself is as it was.
    assert Silo.open(silo.path).domains == ("a", "b")


def test_a_silo_without_any_of_the_domains_is_left_out(make_silo, tmp_path):
    one = make_silo(("a",), name="silos/one")
    make_silo(("b",), name="silos/two")
    silos = open_corpus(settings(one, "b", tmp_path / "silos"))
    assert [silo.domains for silo in silos] == [("b",)]


def test_an_unknown_domain_is_refused_with_those_there_are(make_silo):
    with pytest.raises(SettingsError, match=r"corpus\.domains: expected some of a, b, got 'x'"):
        open_corpus(settings(make_silo(), "a,x"))
