"""What a reader of an explanation must know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from dedupcrawl.constants import constants_of
from dedupcrawl.detectors.feature_code import FeatureCode
from dedupcrawl.detectors.spotsigs import SpotSigs
from dedupcrawl.explaining.pairing import Why
from dedupcrawl.page.errors import BINARY, TOO_DEEP, TOO_LARGE
from dedupcrawl.stores.base import BUCKET_CAP, ClaimState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.explaining.explanation import Subject
    from dedupcrawl.explaining.pairing import Pair
    from dedupcrawl.explaining.premises import Premises
    from dedupcrawl.verdict import Verdict

#: Detectors that look under more keys than they file a page under.
_LOOK_FURTHER = frozenset({FeatureCode.name, SpotSigs.name})
REASONS = {
    "short": "its text is shorter than DEDUP_MIN_CHARS, or has too few letters: only the detector exact "
    "compares it, which is not in use",
    "empty": "no text was found on it",
    "index": "nothing is left on it but links that lead elsewhere",
    "no-fingerprint": "its text has too little of what the detectors in use compare",
    "claimed": "a page that it repeats was claimed by another worker, whose outcome did not come in time",
    "store": "the store could not be asked",
    "error": "the reader failed on it",
    BINARY: "it is binary data, whatever it says of itself",
    TOO_LARGE: "it is larger than what is read",
    TOO_DEEP: "its tags are nested so deep that no parser reads on",
    "status": "it came with a status other than 200",
    "not-html": "it is no HTML",
    "no-response": "it is an item that came of no response",
    "skip": "its request wished it to be left alone",
}


_PENDING = "The older page is claimed, not committed yet: a crawl waits for its outcome, and then decides."
_OTHERWISE = (
    "The run said otherwise at its time: what the store holds, a constant, or the text of the page is not "
    "what it was."
)


def remarks(
    premises: Premises, subject: Subject, verdict: Verdict, pair: Pair | None, *, is_walked: bool
) -> tuple[str, ...]:
    """Return them in sentences; ``is_walked``: whether all records of the store were looked at."""
    found = [*premises.notes]
    if verdict.reason:
        found.append(f"It is unchecked, and kept: {REASONS.get(verdict.reason, verdict.reason)}.")
    elif pair is not None:
        found += _of_pair(premises, subject, pair)
    elif is_walked:
        found.append("It met no page, and no other in the store is like it by any detector in use.")
    else:
        found.append("It met no page; without --quick the nearest of all in the store is looked for.")
    then = subject.then.verdict if subject.then else verdict
    if _outcome(then) != _outcome(verdict) and not (_is_pending(pair) and then.of == pair.old.url):
        found.append(_OTHERWISE)
    return tuple(found)


def _is_pending(pair: Pair | None) -> TypeGuard[Pair]:
    return pair is not None and pair.old.state not in (None, ClaimState.COMMITTED)


def _of_pair(premises: Premises, subject: Subject, pair: Pair) -> Iterator[str]:
    if not pair.shared:
        yield (
            "They never met: no key under which the new page looks leads to the older one, so that a crawl "
            "does not compare them. What follows is what it would say if it did."
        )
    elif not pair.met:
        yield (
            f"They never met, although they share keys: more than {BUCKET_CAP} pages stand under each of "
            "them, and the older one is not among the newest."
        )
    if subject.held is not None and pair.why is Why.NEAREST and _LOOK_FURTHER & set(_names(premises)):
        yield "The keys under which it looked are not stored, only those under which it was filed."
    if _is_pending(pair):
        yield _PENDING


def _names(premises: Premises) -> list[str]:
    return list(constants_of(premises.config))


def _outcome(verdict: Verdict) -> tuple[object, ...]:
    return verdict.status, verdict.keep, verdict.relation, verdict.of
