"""What a server, or the way to it, was short of: said in one sentence."""

from __future__ import annotations

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError


def told(shown: str, error: Exception) -> StoreError:
    """Say in one sentence what a server, or the way to it, was short of."""
    reason = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, OutOfMemoryError):
        return StoreFullError(
            f"The store {shown} is full: its server has reached maxmemory; raise it, or prune the store."
        )
    for kinds, sentence in _SENTENCES:
        if isinstance(error, kinds):
            return StoreError(f"The store {shown} {sentence.format(reason=reason)}.")
    if isinstance(error, NoConnection | NoAnswer | OSError):
        return _unreachable(shown, reason)
    if reason.startswith(("MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "LOADING", "BUSY")):
        return StoreUnreachableError(f"The store {shown} cannot be used now: {reason}.")
    if reason.startswith("MISCONF"):
        return StoreUnreachableError(
            f"The store {shown} takes no writes, for its server cannot save: {reason}."
        )
    return StoreError(f"The store {shown} cannot be used: {reason}.")


def _unreachable(shown: str, reason: str) -> StoreError:
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        return StoreError(f"The store {shown} cannot be reached over TLS: {reason}.")
    return StoreUnreachableError(f"The store {shown} cannot be reached: {reason}.")


_SENTENCES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((AuthenticationError, AuthorizationError), "refuses this user or password: {reason}"),
    (NoPermissionError, "does not allow this user what is needed: {reason}"),
    (ReadOnlyError, "cannot be written: its server is a read-only replica; name the primary"),
)
