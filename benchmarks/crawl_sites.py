"""The sites that ``benchmarks.crawl`` crawls, and their server.

Generated sites have a fixed vocabulary, so that every run has the same pages. Each page links to others of its part,
and has the classes that the spiders of ``benchmarks.crawl`` select.
"""

from __future__ import annotations

import gzip
import json
import random
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from tests.data import LABELLED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

LINKS = 10
PART = 250  #: pages per turn; links stay within their part
COLOURS = ("grey", "white", "black", "red", "green", "blue", "yellow", "brown", "silver", "orange")


def page(number: int) -> bytes:
    """Generate a page of about 20 kB: an article of 600 words, and the navigation around it."""
    chance = random.Random(number)
    title = sentence(chance, 7)
    story = "".join(f"<p>{' '.join(sentence(chance, 15) for _ in range(4))}</p>\n" for _ in range(10))
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title} | The Daily</title>
<meta name="description" content="{sentence(chance, 15)}"><link rel="stylesheet" href="/style.css">
<style>{".c{color:#123;margin:0 auto;padding:1px 2px}" * 60}</style>
<script>{"window.q=window.q||[];q.push(['event',1,2,3]);" * 90}</script></head><body>
<header><div class="logo"><a href="/">The Daily</a></div><nav><ul>{menu(40)}</ul></nav></header>
<div id="wrap"><main><article><h1>{title}</h1><div class="meta">By <a href="/staff/7">A. Writer</a>
<time datetime="2024-05-01">1 May 2024</time></div>
{story}</article>
<section class="comments"><h2>Comments</h2>{comments(chance)}</section></main>
<aside class="related"><h3>Read next</h3><ul>{onward(number, chance)}</ul></aside></div>
<footer><ul>{menu(20)}</ul><p>All rights reserved.</p></footer></body></html>""".encode()


def product(number: int) -> bytes:
    """Generate a page of about 8 kB of a catalogue: nine tenths of its main text are that of every product."""
    chance = random.Random(number)
    name = " ".join(chance.sample(vocabulary(), 2)).title()
    stock, price = chance.randrange(2, 900), chance.randrange(300, 90_000) / 100
    facts = {
        "Article number": f"{chance.randrange(10**6, 10**7)}",
        "Length": f"{chance.randrange(10, 400)} mm",
        "Weight": f"{chance.randrange(20, 9000)} g",
        "Colour": chance.choice(COLOURS),
    }
    rows = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>\n" for key, value in facts.items())
    standing = random.Random(0)  # the same for every product
    terms = "".join(f"<p>{' '.join(sentence(standing, 12) for _ in range(4))}</p>\n" for _ in range(8))
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{name} | Hardware</title></head><body>
<header><a href="/">Hardware</a><nav><ul>{menu(40)}</ul></nav></header>
<main><article><h1>{name}</h1><p>The {name} costs {price:.2f} euros, and {stock} are in stock.</p>
<table>{rows}</table>
{terms}</article></main>
<aside><h3>Others bought</h3><ul>{onward(number, chance)}</ul></aside>
<footer><ul>{menu(15)}</ul><p>All rights reserved.</p></footer></body></html>""".encode()


def thread(number: int) -> bytes:
    """Generate a page of a forum: five posts of 20 to 80 words, each with the signature of one of 40 members."""
    chance = random.Random(number)
    topic = sentence(chance, 6)
    posts = "".join(post(chance, number * 10 + place) for place in range(5))
    return f"""<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{topic} - Board</title></head><body>
<header><a href="/">Board</a><nav><ul>{menu(15)}</ul></nav></header>
<main><article><h1>{topic}</h1>{posts}</article></main>
<aside><h3>Similar topics</h3><ul>{onward(number, chance)}</ul></aside>
<footer><ul>{menu(10)}</ul><p>All times are UTC.</p></footer></body></html>""".encode()


def post(chance: random.Random, number: int) -> str:
    """Generate a post of a forum."""
    member = chance.randrange(40)
    text = " ".join(sentence(chance, 10) for _ in range(chance.randint(2, 8)))
    signature = sentence(random.Random(member), 15)
    return (
        f'<div id="p{number}" class="post"><dl class="postprofile"><dt><a href="/u/{member}">member{member}</a></dt>'
        f"<dd><strong>Posts:</strong> {chance.randrange(1, 9000)}</dd></dl>"
        f'<div class="postbody"><div class="content"><p>{text}</p></div>'
        f'<div class="signature">{signature}</div></div></div>\n'
    )


def onward(number: int, chance: random.Random) -> str:
    """Generate links to other pages of the part."""
    part = number - number % PART
    return "".join(
        f'<li><a class="next" href="/{part + other % PART}">{sentence(chance, 6)}</a></li>\n'
        for other in range(number * LINKS + 1, number * LINKS + 1 + LINKS)
    )


@cache
def vocabulary() -> list[str]:
    """Generate words of two to nine letters."""
    chance = random.Random(0)
    return ["".join(chance.choices("etaoinshrdlucmf", k=chance.randint(2, 9))) for _ in range(5000)]


def sentence(chance: random.Random, words: int) -> str:
    """Generate a sentence."""
    return " ".join(chance.choices(vocabulary(), k=words)) + "."


def menu(entries: int) -> str:
    """Generate the list of links that every page has."""
    return "".join(f'<li class="menu-item"><a href="/section/{i}">Section {i}</a></li>\n' for i in range(entries))


def comments(chance: random.Random) -> str:
    """Generate a few comments."""
    return "".join(f'<div class="comment"><b>reader{i}</b><p>{sentence(chance, 25)}</p></div>\n' for i in range(16))


#: Generated sites: the number of a page → its body. The pages of ``recrawl`` and ``known`` were crawled before.
GENERATED: Mapping[str, Callable[[int], bytes]] = {
    "texts": page,
    "template": product,
    "forum": thread,
    "recrawl": page,
    "known": page,
}
REAL = "pages"  #: the site of labelled pages
LABELLED_PAGES = LABELLED / "pages"


def pages_of(folder: Path, most: int) -> list[bytes]:
    """Return the pages of a folder and its subfolders; if there are more than ``most``, evenly spread ones."""
    paths = sorted(folder.rglob("*.html.gz"))
    step = max(1, -(-len(paths) // most))
    return [gzip.decompress(path.read_bytes()) for path in paths[::step]]


def serve(pages: int, delay: float = 0.0, *, make: Callable[[int], bytes] = page, folder: Path | None = None) -> None:
    """Serve a site, and print the port, and number and mean size of the pages.

    Args:
        pages: number of pages; of a folder at most.
        delay: seconds before each response.
        make: the number of a page → its body, unless ``folder`` is given.
        folder: serve its pages (``*.html.gz``, also in subfolders).
    """
    bodies = [make(number) for number in range(pages)] if folder is None else pages_of(folder, pages)
    kind = "text/html; charset=utf-8" if folder is None else "text/html"

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            time.sleep(delay)
            name = self.path[1:]
            body = bodies[int(name)] if name.isdigit() and int(name) < len(bodies) else b"not here"
            self.send_response(200 if name.isdigit() else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    mean = sum(map(len, bodies)) / len(bodies)
    print(json.dumps({"port": server.server_address[1], "pages": len(bodies), "bytes": round(mean)}), flush=True)
    server.serve_forever()
