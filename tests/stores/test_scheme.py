from __future__ import annotations

import pytest

from dedupcrawl.errors import StoreMismatchError
from dedupcrawl.stores.scheme import check_scheme, scheme_json


def refusal(there: dict[str, object], here: dict[str, object]) -> str:
    with pytest.raises(StoreMismatchError) as caught:
        check_scheme("lmdb://x", "news", scheme_json(there), scheme_json(here))
    return str(caught.value)


def test_the_order_of_constants_does_not_matter() -> None:
    one, other = {"a": {"x": 1, "y": [2]}, "b": 3}, {"b": 3, "a": {"y": [2], "x": 1}}
    assert scheme_json(one) == scheme_json(other)
    check_scheme("lmdb://x", "news", scheme_json(one), scheme_json(other))


def test_the_sentence_names_store_namespace_difference_and_remedy() -> None:
    assert refusal({"minhash": {"slots": 64, "bits": 8}}, {"minhash": {"slots": 128, "bits": 8}}) == (
        "The store lmdb://x (namespace 'news') was filled under another configuration: "
        "minhash.slots is 64 there, 128 here. Use the former settings, another namespace or another store."
    )


def test_every_difference_is_named() -> None:
    text = refusal({"seed": 0, "exact": {}}, {"seed": 1, "minhash": {"bands": [9, 13]}})
    assert "exact is {} there, nothing here; " in text
    assert 'minhash is nothing there, {"bands": [9, 13]} here; ' in text
    assert "seed is 0 there, 1 here." in text
