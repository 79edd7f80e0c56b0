"""Checks the configuration and the name of a stored namespace: other programs may have written them."""

from __future__ import annotations

import json
from typing import Any

NAMESPACE_BYTES = 200  #: highest number of bytes of a namespace in UTF-8
MAX_SCHEME_DEPTH = 16  #: levels of a configuration; those of detectors have six


def is_namespace(name: object) -> bool:
    """Return whether this may be the name of a namespace."""
    is_text = isinstance(name, str) and name.encode("utf-8", "replace").decode() == name  # no lone surrogates
    return is_text and 0 < len(str(name).encode()) <= NAMESPACE_BYTES and "\0" not in str(name)


def parse_scheme(text: bytes | str, levels: int = MAX_SCHEME_DEPTH) -> dict[str, Any] | None:
    """Return a stored configuration; None if it is no JSON object, or is nested too deeply.

    Args:
        text: JSON, as :func:`~dedupcrawl.stores.base.scheme_json` writes it; bytes in UTF-8.
        levels: that it has at most.
    """
    try:
        found = json.loads(text.decode() if isinstance(text, bytes) else text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and _is_flat(found, levels) else None


def _is_flat(value: object, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(part, levels - 1) for part in parts)
