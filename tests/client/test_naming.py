import pytest

from client.naming import naming_site
from fglguard.errors import SiloError, UpdateError


@pytest.mark.parametrize("text", ["the loss is nan", "site a-0: the loss is nan"])
def test_the_site_is_named_once_and_the_kind_of_error_stays(text):
    with pytest.raises(UpdateError) as caught, naming_site("a-0"):
        raise UpdateError(text)
    assert str(caught.value) == "site a-0: the loss is nan"


def test_another_exception_passes_as_it_is():
    error = KeyError("x")
    with pytest.raises(KeyError) as caught, naming_site("a-0"):
        raise error
    assert caught.value is error
    with pytest.raises(SiloError, match=r"^site b: gone$"), naming_site("b"):
        raise SiloError("gone")
