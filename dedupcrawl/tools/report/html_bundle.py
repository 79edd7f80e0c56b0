"""Self-contained HTML pages: the bundle with styles, scripts and data, and the catalogues of their languages.

A page makes no network requests. Its Content-Security-Policy, in a meta element, allows its scripts and styles by their
hashes, pictures as data URLs, and nothing else. Data are JSON in a script element that the browser does not run.
Templates escape all values.

The catalogue of a page is ``web/zh.json`` (see :mod:`dedupcrawl.utils.messages`); its ``messages`` are the texts of
templates and scripts. ``web/base.js`` translates in the browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from enum import StrEnum
from importlib.resources import files
from typing import TYPE_CHECKING

from markupsafe import Markup

from dedupcrawl.errors import DedupError
from dedupcrawl.utils.messages import ENGLISH, read_chinese

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from jinja2 import Environment

    from dedupcrawl.utils.messages import MessageTable


_PACKAGE = "dedupcrawl.tools.report"


class LanguageCode(StrEnum):
    """The language of an HTML page."""

    AUTO = "auto"  #: that of the browser: Chinese if it asks for Chinese first, else English
    EN = "en"
    ZH = "zh"


def chinese(package: str = _PACKAGE) -> MessageTable:
    """Return the Chinese messages of a package, and those that all pages share."""
    paths = (f"{each.partition('.')[2].replace('.', '/')}/web/zh.json" for each in (_PACKAGE, package))
    return read_chinese(*dict.fromkeys(paths))


def page_languages(language: LanguageCode, package: str = _PACKAGE) -> tuple[MessageTable, ...]:
    """Return the languages in which a page is made; the browser shows the first, or the one that it asks for."""
    made = {LanguageCode.EN: (ENGLISH,), LanguageCode.ZH: (chinese(package),)}
    return made.get(language, (ENGLISH, chinese(package)))


# -- pages --------------------------------------------------------------------------------------

_END_OF_ELEMENT = re.compile(r"</|<!--")
_UNSAFE_IN_JSON = re.compile("[<\u2028\u2029\ud800-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_ALLOWED_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BASE_POLICY = {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}


def assemble_page(
    template: str,
    *,
    title: str,
    package: str = _PACKAGE,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Sequence[Markup] = (),
    allow: Mapping[str, str] | None = None,
    languages: Sequence[MessageTable] = (ENGLISH,),
    **context: object,
) -> str:
    """Return a page as HTML.

    Args:
        template: name of a template; it extends ``frame.html`` and fills its blocks.
        title: the title of the page, in English or as a sentence that the messages know.
        package: package with the template, styles and scripts in its folder ``web``; files that it does not
            have are taken from this package.
        styles: names of style sheets; ``base.css`` comes before them.
        scripts: names of scripts; ``base.js`` comes before them.
        data: script elements with data, from :func:`json_element` or :func:`deflated_json_element`.
        allow: additional sources by directive of the policy (``{"connect-src": "'self'"}``).
        languages: the page is made in each of them. The browser shows the first, or the one that it asks for.
        context: variables of the template.
    """
    css = [read_asset(package, name) for name in ("base.css", *styles)]
    js = [read_asset(package, name) for name in ("base.js", *scripts)]
    environment = template_environment(package)
    body = environment.get_template(template)
    shared = context | {"title": title}
    bodies = [Markup(body.render(shared, **_words(each))) for each in languages]  # noqa: S704
    return environment.get_template("document.html").render(
        policy=content_security_policy(css, js, allow or {}),
        styles=[inline(each) for each in css],
        scripts=[inline(each) for each in js],
        data=data,
        bodies=[(each.language, each.sentence(title), text) for each, text in zip(languages, bodies, strict=True)],
        catalogues=[json_element(f"messages-{each.language}", _catalogue(each)) for each in languages if each.messages],
    )


def _words(messages: MessageTable) -> dict[str, Callable[..., str]]:
    """Return the functions of templates for texts: ``_`` for their own, ``told`` for sentences of the package."""
    return {"_": messages.text, "told": messages.sentence, "amount": messages.amount}


def _catalogue(messages: MessageTable) -> dict[str, Mapping[str, str]]:
    return {"messages": messages.messages, "sentences": messages.sentences}


def template_environment(package: str = _PACKAGE) -> Environment:
    """Return the template environment of a package, with this package as fallback; it escapes all values."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # noqa: PLC0415  # every command needs LanguageCode

    folders = dict.fromkeys((package, _PACKAGE))
    return Environment(
        loader=ChoiceLoader([PackageLoader(folder, "web") for folder in folders]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_replace_invalid,
    )


def content_security_policy(styles: Sequence[str], scripts: Sequence[str], allow: Mapping[str, str]) -> str:
    """Return the Content-Security-Policy that allows inline styles and scripts with these texts only.

    Source: Content Security Policy Level 3, W3C, section 2.3.1 (hash-source).
    """
    directives = _BASE_POLICY | {
        "script-src": " ".join(map(hash_source, scripts)) or "'none'",
        "style-src": " ".join(map(hash_source, styles)) or "'none'",
    }
    for name, sources in allow.items():
        before = directives.get(name, "'none'")
        directives[name] = sources if before == "'none'" else f"{before} {sources}"
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


def hash_source(text: str) -> str:
    """Return the hash source expression of an inline style or script."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def read_asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``web`` of a package, or of this package."""
    candidates = (files(folder) / "web" / name for folder in dict.fromkeys((package, _PACKAGE)))
    found = next((file for file in candidates if file.is_file()), None)
    if found is None:
        raise FileNotFoundError(name)
    return found.read_text("utf-8").replace("\r\n", "\n")


def inline(text: str) -> Markup:
    """Mark a style or script of this project as safe; raises ValueError if its text can end its element."""
    if _END_OF_ELEMENT.search(text):
        raise ValueError("a style or script may contain neither '</' nor '<!--'")
    return Markup(text)  # noqa: S704  # a file of this project that cannot end its element


def json_element(name: str, value: object) -> Markup:
    """Return a script element with JSON data; ``base.js`` reads it by its name. NaN raises ValueError."""
    safe = _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", _dump_json(value))
    return _script_element("application/json", name, safe)


def deflated_json_element(name: str, value: object) -> Markup:
    """Return a script element with deflated JSON in base64: a quarter of the size for much data."""
    whole = _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", _dump_json(value))
    deflated = zlib.compress(whole.encode(), level=9)
    return _script_element("application/x-deflated-json", name, base64.b64encode(deflated).decode())


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _script_element(kind: str, name: str, safe: str) -> Markup:
    content = Markup(safe)  # noqa: S704  # escaped by the callers
    return Markup('<script type="{}" id="{}">{}</script>').format(kind, name, content)


def _replace_invalid(value: object) -> object:
    """Replace characters that HTML does not allow: control characters and lone surrogates."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NOT_ALLOWED_IN_HTML.sub("\ufffd", value)
    return value


# -- files --------------------------------------------------------------------------------------

_GENERATOR = b'<meta name="generator" content="dedupcrawl">'
_HEAD_BYTES = 4096  #: bytes at the start of a report that contain it


def require_report_or_nothing(path: Path) -> None:
    """Raise DedupError if the path exists and is not a report, so that no other file is overwritten."""
    try:
        if path.is_dir():
            raise DedupError(f"{path}: the report is one file, and this is a folder")
        with path.open("rb") as file:
            is_ours = _GENERATOR in file.read(_HEAD_BYTES) or not path.stat().st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error.strerror or error}") from error
    if not is_ours:
        raise DedupError(f"{path}: is no report of dedupcrawl, so it is not overwritten; name another file")
