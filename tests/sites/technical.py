"""Sites that are difficult for technical reasons: error pages with status 200, shells, six languages, slides."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.sites import layouts
from tests.sites.copies import copied
from tests.sites.model import Blueprint, Copy, Draft, Frame
from tests.sites.words import slug

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.sites.model import View
    from tests.sites.words import Writer


def missing(writer: Writer) -> Blueprint:
    """Articles, and many URLs that answer "not found" with status 200: copies of one page."""
    name = writer.of("Harbour Almanac", "Meadow Post")
    sorry = writer.of(
        "<p>We are sorry, but the page that you are looking for does not exist any more. It may have been moved, "
        "renamed or removed. Please check the address for mistakes, use the search at the top of the page or go "
        "back to the start page.</p>",
        "<p>Nothing was found at this address. Perhaps a link is out of date, or a letter was lost on the way. "
        "Our archive holds all articles since the first issue, and the search will surely find what you had in "
        "mind. If a link on our own pages is wrong, please tell the editors.</p>",
    )
    drafts = [
        Draft(f"/{number}/{slug(head)}", head, writer.story(3, 3), trail=("Articles",))
        for number, head in enumerate(writer.headline() for _ in range(10))
    ]
    gone = [
        Draft(f"/old/{writer.code(3, 6).lower()}", writer.of("Page not found", "Oops! 404"), sorry, content="missing")
        for _ in range(10)
    ]
    frame = Frame(name, "en", ("Articles", "Archive", "Search", "About"), f"© 2026 {name}", side="Latest articles")
    return Blueprint(f"{slug(name)}.example", frame, writer.of(layouts.blog, layouts.newspaper), (*drafts, *gone))


def shells(writer: Writer) -> Blueprint:
    """Pages whose content stands in data for a script; what is visible is the same everywhere."""
    name = writer.of("Reactive Review", "Hydrate Magazine")
    advice = writer.of(
        "<p>This application needs JavaScript. Please enable it in the settings of your browser and load the "
        "page again. If the message remains, your browser may be too old; the newest versions of all common "
        "browsers are supported. Extensions that block scripts have to make an exception for this site.</p>",
        "<p>Loading… You should be redirected in a few seconds. If nothing happens, scripts may be switched off "
        "in your browser or blocked by your company's network. Without them we cannot show our articles, since "
        "they are assembled on your device. Our help pages describe how to allow them.</p>",
    )
    drafts = []
    for number in range(14):
        headline, text = writer.headline(), "\n\n".join(writer.text(4) for _ in range(3))
        story = {"headline": headline, "articleBody": text}
        linked = (
            f"<script "
            f'type="application/ld+json">'
            f"{json.dumps({'@context': 'https://schema.org', '@type': 'NewsArticle', **story})}</script>"
        )
        state = {
            "props": {"pageProps": {"article": {"id": number, "title": headline, "content": text}}},
            "page": "/[slug]",
            "buildId": "b7",
        }
        script = f'<script id="__NEXT_DATA__" type="application/json">{json.dumps(state)}</script>'
        draft = Draft(
            f"/a/{slug(headline)}-{number}", headline, "", head=linked if number % 2 else script, layout=_Shell(advice)
        )
        drafts.append(draft)
    frame = Frame(name, "en", ("Home", "Topics"), f"© 2026 {name}")
    return Blueprint(f"{slug(name)}.example", frame, layouts.newspaper, copied(drafts, (Copy.UTM, Copy.SESSION), 4))


class _Shell:
    """A template that shows a notice in place of the text."""

    def __init__(self, advice: str) -> None:
        self.advice = advice

    def __call__(self, view: View) -> str:
        return (
            f'<!doctype html><html lang="en"><head><meta '
            f'charset="utf-8"><title>{view.title}</title>{view.draft.head}</head><body>'
            f'<div id="root"><div class="fallback">{self.advice}</div></div><script '
            f'src="/static/js/main.{view.frame.name.lower()[:4]}.js"></script></body></html>'
        )


_TONGUES: Mapping[str, tuple[str, str]] = {
    "en": (
        "The {n} model {code} weighs {w} kilograms and runs for {h} hours.",
        "Clean it with a soft cloth and keep it away from heat and from damp rooms. Store it upright.",
    ),
    "de": (
        "Das Modell {n} {code} wiegt {w} Kilogramm und läuft {h} Stunden.",
        "Reinigen Sie es mit einem weichen Tuch und halten Sie es von Hitze und Feuchtigkeit fern. Aufrecht lagern.",
    ),
    "fr": (
        "Le modèle {n} {code} pèse {w} kilogrammes et fonctionne pendant {h} heures.",
        "Nettoyez-le avec un chiffon doux et gardez-le loin de la chaleur et des pièces humides. Rangez-le debout.",
    ),
    "es": (
        "El modelo {n} {code} pesa {w} kilogramos y funciona durante {h} horas.",
        (
            "Límpielo con un paño suave y manténgalo lejos del calor y de los lugares húmedos. Guárdelo en "
            "posición vertical."
        ),
    ),
    "it": (
        "Il modello {n} {code} pesa {w} chilogrammi e funziona per {h} ore.",
        "Pulirlo con un panno morbido e tenerlo lontano dal calore e dagli ambienti umidi. Conservarlo in piedi.",
    ),
    "zh": (
        "{n}型号{code}重{w}公斤，可连续运行{h}小时。",
        "请用软布擦拭，远离高温和潮湿的房间，直立存放，切勿用水冲洗机身。",
    ),
}


def languages(writer: Writer) -> Blueprint:
    """Four products in six languages; the default language has two URLs."""
    drafts = []
    for number in range(4):
        thing, code = writer.of("Aerona", "Voltis"), writer.code(1, 3)
        values = {"n": thing, "code": code, "w": writer.number(2, 40), "h": writer.number(3, 30)}
        for tongue, (facts, care) in _TONGUES.items():
            body = (
                f"<p>{facts.format(**values)} "
                f"{care}</p>\n<table><tr><td>kg</td><td>{values['w']}</td></tr><tr><td>h</td><td>"
                f"{values['h']}</td></tr></table>"
            )
            draft = Draft(
                f"/{tongue}/{slug(code)}", f"{thing} {code}", body, content=f"{tongue}-{number}", trail=(thing,)
            )
            drafts.append(draft)
            if tongue == "en":
                drafts.append(replace(draft, path=f"/{slug(code)}"))
    name = writer.of("Aerona Tools", "Voltis Systems")
    frame = Frame(
        name,
        "en",
        ("English", "Deutsch", "Français", "Español", "Italiano", "中文"),
        f"© 2026 {name}",
        side=writer.of("Accessories", "More"),
    )
    return Blueprint(f"www.{slug(name)}.example", frame, writer.of(layouts.elementor, layouts.shop), tuple(drafts))


KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {"missing": missing, "shells": shells, "languages": languages}
