"""What a server, or the way to it, was short of: said in one sentence."""

from __future__ import annotations

import re

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from dedupcrawl.errors import StoreError, StoreFullError, StoreUnreachableError


def told(shown: str, error: Exception) -> StoreError:
    """Say in one sentence what a server, or the way to it, was short of."""
    error = _inner(error)
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
    if isinstance(error, _TRANSIENT) or reason.startswith(("LOADING", "BUSY")):
        return StoreUnreachableError(f"The store {shown} cannot be used now: {reason}.")
    for code, sentence in _NO_WRITES.items():
        if reason.startswith(code):
            return StoreUnreachableError(f"The store {shown} takes no writes, for {sentence}: {reason}.")
    return StoreError(f"The store {shown} cannot be used: {reason}.")


def _inner(error: Exception) -> Exception:
    """Return what a command was refused for inside a script, where the server says that of the script."""
    if type(error) is not ResponseError:
        return error
    said = _IN_SCRIPT.sub("", str(error))
    for code, kind in _REFUSALS.items():
        if said.startswith(code):
            return kind(said.removeprefix(code).strip())
    return error if said == str(error) else ResponseError(said)


def _unreachable(shown: str, reason: str) -> StoreError:
    if "certificate" in reason.lower() or "ssl" in reason.lower():
        return StoreError(f"The store {shown} cannot be reached over TLS: {reason}.")
    return StoreUnreachableError(f"The store {shown} cannot be reached: {reason}.")


# Redis 6.2: "Error running script (call to f_…): @user_script:9: @user_script: 9: -OOM …"; later ones say
# "… script: on @user_script:9." behind it.
_IN_SCRIPT = re.compile(
    r"^Error running script .*?@user_script: \d+: -?|\s*script: \S* ?on @user_script:\d+\.$"
)
_REFUSALS: dict[str, type[ResponseError]] = {
    "OOM ": OutOfMemoryError,
    "READONLY ": ReadOnlyError,
    "NOPERM ": NoPermissionError,
    "ACL failure in script:": NoPermissionError,
    "The user executing the script ": NoPermissionError,
}
_TRANSIENT = (ClusterDownError, MasterDownError, RedisClusterException, TryAgainError)
_NO_WRITES = {"MISCONF": "its server cannot save", "NOREPLICAS": "its server lacks replicas"}
_SENTENCES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], str], ...] = (
    ((AuthenticationError, AuthorizationError), "refuses this user or password: {reason}"),
    (NoPermissionError, "does not allow this user what is needed: {reason}"),
    (ReadOnlyError, "cannot be written: its server is a read-only replica; name the primary"),
    (MovedError, "is a cluster, which this user may not ask about: allow it +info, +cluster and +command"),
)
