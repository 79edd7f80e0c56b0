"""Pages that the tests of page reading share."""

from __future__ import annotations

PARAGRAPH = (
    "The river rose through the night until it stood a hand below the bridge, and by the morning the whole "
    "village had come down to look at it, although nobody could have said what they expected to see there."
)
SECOND = (
    "Nothing like it had been measured since the mill was built, the miller said, and he had carried his "
    "grain up to the loft before supper, for the wheel had begun to turn backwards in the flood."
)
CHINESE = "昨夜的大雨让河水涨到了桥下一掌的地方，清晨全村的人都来到岸边观看，谁也说不清自己在等待什么。"
CHINESE_TWO = "磨坊主说，自从磨坊建成以来从未测到过这样高的水位，晚饭前他就把粮食搬上了阁楼。"


def article(body: str, head: str = "") -> str:
    """Return a page with two paragraphs and, after them, ``body``."""
    return (
        f"<html><head><title>Flood</title>{head}</head><body>"
        f"<div id='story'><p>{PARAGRAPH}</p><p>{SECOND}</p>{body}</div></body></html>"
    )


def links(count: int, target: str = "/story/{}.html", label: str = "Other story {}") -> list[str]:
    """Return links, numbered."""
    return [f'<a href="{target.format(number)}">{label.format(number)}</a>' for number in range(1, count + 1)]
