"""Class pages as Sphinx, Javadoc and doxygen make them: a brief description, and lists of linked members."""

from __future__ import annotations

from collections.abc import Callable, Mapping

WHAT = "Holds the state of a mill while it grinds, and tells the miller when a sack is full."


def _members(count: int) -> list[str]:
    verbs, nouns = ("open", "close", "turn", "weigh", "count", "stop"), ("sluice", "stone", "sack", "wheel", "hopper")
    return [f"{verbs[at % 6]}_{nouns[at // 6 % 5]}" for at in range(count)]


def sphinx(name: str, what: str = WHAT, members: int = 14) -> str:
    """Set a class with an autosummary table, whose rows have a link and a few words each."""
    toc = "".join(
        f'<li class="toctree-l2"><a class="reference internal" href="p{at}.html">mill.part{at}</a></li>'
        for at in range(40)
    )
    rows = "".join(
        f'<tr><td><p><a class="reference internal" href="#m.{each}"><code><span '
        f'class="pre">{each}</span></code></a>(n)</p></td><td><p></p></td></tr>'
        for each in _members(members)
    )
    return (
        f'<html><head><title>mill.{name} — Mill 1.2 documentation</title></head><body><div class="document"><div '
        'class="documentwrapper"><div '
        f'class="bodywrapper"><div class="body" role="main"><section id="mill"><h1>mill.{name}<a class="headerlink" '
        'href="#m">¶</a></h1><dl '
        'class="py class"><dt class="sig sig-object py"><em>class</em> '
        f'mill.{name}(<em>size</em>)</dt><dd><p>{what}</p><p class="rubric">Methods</p>'
        '<table class="autosummary '
        f'longtable"><tbody>{rows}</tbody></table></dd></dl></section></div></div></div><div class="sphinxsidebar" '
        'role="navigation"><div class="sphinxsidebarwrapper"><h3><a href="index.html">Table of '
        f"Contents</a></h3><ul>{toc}</ul></div></div></div>"
        f'<div class="footer">© Copyright 2024, The mill.</div></body></html>'
    )


def javadoc(name: str, what: str = WHAT, members: int = 14) -> str:
    """Set a class with a method summary, as JDK 8 does."""
    top = "".join(
        f'<li><a href="{each.lower()}.html">{each}</a></li>'
        for each in ("Overview", "Package", "Use", "Tree", "Index", "Help")
    )
    rows = "".join(
        '<tr class="altColor"><td class="colFirst"><code>void</code></td><td class="colLast"><code><span '
        'class="memberNameLink"><a '
        f'href="{name}.html#{each}--">{each}</a></span>()</code></td></tr>'
        for each in _members(members)
    )
    inherited = ", ".join(
        f'<a href="Object.html#{each}">{each}</a>'
        for each in ("clone", "equals", "hashCode", "notify", "toString", "wait")
    )
    return (
        f'<html><head><title>{name} (Mill 1.2 API)</title></head><body><div class="topNav"><ul class="navList" '
        f'title="Navigation">{top}</ul></div><div '
        f'class="header"><div class="subTitle">org.mill</div><h2 title="Class {name}" class="title">Class '
        f'{name}</h2></div><div class="contentContainer"><ul '
        f'class="inheritance"><li><a href="Object.html">java.lang.Object</a></li><li>org.mill.{name}</li></ul><div '
        'class="description"><ul class="blockList">'
        f'<li><pre>public class <span class="typeNameLabel">{name}</span>\nextends <a '
        f'href="Object.html">Object</a></pre><div class="block">{what}</div></li>'
        '</ul></div><div class="summary"><h3>Method Summary</h3><table class="memberSummary"><tr><th>Modifier and '
        f"Type</th><th>Method</th></tr>{rows}</table>"
        f"<h3>Methods inherited from class java.lang.Object</h3><code>{inherited}</code></div></div><div "
        f'class="bottomNav"><ul class="navList">{top}</ul></div></body></html>'
    )


def doxygen(name: str, what: str = WHAT, members: int = 14) -> str:
    """Set a class with a table of its members."""
    tabs = "".join(
        f'<li><a href="{each}.html"><span>{each}</span></a></li>'
        for each in ("Main Page", "Classes", "Files", "Class List", "Class Index")
    )
    rows = "".join(
        f'<tr class="memitem:{at}"><td class="memItemLeft">void&#160;</td><td class="memItemRight"><a class="el" '
        f'href="class{name}.html#a{at}">{each}</a> ()</td></tr>'
        for at, each in enumerate(_members(members))
    )
    return (
        f'<html><head><title>Mill: mill::{name} Class Reference</title></head><body><div id="top"><div '
        'id="titlearea"><div id="projectname">Mill</div></div><div '
        f'id="navrow1" class="tabs"><ul class="tablist">{tabs}</ul></div><div id="nav-path" '
        f'class="navpath"><ul><li><b>mill</b></li><li><a>{name}</a></li></ul></div></div>'
        '<div class="header"><div class="summary"><a href="#pub">Public Member Functions</a> | <a '
        f'href="class{name}-members.html">List of all members</a></div><div '
        f'class="headertitle"><div class="title">mill::{name} Class Reference</div></div></div><div '
        f'class="contents"><p>{what} <a href="#details">More...</a></p><table '
        'class="memberdecls"><tr class="heading"><td colspan="2"><h2 class="groupheader">Public Member '
        f"Functions</h2></td></tr>{rows}</table><hr/>The documentation for "
        'this class was generated from the following file:<ul><li>src/<a class="el" '
        f'href="{name}_8h.html">{name}.h</a></li></ul></div><hr class="footer"/><address '
        f'class="footer"><small>Generated by doxygen 1.9</small></address></body></html>'
    )


TOOLS: Mapping[str, Callable[..., str]] = {"sphinx": sphinx, "javadoc": javadoc, "doxygen": doxygen}
