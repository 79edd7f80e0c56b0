"""A seed that is not shown."""

from __future__ import annotations

import secrets
from typing import Final

#: Value of the setting, and what is shown in place of the seed.
SECRET: Final = "secret"  # noqa: S105  # it is a name
SECRET_BYTES = 8  #: size of a secret seed


class SecretSeed(int):
    """A seed that a store keeps: an integer that shows itself as ``secret``.

    JSON encoders write the number of any integer: :func:`~dedupcrawl.detectors.registry.schemes` replaces it
    first.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(SECRET)

    def __str__(self) -> str:
        return SECRET

    def __format__(self, spec: str) -> str:
        return format(SECRET, spec)

    @classmethod
    def draw(cls) -> SecretSeed:
        """Return a new random seed of 64 bits."""
        return cls(secrets.randbits(8 * SECRET_BYTES))

    @classmethod
    def from_stored(cls, data: bytes | None) -> SecretSeed | None:
        """Return the seed that :meth:`stored` wrote; None for None and b""."""
        return cls(int.from_bytes(data, "big")) if data else None

    def stored(self) -> bytes:
        """Return the seed as ``SECRET_BYTES`` bytes."""
        return int(self).to_bytes(SECRET_BYTES, "big")


def without_secrets(value: object) -> object:
    """Return JSON values in which "secret" replaces every secret seed."""
    if isinstance(value, SecretSeed):
        return SECRET
    if isinstance(value, dict):
        return {name: without_secrets(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each) for each in value]
    return value
