"""The renewal of leases, in a thread of its own.

Spiders, pipelines and large pages may block the reactor for longer than a lease. The claims of a worker that is
alive must not end meanwhile, or others store the same articles.
"""

from __future__ import annotations

import time
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dedupcrawl.crawl.concurrency import reactor_caller

if TYPE_CHECKING:
    from collections.abc import Callable

PUBLISH_PATIENCE = 0.25  #: seconds that the thread waits for figures; a blocked reactor has none


class RenewalResult(NamedTuple):
    """An attempt to renew the leases."""

    seconds: float  #: how long the call of the store took
    error: Exception | None  #: None if it succeeded


class RenewalOwner(Protocol):
    """The owner of the leases: it renews them in the thread, and is called with each result."""

    def publish(self) -> None:
        """Set the figures that the next renewal sends. Called in the reactor's thread."""

    def renew(self) -> None:
        """Renew the leases; may raise any exception. Called in the thread of the renewer."""

    def renewed(self, renewal: RenewalResult) -> None:
        """Handle an attempt. Called in the reactor's thread; only the latest one if that was blocked."""


class LeaseRenewer:
    """Renews the leases of a worker until it is stopped, whether the reactor runs or not.

    Args:
        owner: renews the leases.
        interval: seconds between two renewals; a third of a lease leaves time for two more attempts.
    """

    def __init__(self, owner: RenewalOwner, interval: float) -> None:
        self._owner = owner
        self._interval = interval
        self._stopped, self._published = Event(), Event()
        self._lock = Lock()
        self._last: RenewalResult | None = None  # not handled yet; the reactor's thread has a call for it
        self._in_reactor: Callable[[Callable[[], None]], object]
        self._thread = Thread(target=self._run, name="dedupcrawl-leases", daemon=True)

    def start(self) -> None:
        """Start the thread; called in the reactor's thread."""
        self._in_reactor = reactor_caller()
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait until its current call of the store has ended."""
        self._stopped.set()
        self._published.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            self._published.clear()
            self._in_reactor(self._publish)
            self._published.wait(PUBLISH_PATIENCE)
            if self._stopped.is_set():
                return
            self._report(self._renew())

    def _renew(self) -> RenewalResult:
        began = time.monotonic()
        try:
            self._owner.renew()
        except Exception as error:  # noqa: BLE001  # the owner handles it in the reactor's thread
            return RenewalResult(time.monotonic() - began, error)
        return RenewalResult(time.monotonic() - began, None)

    def _report(self, renewal: RenewalResult) -> None:
        """Report an attempt to the reactor's thread; it replaces an attempt that was not handled yet."""
        with self._lock:
            is_scheduled, self._last = self._last is not None, renewal
        if not is_scheduled:
            self._in_reactor(self._renewed)

    def _publish(self) -> None:
        if not self._published.is_set() and not self._stopped.is_set():
            self._owner.publish()
            self._published.set()

    def _renewed(self) -> None:
        with self._lock:
            last, self._last = self._last, None
        if last is not None and not self._stopped.is_set():
            self._owner.renewed(last)
