"""Puts a page together: one HTML file with its styles, scripts and data, that asks nothing of any network.

What the page may do is said in the page (a Content-Security-Policy in a meta element): scripts and styles by
their hash, pictures as data, and nothing else. Data travel as JSON in a script element that no browser runs,
and whatever a template is given is escaped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PACKAGE = "dedupcrawl.tools.report"
_END_OF_ELEMENT = re.compile(r"</|<!--")
_UNSAFE_IN_JSON = re.compile("[<\u2028\u2029\ud800-\udfff]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_ALLOWED_IN_HTML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_BASE_POLICY = {
    "default-src": "'none'",
    "img-src": "data:",
    "base-uri": "'none'",
    "form-action": "'none'",
}


def assemble_page(
    template: str,
    *,
    package: str = _PACKAGE,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Sequence[Markup] = (),
    allow: Mapping[str, str] | None = None,
    **context: object,
) -> str:
    """Return a page as HTML.

    Args:
        template: name of a template in the folder ``web`` of ``package``; it extends ``frame.html`` of this
            package and fills its blocks ``head``, ``bar``, ``main`` and ``foot``.
        package: whose folder ``web`` holds the template, the styles and the scripts; what is not found there
            is taken from this package.
        styles: names of style sheets, which follow ``base.css``.
        scripts: names of scripts, which follow ``base.js``.
        data: the page's data, from :func:`embedded` or :func:`packed`.
        allow: further sources by directive of the policy (``{"connect-src": "'self'"}``).
        context: what the template shows; ``title`` is the title of the page.
    """
    css = [read_asset(package, name) for name in ("base.css", *styles)]
    js = [read_asset(package, name) for name in ("base.js", *scripts)]
    return (
        template_environment(package)
        .get_template(template)
        .render(
            policy=content_security_policy(css, js, allow or {}),
            styles=[inline(each) for each in css],
            scripts=[inline(each) for each in js],
            data=data,
            **context,
        )
    )


def template_environment(package: str = _PACKAGE) -> Environment:
    """Return what renders the templates of a package, and of this one: with every value escaped."""
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
    """Return the Content-Security-Policy of a page with these styles and scripts, and no others.

    Args:
        styles: text of each style element.
        scripts: text of each script element.
        allow: further sources by directive.

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
    """Return the source expression that allows an inline style or script with this text."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def read_asset(package: str, name: str) -> str:
    """Return the text of a file in the folder ``web`` of a package, or else of this one."""
    places = (files(folder) / "web" / name for folder in dict.fromkeys((package, _PACKAGE)))
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise FileNotFoundError(name)
    return found.read_text("utf-8").replace("\r\n", "\n")


def inline(text: str) -> Markup:
    """Mark our own style or script as one that may stand in its element as it is.

    Raises:
        ValueError: it has ``</`` or ``<!--``, with which the element could end early.
    """
    if _END_OF_ELEMENT.search(text):
        raise ValueError("a style or script may contain neither '</' nor '<!--'")
    return Markup(text)  # noqa: S704  # our own files, and nothing that ends the element


def json_element(name: str, value: object) -> Markup:
    """Return a script element that no browser runs, with a value as JSON; ``base.js`` reads it by its name.

    Raises:
        ValueError: it has a number that JSON has not (nan, infinity).
    """
    safe = _UNSAFE_IN_JSON.sub(lambda found: f"\\u{ord(found.group()):04x}", _dump_json(value))
    return _script_element("application/json", name, safe)


def deflated_json_element(name: str, value: object) -> Markup:
    """Do as :func:`embedded`, with the JSON deflated and in base64: a fourth of the size where there is much.

    Raises:
        ValueError: it has a number that JSON has not (nan, infinity).
    """
    whole = _LONE_SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", _dump_json(value))
    deflated = zlib.compress(whole.encode(), level=9)
    return _script_element("application/x-deflated-json", name, base64.b64encode(deflated).decode())


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _script_element(kind: str, name: str, safe: str) -> Markup:
    content = Markup(safe)  # noqa: S704  # the callers have seen to it that nothing in it ends the element
    return Markup('<script type="{}" id="{}">{}</script>').format(kind, name, content)


def _replace_invalid(value: object) -> object:
    """Put a sign in the place of what HTML cannot hold: control characters, and halves of characters."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NOT_ALLOWED_IN_HTML.sub("\ufffd", value)
    return value
