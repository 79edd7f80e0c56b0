"""Hypothesis strategies for hostile pages, and shapes of any size for the tests of growth."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

TEXT = "The river rose in the night and the lower town was flooded, said the mayor on Monday. "

#: Elements for which the tree construction of the HTML Standard has rules of their own.
TAGS = [
    "html",
    "head",
    "body",
    "title",
    "meta",
    "link",
    "base",
    "script",
    "style",
    "noscript",
    "template",
    "frameset",
    "frame",
    "noframes",
    "iframe",
    "plaintext",
    "a",
    "b",
    "i",
    "font",
    "nobr",
    "em",
    "p",
    "div",
    "span",
    "section",
    "article",
    "main",
    "nav",
    "aside",
    "footer",
    "header",
    "h1",
    "h6",
    "form",
    "button",
    "input",
    "select",
    "option",
    "optgroup",
    "textarea",
    "table",
    "caption",
    "colgroup",
    "col",
    "tbody",
    "tr",
    "td",
    "th",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "pre",
    "listing",
    "xmp",
    "svg",
    "math",
    "mi",
    "foreignObject",
    "ruby",
    "rt",
    "rp",
    "br",
    "hr",
    "img",
    "image",
    "time",
    "details",
    "summary",
    "dialog",
    "address",
    "blockquote",
    "center",
    "marquee",
    "object",
    "my-app",
    "x:y",
]
ATTRIBUTES = (
    "", " class=comment", " id='related posts'", ' class="a b" class=c', " href=/x", " href='/a.mp3?b'",
    " a=\"<>\"", " =x",
    " a='", ' b="', " lang=zh", " name=date content=1", " rel=canonical href=http://[",
    " itemprop=headline content='T'",
    " datetime=2024", " style=display:none", "/", " /", " a/b", " onclick='if(a<b)c>d'", " type=hidden", " a b c d e",
)  # fmt: skip
PIECES = (
    "<!--", "-->", "--!>", "<!-->", "<!doctype html>", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "<![CDATA[", "]]>",
    "<?xml version='1.0'?>",
    "<?php", "</", "<", "< ", "<a", "</p", "<!", "&", "&amp", "&amp;", "&notin;", "&#0;", "&#x80;", "&#xd800;",
    "&#x110000;",
    "&#99999999999;", "&nosuch;", "\0", "\x01", "\x0c", "\r", "\x1b$B", "\x7f", "\x85", "\xa0", "\u200b",
    "\u202e", "\u2028", "\ufeff",
    "\ufdd0", "\ufdd2", "\ufdd3", "\ufdd4", "\ufdd6", "\ufdd7", "\ufdd8", "\uffff", "\ud800", "\U0001f600",
    "e\u0301\u0316", "ﷺ", "字",
    "'", '"', "=", ">", "\n", " ", "\t", "]", "|", TEXT, TEXT, "洪水在夜里淹没了下城，市长星期一说。",
)  # fmt: skip

LABELS = (
    "utf-8", "utf-16", "utf-16le", "utf-32", "utf-7", "gb18030", "gb2312", "big5", "shift_jis", "euc-kr", "iso-2022-jp",
    "iso-2022-kr", "hz", "latin-1", "windows-1251", "koi8-r", "cp037", "idna", "punycode", "hex", "base64",
    "rot13", "zlib", "bz2", "uu",
    "quopri", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem", "x-user-defined",
    "replacement", "none", "",
)  # fmt: skip
ENCODINGS = (
    "utf-8",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "gb18030",
    "big5",
    "cp932",
    "euc_kr",
    "iso2022_jp",
    "hz",
    "cp1252",
    "koi8_r",
    "utf-7",
)

_start = st.builds(lambda tag, attributes: f"<{tag}{''.join(attributes)}>", st.sampled_from(TAGS),
                   st.lists(st.sampled_from(ATTRIBUTES), max_size=3))  # fmt: skip
_end = st.sampled_from(TAGS).map("</{}>".format)
_token = st.one_of(_start, _start, _end, st.sampled_from(PIECES), st.text(max_size=5))
_run = st.builds(lambda token, times: token * times, _token, st.sampled_from([1, 1, 1, 2, 7, 60]))

#: The HTML of a page.
MARKUP = st.lists(_run, max_size=40).map("".join)


def _encoded(html: str, encoding: str, label: str, *, declared: bool, cut: int) -> bytes:
    page = f"<meta charset={label}>{html}" if declared else html
    body = page.encode(encoding, "replace" if encoding != "utf-8" else "surrogatepass")
    return body[cut:] if cut else body


#: The body of a page, whose encoding may be another one than its markup says.
BODIES = st.one_of(
    st.builds(
        _encoded, MARKUP, st.sampled_from(ENCODINGS), st.sampled_from(LABELS),
        declared=st.booleans(), cut=st.sampled_from([0, 0, 0, 1, 2, 3]),
    ),
    st.binary(max_size=300),
)  # fmt: skip

#: Shapes of ``n`` parts. Reading one of twice the size must take about twice the work.
SHAPES: Mapping[str, Callable[[int], str]] = {
    "attributes": lambda n: "<p " + " ".join(f"a{i}=1" for i in range(n)) + f">{TEXT}",
    "attributes in many tags": lambda n: ("<p " + " ".join(f"a{i}=1" for i in range(250)) + ">") * (n // 250 + 1),
    "namespaces": lambda n: "<p " + " ".join(f"xmlns:a{i}=u" for i in range(n)) + f">{TEXT}",
    "tags in a tag": lambda n: "<a" * n + TEXT,
    "open quotes": lambda n: "<a href='" * n + TEXT,
    "tags in a long value": lambda n: "<a " * 255 + "b='" + "<i>" * n,
    "adoption agency": lambda n: "<a><b><i><p>x</a></b></i>" * n,
    "unclosed": lambda n: "<p><b>" * n + TEXT,
    "end tags": lambda n: "<div>" * 500 + "</b></table>" * n + TEXT,
    "foster parents": lambda n: "<table>" + "x<tr>y</tr>" * n,
    "tables": lambda n: "<table><tr><td>x</table>" * n,
    "classes": lambda n: "".join(f"<div class='c{i} related'>x</div>" for i in range(n)),
    "a long class": lambda n: f"<div class='{'related ' * n}'><p>{TEXT}",
    "ids": lambda n: "".join(f"<p id=i{i}>x" for i in range(n)),
    "links": lambda n: "<p>" + "<a href=/x>w</a> " * n,
    "links in sentences": lambda n: "<p>" + "<a href=/x>w</a> and words between " * n,
    "runs of links": lambda n: "<p>" + ("<a href=/x>w</a>|" * 5 + " some words here " * 3) * n,
    "a link around blocks": lambda n: "<a href=/x>" + "<div>w</div>" * n,
    "articles": lambda n: "<article><p>one</p>" + "<article><p>two</article>" * n,
    "teasers": lambda n: "<div>" + "<div><a href=x>a title</a><p>a line</div>" * n,
    "landmarks": lambda n: "<nav><a href=x>y</a></nav>" * n + TEXT,
    "paragraphs": lambda n: f"<p>{TEXT}</p>" * n,
    "one text": lambda n: TEXT * n,
    "one word": lambda n: "x" * n * 20,
    "line ends": lambda n: "<p>" + "x<br>" * n,
    "white space": lambda n: f"<p>a{' ' * 20 * n}b",
    "character references": lambda n: "&#x4e00;&bogus" * n,
    "a long reference": lambda n: "x&" + "a" * 20 * n + ";",
    "comments": lambda n: "<!--x-->" * n + TEXT,
    "an open comment": lambda n: "<!--" + "- -- <!--" * n,
    "CDATA": lambda n: "<![CDATA[x]]>" * n + TEXT,
    "doctypes": lambda n: "<!DOCTYPE html [<!ENTITY a 'b'>]>" * n + TEXT,
    "metadata": lambda n: "".join(f"<meta name=m{i} content=x>" for i in range(n)) + TEXT,
    "bases": lambda n: "<base href=/x>" * n + TEXT,
    "frames": lambda n: "<noscript><p>x</noscript><template><p>y</template><iframe></iframe>" * n,
    "scripts": lambda n: "<script>var x</script>" * n + TEXT,
    "a long script": lambda n: "<script>" + "for (i=0; i<n; i++) " * n + f"</script>{TEXT}",
    "elements of one's own": lambda n: "<head>" + "<my-app>x</my-app>" * n,
    "topic and segments": lambda n: (
        "<div>" + "".join(f"w{i} " for i in range(20 * n)) + f"</div><div>{'y z ' * 30}" * n
    ),
    "marks": lambda n: "\ufdd0a\ufdd2b\ufdd3c\ufdd4\ufdd7d=e" * n,
    "combining marks": lambda n: f"<p>{TEXT}a" + "\u0301\u0316" * n,
    "letters with many marks": lambda n: f"<p>{TEXT}" + ("a" + "\u0301\u0316" * 15) * (n // 30 + 1),
    "letters of Hangul": lambda n: f"<p>{TEXT}" + "\u1100\u1161\u11a8" * n,
    "vowel signs of Arabic": lambda n: f"<p>{TEXT}\u0628" + "\u064e\u0651" * n,
    "ligatures": lambda n: f"<p>{TEXT}" + "\ufdfa" * n,
}
