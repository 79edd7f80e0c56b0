"""Signatures of different configurations must never meet: the guard that keeps them apart."""

from __future__ import annotations

import json
from collections.abc import Mapping

from dedupcrawl.errors import StoreMismatchError

_NOTHING = "nothing"


def scheme_json(scheme: Mapping[str, object]) -> str:
    """Write a configuration so that equal ones are equal texts."""
    return json.dumps(scheme, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def check_scheme(url: str, namespace: str, there: str, here: str) -> None:
    """Refuse to let another configuration in.

    Raises :class:`~dedupcrawl.errors.StoreMismatchError`, naming what differs.
    """
    if there != here:
        found = differences(json.loads(there), json.loads(here))
        raise StoreMismatchError(
            f"The store {url} (namespace {namespace!r}) was filled under another configuration: "
            f"{'; '.join(found)}. Use the former settings, another namespace or another store."
        )


def differences(there: object, here: object, name: str = "") -> list[str]:
    """Name every constant that differs, dotted: ``minhash.slots is 64 there, 128 here``."""
    if isinstance(there, Mapping) and isinstance(here, Mapping):
        names = sorted({*there, *here})
        pairs = ((there.get(each, _NOTHING), here.get(each, _NOTHING), each) for each in names)
        return [
            text for old, new, each in pairs for text in differences(old, new, f"{name}.{each}".strip("."))
        ]
    return [] if there == here else [f"{name} is {_shown(there)} there, {_shown(here)} here"]


def _shown(value: object) -> str:
    return _NOTHING if value is _NOTHING else json.dumps(value, ensure_ascii=False)
