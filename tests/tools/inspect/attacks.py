"""A page with many attacks, and a usual page."""

from __future__ import annotations

from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article, links

SET = "window.hit = 1; document.title = 'hit'; alert(1)"  #: what an attack would do
AWAY = "http://127.0.0.1:9/"  #: where it would ask

HOSTILE = f"""<!doctype html><html onclick="{SET}" lang='en"><script>{SET}</script>'><head>
<base href="{AWAY}"><meta http-equiv="refresh" content="0;url={AWAY}refresh">
<title></title><script>{SET}</script>
&lt;img src=x onerror=&quot;{SET}&quot;&gt; \u202egnol</title>
<link rel="stylesheet" href="{AWAY}a.css"><link rel="icon" href="{AWAY}i.png">
<style>@import url({AWAY}b.css);
body, * {{ background: url({AWAY}c.png) !important; display: none !important }}
@font-face {{ font-family: x; src: url({AWAY}f.woff) }}</style>
<script src="{AWAY}d.js"></script><script>{SET}</script></head>
<body onload="{SET}" onpageshow="{SET}" background="{AWAY}bg.png"
style="position:fixed;background:url({AWAY}e.png)">
<nav><script>{SET} // in a landmark</script><a href="javascript:{SET}">Home</a>
<a href="{AWAY}" ping="{AWAY}">News</a></nav>
<div id="why" class="views panes related" name="canvas"
style="background:url('{AWAY}g.png');content:url({AWAY}h.png)">
<p onmouseover="{SET}" onfocus="{SET}" tabindex="0" autofocus contenteditable>{PARAGRAPH}</p>
<p>{SECOND} <a href="java&#10;script:{SET}">read</a>
<a href="data:text/html,<script>{SET}</script>">on</a></p>
<img src="{AWAY}1.png" srcset="{AWAY}2.png 2x" onerror="{SET}"
alt="</span><script>{SET}</script>" width="300" height="200">
<picture><source srcset="{AWAY}3.png">
<img src=x onerror={SET.split(";", maxsplit=1)[0].replace(" ", "")}></picture>
<svg onload="{SET}"><script>{SET}</script>
<use href="{AWAY}s.svg#x"/><foreignObject><p>deep</p></foreignObject>
<image href="{AWAY}4.png"/><animate onbegin="{SET}" attributeName=x dur=1s></svg>
<iframe src="{AWAY}frame" srcdoc="<script>{SET}</script>" onload="{SET}"></iframe>
<object data="{AWAY}o.swf"><embed src="{AWAY}e.swf"></object>
<video src="{AWAY}v.mp4" poster="{AWAY}v.png" autoplay></video>
<audio src="{AWAY}a.mp3" autoplay></audio>
<input type="image" src="{AWAY}i2.png" onfocus="{SET}" autofocus>
<form action="{AWAY}form" id="f"><input name="q"><button formaction="javascript:{SET}">send</button></form>
<noscript><p title="</noscript><img src=x onerror={SET.split(";", maxsplit=1)[0]}>">no</p></noscript>
<template><script>{SET}</script></template><marquee onstart="{SET}">moving text of the page</marquee>
<details open ontoggle="{SET}"><summary>More</summary>{CHINESE}</details>
<textarea></textarea><script>{SET}</script></textarea>
<a id="location" name="documentElement" href="#">clobber</a><img name="getElementById" src="{AWAY}5.png">
<x-element is="x" onanimationstart="{SET}">custom</x-element>
<!--[if IE]><script>{SET}</script><![endif]-->
<p>{CHINESE_TWO} &lt;script&gt;{SET}&lt;/script&gt;
{{{{ 7*7 }}}} ${{7*7}} \u2028 \u2029 \u202e desrever \u2066</p>
<div dir="rtl" lang="x&quot; onclick=&quot;alert(1)">
unclosed <b><i><div><table><tr><td colspan="99999999" rowspan="-1">cell
<ul><li>one<li>two</ul><p>{PARAGRAPH[::-1]}
<math><mtext><table><mglyph><style><!--</style>
<img title="--&gt;&lt;img src=1 onerror={SET.split(";", maxsplit=1)[0]}&gt;"></math>
<xmp><script>{SET}</script></xmp><listing><img src=x onerror="{SET}"></listing>
<plaintext><script>{SET}</script><img src="{AWAY}6.png" onerror="{SET}">"""

USUAL = article(
    f"<nav>{' '.join(links(6))}</nav>"
    f"<div class='related sidebar'><p>{CHINESE}</p></div><p>{' '.join(links(4))}</p>"
    f"<p>{CHINESE_TWO} <a href='/x'>水位</a></p>"
    f"<p>{' '.join(links(5))}</p><footer>© The Mill Gazette</footer>",
    head="<meta name='description' content='x'>",
)
