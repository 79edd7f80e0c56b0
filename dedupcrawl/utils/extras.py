"""Packages that only some users need: the extras of ``pip install 'dedupcrawl[…]'``, named in ``pyproject.toml``."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import MissingPackageError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


def import_extra(module: str, user: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: its dotted name; the first part is the name of the package.
        user: what needs it, as the subject of a sentence.
        extra: name of the extra that installs it.

    Raises:
        MissingPackageError: the package is not installed. The message says how to install it.
    """
    package = module.partition(".")[0]
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:  # the package is there, and lacks something itself
            raise
        raise MissingPackageError(user, package, extra) from None
    return import_module(module)


def require_extra(package: str, user: str, extra: str) -> ModuleSpec:
    """Find an optional package without importing it; arguments and error are those of :func:`import_extra`."""
    found = find_spec(package)
    if found is None:
        raise MissingPackageError(user, package, extra)
    return found
