"""The line to the store: every call of a crawl goes through it, and it knows when the store is away.

A call that fails may be the fault of one damaged record, or the beginning of an outage: leases are renewed
at once to find out. A store that is full is as good as away, although it renews leases. While the store is
away nobody else is let through, so that no page waits for a connection that will not come; with growing
pauses one call asks whether it is back. Then what could not be told to it is made up for, and only then
pages are judged again.
"""

from __future__ import annotations

import time
from functools import partial
from math import inf
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from scrapy.utils.asyncio import call_later

from dedupcrawl.crawl.pulse import Waits
from dedupcrawl.crawl.threads import Threads
from dedupcrawl.crawl.waiting import Background, Outcome
from dedupcrawl.errors import StoreError, StoreFullError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dedupcrawl.crawl.tally import Tally

P = ParamSpec("P")
T = TypeVar("T")

FIRST_PAUSE = 0.25  #: seconds before the store is tried again; doubles up to
LONGEST_PAUSE = 8.0  #: or a third of the lease, if that is shorter
STEADY = 60.0  #: seconds after which a store that came back counts as well again


class AwayError(StoreError):
    """The store was not asked, for it is known to be away."""


class Outage:
    """A time for which the store is away."""

    def __init__(self, error: StoreError) -> None:
        self.error = error
        self.began = time.monotonic()
        self.pages = 0  #: that were kept unchecked meanwhile
        self.over = Outcome()  #: it is back, or nobody waits for it any longer
        self.is_full = isinstance(error, StoreFullError)

    @property
    def seconds(self) -> float:
        """How long it has lasted."""
        return time.monotonic() - self.began


class Line:
    """Asks the store, in a thread if it is remote.

    Args:
        tally: is told of failures, outages and returns.
        probe: a cheap call that changes something in the store: it renews the leases.
        trial: a call that files something and takes it back.
        make_up: what is owed to the store, done once it is back; it calls :meth:`attempt`.
        lease: seconds for which a claim of any worker lives without being renewed.
        patience: seconds for which pages wait for the end of an outage; None: they do not wait.
        give_up: called when they do so no longer.
        is_ending: whether the crawl is being stopped, so that they had better not.
    """

    def __init__(
        self,
        tally: Tally,
        probe: Callable[[], object],
        trial: Callable[[], object],
        make_up: Callable[[], Awaitable[None]],
        *,
        lease: float,
        patience: float | None,
        give_up: Callable[[], None],
        is_ending: Callable[[], bool],
    ) -> None:
        self._tally = tally
        self._probe = probe
        self._trial = trial
        self._make_up = make_up
        self._lease = lease
        self._longest = max(FIRST_PAUSE, min(LONGEST_PAUSE, lease / 3))
        self._patience = patience
        self._give_up = give_up
        self._is_ending = is_ending
        self._threads: Threads | None = None
        self._examining: Outcome | None = None
        self._making_up: Outcome | None = None
        self._nap: Outcome | None = None
        self._background = Background()
        self._closed = False
        self._step = FIRST_PAUSE
        self._returned = -inf  # when the store came back the last time
        self._away = 0.0  # seconds of the outages that are over
        self.outage: Outage | None = None
        self.waits = Waits()

    def cross_network(self) -> None:
        """Make every call in a thread from now on."""
        self._threads = self._threads or Threads()

    async def ask(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call once nothing is owed to the store any more.

        Raises :class:`~dedupcrawl.errors.StoreError`; :class:`AwayError` when it was not made at all.
        """
        while self._making_up is not None:
            await self._making_up.wait()
        return await self._make(partial(question, *args, **kwargs), urgent=False)

    async def hurry(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call whatever is owed, and before those that wait for a thread; raises as :meth:`ask`."""
        return await self._make(partial(question, *args, **kwargs), urgent=True)

    async def _make(self, question: Callable[[], T], *, urgent: bool) -> T:
        def checked() -> T:
            # A call may have waited for a thread while others found out that the store is away. Leases are
            # renewed as soon as it is back, for to make up for what it was not told may take longer than one.
            if self.outage is not None and not (urgent and self._making_up is not None):
                raise AwayError(str(self.outage.error))
            return question()

        try:
            return await self._run(checked, urgent=urgent)
        except AwayError:
            raise
        except StoreError as error:
            await self._examine(error)
            raise

    async def run(self, question: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call, whatever is known of the store."""
        return await self._run(partial(question, *args, **kwargs), urgent=False)

    async def _run(self, question: Callable[[], T], *, urgent: bool) -> T:
        if self._threads is None:
            return question()
        with self.waits.timing(unless=AwayError):
            return await self._threads.run(question, urgent=urgent)

    async def attempt(self, order: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Make up for a call; None: the store is there, and refuses it.

        Raises :class:`~dedupcrawl.errors.StoreError` when the store is away.
        """
        try:
            return await self.run(order, *args, **kwargs)
        except StoreFullError:
            raise
        except StoreError as error:
            await self._run(self._probe, urgent=True)
            self._tally.store_failed(error)
            return None

    async def recover(self) -> None:
        """Give a store that is back the time that it, and others, need before pages are filed again.

        Leases may have ended meanwhile. All workers find out within a pause that the store is back, and renew
        theirs: until then a claim that seems dead may be that of a worker who lives and stores its page.

        Raises :class:`~dedupcrawl.errors.StoreError` if the store is still full.
        """
        if self.outage is None:
            return
        if self.outage.is_full:  # leases were renewed meanwhile
            await self.run(self._trial)
        elif self._threads is not None and self.outage.seconds > self._lease / 2 and not self._closed:
            await self._sleep(1.25 * self._longest)

    @property
    def seconds_away(self) -> float:
        """How long the store has been away so far."""
        return self._away + (self.outage.seconds if self.outage is not None else 0.0)

    async def wait(self) -> bool:
        """Wait for the end of an outage; False: nobody waits for it any longer."""
        if self.outage is not None:
            await self.outage.over.wait()
        return self.outage is None

    def miss(self) -> None:
        """Note a page that is kept unchecked since the store is away."""
        if self.outage is not None:
            self.outage.pages += 1

    async def make_up(self) -> None:
        """Do what is owed to the store, unless it is away; others wait meanwhile."""
        if self.outage is None and self._making_up is None:
            try:
                await self._settle_debts()
            except StoreError as error:
                await self._examine(error)
            except Exception as error:  # noqa: BLE001  # the store must be closed nevertheless
                self._tally.crashed("what is owed to the store", error)

    async def close(self, order: Callable[[], object]) -> None:
        """Make the last call, after one last try if the store is away."""
        self._closed = True
        if self._nap is not None:
            self._nap.settle()
        while busy := self._examining or self._making_up:
            await busy.wait()
        if self.outage is None:
            await self.make_up()
        else:
            await self._try(last=True)
        try:
            await self.run(order)
        except StoreError as error:
            self._tally.store_failed(error, quiet=self.outage is not None)
        self.hang_up()

    def hang_up(self) -> None:
        """Let the threads end, for no call will be made any more."""
        if self._threads is not None:
            self._threads.close()

    # -- outages ------------------------------------------------------------------------------

    async def _examine(self, error: StoreError) -> None:
        """Find out whether the store is away, or failed this once."""
        if self._examining is not None:
            await self._examining.wait()
        elif self.outage is None:
            self._examining = examining = Outcome()
            try:
                reason = await self._reason(error)
                if reason is not None:
                    self._begin(reason)
            finally:
                self._examining = None
                examining.settle()
        self._tally.store_failed(error, quiet=self.outage is not None)

    async def _reason(self, error: StoreError) -> StoreError | None:
        """Return why the store is away; None: it is there."""
        if isinstance(error, StoreFullError):
            return error
        try:
            await self._run(self._probe, urgent=True)
        except StoreError as reason:
            return reason
        return None

    def _begin(self, error: StoreError) -> None:
        self.outage = Outage(error)
        if time.monotonic() - self._returned > STEADY:
            self._step = FIRST_PAUSE
        self._tally.store_left(error)
        if not self._closed:
            self._lose_patience(self.outage)
            self._background.start(self._watch(self.outage))

    async def _watch(self, outage: Outage) -> None:
        """Try the store again and again until it is back."""
        while not self._closed:
            await self._sleep(self._step)
            self._step = min(2 * self._step, self._longest)
            if self._closed or await self._try():
                return
            self._lose_patience(outage)

    async def _sleep(self, seconds: float) -> None:
        self._nap = nap = Outcome()
        timer = call_later(seconds, nap.settle)
        await nap.wait()
        timer.cancel()
        self._nap = None

    async def _try(self, *, last: bool = False) -> bool:
        """Ask whether the store is back, and if so do what is owed to it."""
        try:
            await self._run(self._probe, urgent=True)
            if last or not self._closed:  # else the last try has begun meanwhile
                await self._settle_debts()
        except StoreError:
            return False
        except Exception as error:  # noqa: BLE001  # pages may wait for its return
            self._tally.crashed("what is owed to the store", error)
            return False
        return True

    async def _settle_debts(self) -> None:
        self._making_up = making_up = Outcome()
        try:
            await self._make_up()
            self._end()
        finally:
            self._making_up = None
            making_up.settle()

    def _end(self) -> None:
        outage, self.outage = self.outage, None
        if outage is not None:
            self._returned = time.monotonic()
            self._away += outage.seconds
            self._tally.store_returned(outage.seconds, outage.pages)
            outage.over.settle()

    def _lose_patience(self, outage: Outage) -> None:
        if self._patience is None or outage.over.known:
            return
        if outage.seconds >= self._patience or self._is_ending():
            outage.over.settle()
            self._give_up()
