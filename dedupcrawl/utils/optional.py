"""Optional parts: compiled modules, which Python can replace, and packages that only some users need.

The packages are the extras of ``pip install 'dedupcrawl[…]'``, named in ``pyproject.toml``.
"""

from __future__ import annotations

import importlib
import os
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from dedupcrawl.errors import MissingPackageError

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


#: Environment variable: any value but "" turns compiled code off.
NO_EXTENSIONS: Final = "DEDUPCRAWL_NO_EXTENSIONS"


def load_extension(name: str, version: int | None = None) -> tuple[ModuleType | None, str]:
    """Import a compiled module.

    Args:
        name: its full name.
        version: the expected ``VERSION`` of the module; None: it has none. Files of another version may be left over.

    Returns:
        The module, or None with the reason why it is not in use.
    """
    if os.environ.get(NO_EXTENSIONS):
        return None, f"{NO_EXTENSIONS} is set"
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError:
        return None, "the extension is not built"
    except ImportError as error:
        return None, f"the extension cannot be loaded: {error}"
    if version is not None and getattr(module, "VERSION", None) != version:
        return None, "the extension was built for another version"
    return module, ""


def import_extra(module: str, user: str, extra: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: its dotted name; the first part is the name of the package.
        user: the feature that needs it, as the subject of a sentence.
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
