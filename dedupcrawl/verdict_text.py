"""A verdict as one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dedupcrawl.decision import BY_URL, SIBLINGS, Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.page.structure import EVIDENCE, OTHER, SAME
from dedupcrawl.utils.formatting import similarity_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.decision import Verdict

_UNCHECKED = {
    "empty": "it has no main text",
    "index": "it is a list of links",
    "consent": "nothing but a text on cookies could be read",
    "little-read": "most of its text was left out as no main text, and may tell it from others",
    "short": "its text is too short to be told from others",
    "no-fingerprint": "its text has nothing that the detectors in use look at",
    "status": "its HTTP status is not 200",
    "not-html": "it is not HTML",
    "binary": "it is binary data",
    "too-large": "it, or its text after normalisation, is too large",
    "too-many-attributes": "a tag has more attributes than can be read in a bounded time",
    "too-deep": "its tags are nested too deeply to be read to the end",
    "too-slow": "reading and fingerprinting it took too long",
    "no-field": "its item has none of the fields that are judged",
    "no-response": "its item came without a response",
    "claimed": "it was like a page whose own fate stayed open too long",
    "store": "the store could not be asked",
    "error": "reading it failed, see the log",
    "skip": "it was told to be left alone",
    "revisit": "the archive says that it was seen before, and does not hold it again",
    "segmented": "the archive holds it in pieces",
    "undecodable": "its transfer encoding cannot be undone",
}
_RELATED = {
    Relation.IDENTICAL: "the same text as {of}",
    Relation.NEAR_DUPLICATE: "near-duplicate of {of}",
    Relation.UNCHANGED: "unchanged since {of} was seen before",
    Relation.UPDATED: "another text than {of} had before",
    Relation.EXCERPT: "all of it stands in {of}",
    Relation.EXPANSION: "it contains {of}, and more",
    Relation.REFRESHED: "the same page as {of} had before, but for small changes",
    Relation.SIBLING: "a text like that of {of}, about something else",
}
#: Texts for counts in the evidence of detectors, by key.
_COUNTED = {
    "slots": "{} slots agree",
    "bits": "{} bits agree",
    "codes": "{} feature codes are shared",
    "common": "{} places of the feature code agree",
    "segments": "{} segments are equal",
    "super_shingles": "{} super-shingles are equal",
    "signatures": "{} signatures are equal",
    "spots": "{} spot signatures are shared",
    "differing": "{} features differ",
}
_LAYOUTS = {SAME: "the same layout", OTHER: "another layout"}
_CONTAINED = {
    Relation.EXCERPT: ("new_in_old", "{} % of it stands there"),
    Relation.EXPANSION: ("old_in_new", "{} % of that page stands in it"),
}


def why(verdict: Verdict) -> str:
    """Return a sentence that explains a verdict: the related page, the similarity, the detector."""
    if verdict.status is Status.UNCHECKED:
        reason = _UNCHECKED.get(verdict.reason or "", verdict.reason or "no reason is known")
        return f"not judged: {reason}" + (f" ({verdict.of})" if verdict.of else "")
    if verdict.relation is None:
        return "no earlier page is like it"
    related = relation_text(verdict.relation, verdict.of)
    found = ", ".join(filter(None, (_measured(verdict), *_evidence(verdict))))
    superseded = "; it takes that page's place" if verdict.supersedes else ""
    return (f"{related}: {found}" if found else related) + superseded


def relation_text(relation: Relation, of: str | None) -> str:
    """Return a relation as text; ``of`` is the URL of the earlier page, None if it has none."""
    return _RELATED[relation].format(of=of or "a page without a URL")


def siblings_text(verdict: Verdict) -> str:
    """Return by what the page and its sibling differ; "" without a sibling."""
    return str(verdict.evidence.get(SIBLINGS, "")) if verdict.relation is Relation.SIBLING else ""


def _measured(verdict: Verdict) -> str:
    if verdict.detector == BY_URL:
        return "" if verdict.relation is Relation.UNCHANGED else "nothing but the URL is the same"
    if verdict.similarity is None or verdict.detector is None:
        return ""
    if verdict.relation is Relation.IDENTICAL:
        return f"by {verdict.detector}"
    return f"{similarity_text(verdict.similarity)} alike by {verdict.detector}"


def _evidence(verdict: Verdict) -> Iterator[str]:
    for name, value in verdict.evidence.items():
        if name in _COUNTED and isinstance(value, str):
            yield _COUNTED[name].format(value)
        elif name == EVIDENCE:
            yield _LAYOUTS.get(str(value), "")
        elif name == SIBLINGS:
            yield f"they differ by {value}"
        elif name == "lengths" and isinstance(value, list) and len(value) == 2:
            yield f"lengths {value[0]:,} and {value[1]:,}"
        elif isinstance(value, Mapping) and "similarity" in value:  # a member of a combined detector
            yield f"{name} {similarity_text(value['similarity'])}"
    contained = _CONTAINED.get(verdict.relation) if verdict.relation else None
    if contained is not None:
        name, text = contained
        share = verdict.evidence.get(name)
        if isinstance(share, int | float):
            yield text.format(int(share * 100 + 1e-9))
