"""The exceptions of dedupcrawl, and its version."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


class DedupError(Exception):
    """Base class of all errors that dedupcrawl raises on purpose."""


class SettingError(DedupError, ValueError):
    """A setting or argument ``name`` has a ``value`` that is not accepted; ``accepted`` describes what is."""

    def __init__(self, name: str, value: object, accepted: str) -> None:
        super().__init__(name, value, accepted)
        self.name, self.value, self.accepted = name, value, accepted

    def __str__(self) -> str:
        return f"{self.name} = {self.value!r} is not accepted: {self.accepted}"


class MissingPackageError(DedupError):
    """``user`` needs an optional ``package`` that is not installed; ``extra`` of this package installs it."""

    def __init__(self, user: str, package: str, extra: str) -> None:
        super().__init__(user, package, extra)
        self.user, self.package, self.extra = user, package, extra

    def __str__(self) -> str:
        return f"{self.user} needs the package {self.package}: pip install 'dedupcrawl[{self.extra}]'"


class StoreError(DedupError):
    """A store cannot be opened, read or written."""


class StoreUnreachableError(StoreError):
    """The server of a store does not answer, or cannot serve now; trying again later may help."""


class StoreFullError(StoreError):
    """A store has no room for another record; its records can still be read, renewed and removed."""


class StoreInUseError(StoreError):
    """A namespace cannot be removed: others have it open."""


class DamageError(StoreError):
    """One value in a store is damaged or was written by another program; the others can still be used."""


class StoreMismatchError(StoreError):
    """The settings differ: a store was filled under another configuration, so its fingerprints cannot be compared.

    A store of an older format raises a plain :class:`StoreError`.
    """


def package_version() -> str:
    """Return the version of this package; "" if it is not installed."""
    try:
        return version("dedupcrawl")
    except PackageNotFoundError:
        return ""
