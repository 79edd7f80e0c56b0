"""What was seen of a page, as one HTML file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from dedupcrawl.tools.inspect.inspection import rule_counts
from dedupcrawl.tools.inspect.rules import rule_of
from dedupcrawl.tools.report.html_bundle import assemble_page, deflated_json_element, read_asset
from dedupcrawl.tools.report.html_report import MAX_TITLE_CHARS, MAX_URL_CHARS, pair_values, truncate
from dedupcrawl.utils.formatting import count, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.tools.inspect.comparison import ComparisonResult
    from dedupcrawl.tools.inspect.inspection import Inspection

_HERE = "dedupcrawl.tools.inspect"
_SCRIPTS = ("data.js", "evidence.js", "tabs.js", "pair.js", "blocks.js", "canvas.js", "inspect.js")
_kana, _han = re.compile(r"[\u3041-\u30ff]").search, re.compile(r"[\u4e00-\u9fff]").search
_BY_LINKS = frozenset({"blocks", "text"})  #: readers whose blocks are measured by the link rules


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A rule that was applied, with what it was applied to."""

    reason: str
    family: str
    sign: str
    meaning: str
    kept: bool
    blocks: int
    bytes: int

    @property
    def count(self) -> str:
        """How many blocks."""
        return count(self.blocks)


def render(
    look: Inspection, store: ComparisonResult | None = None, other: ComparisonResult | None = None
) -> str:
    """Return the page.

    Args:
        look: what was seen of a page.
        store: what the page met in a store.
        other: how it stands to another page.
    """
    page, rules = look.page, _legend(look)
    sides = {"store": store, "other": other}
    kept = [rule for rule in rules if rule.kept]
    return assemble_page(
        "inspect.html",
        package=_HERE,
        styles=["report.css", "charts.css", "families.css", "inspect.css"],
        scripts=_SCRIPTS,
        data=[deflated_json_element("inspected", _values(look, rules, sides))],
        title=truncate(f"{page.title or page.url} · inspected", MAX_TITLE_CHARS),
        heading=truncate(page.title or "(no title)", MAX_TITLE_CHARS),
        page=page,
        url=truncate(page.url, MAX_URL_CHARS),
        is_link=page.url.startswith(("http://", "https://")) and len(page.url) <= MAX_URL_CHARS,
        reader=look.options.reader,
        notes=look.notes,
        rules=rules,
        kept_blocks=count(sum(rule.blocks for rule in kept)),
        all_blocks=count(len(look.blocks)),
        cut_blocks=count(sum(rule.blocks for rule in rules if not rule.kept)),
        kept_bytes=size(sum(rule.bytes for rule in kept)),
        all_bytes=size(sum(rule.bytes for rule in rules)),
        characters=count(len(page.text)),
        main_text=look.passages,
        rest=look.rest,
        anchors=look.anchors,
        store=store,
        other=other,
        version=version("dedupcrawl"),
        language=language_of,
    )


def language_of(text: str) -> str:
    """Return the language of a text as far as its script tells it: "zh", "ja" or ""."""
    start = text[:200]
    if _kana(start):
        return "ja"
    return "zh" if _han(start) else ""


def _legend(look: Inspection) -> list[LegendEntry]:
    made = []
    for reason, kept, blocks, length in rule_counts(look.blocks):
        rule = rule_of(reason, kept=kept)
        made.append(
            LegendEntry(truncate(reason, 60), rule.family, rule.sign, rule.meaning, kept, blocks, length)
        )
    return made


def _values(
    look: Inspection, rules: Sequence[LegendEntry], sides: Mapping[str, ComparisonResult | None]
) -> dict[str, object]:
    """Return what the scripts are given; the same reason stands once, whatever the number of its blocks."""
    numbers = {(rule.reason, rule.kept): number for number, rule in enumerate(rules)}
    whys: dict[str, int] = {}
    options = look.options
    return {
        "blocks": [
            [
                numbers[truncate(block.reason, 60), block.kept],
                block.length,
                block.link_length,
                block.links,
                block.longest_run,
                block.tag,
                whys.setdefault(why, len(whys)),
            ]
            for block, why in zip(look.blocks, look.reasons, strict=True)
        ],
        "whys": list(whys),
        "rules": [
            {"reason": rule.reason, "family": rule.family, "sign": rule.sign, "kept": rule.kept}
            for rule in rules
        ],
        "bounds": {"content": options.link_density_content, "noise": options.link_density_noise}
        if options.reader in _BY_LINKS
        else None,
        "steps": look.canvas.steps,
        "style": read_asset(_HERE, "families.css") + read_asset(_HERE, "canvas.css"),
        "pairs": {
            name: [pair_values(pair) | {"heading": heading} for heading, pair in side.pairs]
            for name, side in sides.items()
            if side is not None
        },
    }
