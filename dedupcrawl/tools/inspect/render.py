"""An inspection as one HTML file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from dedupcrawl.tools.inspect.inspection import rule_counts
from dedupcrawl.tools.inspect.rules import rule_of
from dedupcrawl.tools.report.html_bundle import (
    LanguageCode,
    assemble_page,
    deflated_json_element,
    page_languages,
    read_asset,
)
from dedupcrawl.tools.report.html_report import MAX_TITLE_CHARS, MAX_URL_CHARS, pair_values, truncate
from dedupcrawl.utils.formatting import count, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dedupcrawl.tools.inspect.comparison import ComparisonResult
    from dedupcrawl.tools.inspect.inspection import InspectedPage

_HERE = "dedupcrawl.tools.inspect"
_SCRIPTS = ("data.js", "evidence.js", "tabs.js", "pair.js", "blocks.js", "canvas.js", "inspect.js")
_kana, _han = re.compile(r"[\u3041-\u30ff]").search, re.compile(r"[\u4e00-\u9fff]").search
_BY_LINKS = frozenset({"blocks", "text"})  #: readers that apply the link rules


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A rule that was applied, and the number of blocks it decided."""

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
    inspection: InspectedPage,
    store: ComparisonResult | None = None,
    other: ComparisonResult | None = None,
    language: LanguageCode = LanguageCode.AUTO,
) -> str:
    """Return the HTML.

    Args:
        inspection: the page.
        store: its comparison with a store.
        other: its comparison with another page.
        language: of the file.
    """
    page, rules = inspection.page, _legend(inspection)
    sides = {"store": store, "other": other}
    kept = [rule for rule in rules if rule.kept]
    return assemble_page(
        "inspect.html",
        package=_HERE,
        styles=["report.css", "charts.css", "families.css", "inspect.css"],
        scripts=_SCRIPTS,
        languages=page_languages(language, _HERE),
        data=[deflated_json_element("inspected", _values(inspection, rules, sides))],
        title=truncate(f"{page.title or page.url} · inspected", MAX_TITLE_CHARS),
        heading=truncate(page.title or "(no title)", MAX_TITLE_CHARS),
        page=page,
        url=truncate(page.url, MAX_URL_CHARS),
        is_link=page.url.startswith(("http://", "https://")) and len(page.url) <= MAX_URL_CHARS,
        inspection=inspection,
        rules=rules,
        kept_blocks=count(sum(rule.blocks for rule in kept)),
        all_blocks=count(len(inspection.blocks)),
        cut_blocks=count(sum(rule.blocks for rule in rules if not rule.kept)),
        kept_bytes=size(sum(rule.bytes for rule in kept)),
        all_bytes=size(sum(rule.bytes for rule in rules)),
        characters=count(len(page.text)),
        store=store,
        other=other,
        version=version("dedupcrawl"),
        language=language_of,
    )


def language_of(text: str) -> str:
    """Return the language of a text by its script: "zh", "ja" or ""."""
    start = text[:200]
    return "ja" if _kana(start) else "zh" if _han(start) else ""


def _legend(inspection: InspectedPage) -> list[LegendEntry]:
    legend = []
    for reason, kept, blocks, length in rule_counts(inspection.blocks):
        rule, name = rule_of(reason, kept=kept), truncate(reason, 60)
        legend.append(LegendEntry(name, rule.family, rule.sign, rule.meaning, kept, blocks, length))
    return legend


def _values(
    inspection: InspectedPage, rules: Sequence[LegendEntry], sides: Mapping[str, ComparisonResult | None]
) -> dict[str, object]:
    """Return the data for the scripts; each reason is listed once, and blocks refer to it by index."""
    numbers = {(rule.reason, rule.kept): number for number, rule in enumerate(rules)}
    whys: dict[str, int] = {}
    options = inspection.options
    return {
        "blocks": [
            # block[1:6]: length, link_length, links, longest_run, tag
            [numbers[truncate(block.reason, 60), block.kept], *block[1:6], whys.setdefault(why, len(whys))]
            for block, why in zip(inspection.blocks, inspection.reasons, strict=True)
        ],
        "whys": list(whys),
        "rules": [
            {name: getattr(rule, name) for name in ("reason", "family", "sign", "meaning", "kept")} for rule in rules
        ],
        "bounds": {"content": options.link_density_content, "noise": options.link_density_noise}
        if options.reader in _BY_LINKS
        else None,
        "steps": inspection.canvas.steps,
        "style": read_asset(_HERE, "families.css") + read_asset(_HERE, "canvas.css"),
        "pairs": {
            name: [pair_values(pair) | {"heading": heading} for heading, pair in side.pairs]
            for name, side in sides.items()
            if side is not None
        },
    }
