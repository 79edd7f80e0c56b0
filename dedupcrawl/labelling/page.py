"""The page on which pairs are shown and answered."""

from __future__ import annotations

from dataclasses import dataclass

from dedupcrawl.report.assembling import assemble, policy, source

_PACKAGE = "dedupcrawl.labelling"
_STYLES, _SCRIPTS = ("label.css",), ("differences.js", "label.js")
_ALLOW = {"connect-src": "'self'"}


@dataclass(frozen=True, slots=True)
class LabelPage:
    """The page, and what a server says of it."""

    html: bytes
    policy: str  #: Content-Security-Policy for the header: that of the page, and in nobody's frame

    @classmethod
    def of(cls, name: str, file: str) -> LabelPage:
        """Make the page for a run of this name, whose labels go to ``file``."""
        html = assemble(
            "label.html",
            package=_PACKAGE,
            styles=_STYLES,
            scripts=_SCRIPTS,
            allow=_ALLOW,
            title=f"Same or different? · {name}",
            run=name,
            file=file,
        )
        css = [source(_PACKAGE, each) for each in ("base.css", *_STYLES)]
        js = [source(_PACKAGE, each) for each in ("base.js", *_SCRIPTS)]
        return cls(html.encode(), f"{policy(css, js, _ALLOW)}; frame-ancestors 'none'")
