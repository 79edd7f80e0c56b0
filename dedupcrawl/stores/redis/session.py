"""One store object's dealings with its server: connected once, asked many times, ended once."""

from __future__ import annotations

import os
import secrets
from contextlib import nullcontext
from functools import partial
from threading import BoundedSemaphore
from typing import TYPE_CHECKING, Any, TypeVar

from redis import Redis
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import RedisError

from dedupcrawl.errors import StoreError, StoreUnreachableError
from dedupcrawl.stores.redis.calls import Calls, UnaskedError
from dedupcrawl.stores.redis.connecting import connect
from dedupcrawl.stores.redis.sentences import told
from dedupcrawl.stores.redis.values import milliseconds
from dedupcrawl.stores.tables import OWNER_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis import RedisCluster

    from dedupcrawl.stores.redis.address import Address
    from dedupcrawl.stores.redis.names import Names
    from dedupcrawl.stores.redis.wire import Argument

T = TypeVar("T")


class Session:
    """Connections, and the token by which the server knows this store object.

    A thread for which there is no connection left waits for one: redis-py would take that for an error.

    Raises what :func:`~dedupcrawl.stores.redis.connecting.connect` does, as errors of ours.
    """

    def __init__(
        self, address: Address, names: Names, server_clock: Callable[[], float] | None = None
    ) -> None:
        self.ended = False
        self._shown = address.shown
        self._server_clock = server_clock
        self._process = os.getpid()
        try:
            self.client: Redis | RedisCluster = connect(address)
        except (RedisError, OSError) as error:
            raise told(address.shown, error) from error
        most = address.options.get("max_connections")
        self._connections = BoundedSemaphore(most) if most else nullcontext()
        me = secrets.token_bytes(OWNER_BYTES)
        self.calls = Calls(self.client, address.shown, names, me, keeps=not most)

    @property
    def is_anothers(self) -> bool:
        """Whether this is the session of a process from which ours was forked."""
        return self._process != os.getpid()

    def ask(self, operation: str, *arguments: Argument, again: tuple[Argument, ...] | None = None) -> Any:
        """Call a script; once more where the connection broke, as after a restart of the server.

        again: what it is asked then.
        """
        retry = arguments if again is None else again
        return self._twice(partial(self.calls, operation, *arguments), partial(self.calls, operation, *retry))

    def ask_many(
        self,
        operation: str,
        requests: Sequence[Sequence[Argument]],
        again: Sequence[Sequence[Argument]] | None = None,
    ) -> list[Any]:
        """The same for many calls in one round trip."""
        retry = requests if again is None else again
        many = self.calls.many
        return self._twice(partial(many, operation, requests), partial(many, operation, retry))

    def _twice(self, first: Callable[..., T], second: Callable[..., T]) -> T:
        self._check()
        now = "" if self._server_clock is None else str(milliseconds(self._server_clock()))
        with self._connections:
            try:
                return first(now=now)
            except UnaskedError:
                raise
            except StoreUnreachableError as error:
                if not isinstance(error.__cause__, NoConnection):
                    raise
            try:
                return second(now=now)
            except UnaskedError as error:
                raise StoreUnreachableError(str(error)) from error  # the first time it was asked

    def look(self, work: Callable[[Redis | RedisCluster], T]) -> T:
        """Do with the client what needs no script."""
        self._check()
        return self.calls.telling(lambda: work(self.client))

    def _check(self) -> None:
        if self.is_anothers:
            raise StoreError(
                f"The store {self._shown} was opened before this process forked: open it anew in the child."
            )
        if self.ended:
            raise StoreError(f"The store {self._shown} has been closed.")

    def end(self) -> None:
        """Let the connections go."""
        self.ended = True
        self.calls.way.rest()
        self.client.close()
        if isinstance(self.client, Redis):
            self.client.connection_pool.disconnect()
