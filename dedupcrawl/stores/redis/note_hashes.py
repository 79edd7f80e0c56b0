"""The notes of a namespace on a server (see :mod:`dedupcrawl.stores.notes`), on one node of a cluster.

=========================  =====================================================================
hash                       content
=========================  =====================================================================
``notes``                  place → Unix time of its last change, microseconds; a place is a table, a colon and a site
``notes:v:`` and a place   key → time of the change (7 bytes), end of the lease (7), serial number (6), value
``notes:o:`` and a place   serial number → key; "f" → a number up to the first one, "n" → the next one
=========================  =====================================================================

Numbers in values are big-endian. Hashes alone are used, so that a user needs no other rights. The server may evict any
of them: where values and order differ, the next change repairs the order.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from dedupcrawl.stores.notes import (
    MAX_NOTE_SITES,
    MAX_NOTES,
    MAX_TOTAL,
    NoteSize,
    NoteTables,
    checked_table,
    encoded_site,
    storable,
    storable_deltas,
)
from dedupcrawl.stores.redis.replies import is_bytes, is_bytes_or_none, is_list, is_whole
from dedupcrawl.utils.iteration import chunked

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from redis import Redis, RedisCluster

    from dedupcrawl.stores.redis.namespace import KeyNames
    from dedupcrawl.stores.redis.site_hash import ClientSession

NOTES = "notes"  #: name of the key with the places
AT_ONCE = 500  #: notes, or places, in one command
HEAD_BYTES = 20  #: before a value
MAX_TOTAL_DIGITS = 16  #: of a counter with its sign
_MICROSECONDS = 1_000_000
_EXACT = 0x20  # the first byte of a time that Lua computes with exactly is below
_ANY = (1 << 48) - 1  # as a limit: none

#: KEYS  the places, and the two keys of a place.
#: ARGV  place, time in microseconds, highest number of notes and of places, then the arguments of the operation.
_HEAD = f"""
local places, values, order = KEYS[1], KEYS[2], KEYS[3]
local place, now, most, most_places = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local first, following
local function shown(number) return string.format('%.0f', number) end
local function head(value) -- changed, end of the lease, serial number
  if #value < {HEAD_BYTES} then return end
  local changed, till, serial = struct.unpack('>I7I7I6', value)
  if changed < 2 ^ 53 and till < 2 ^ 53 then return changed, till, serial end
end
local function with_head(value, changed, till, serial) return struct.pack('>I7I7I6', changed, till, serial) .. value end
local function drop(key)
  local value = redis.call('HGET', values, key)
  if not value then return end
  redis.call('HDEL', values, key)
  local _, _, serial = head(value)
  if serial and redis.call('HGET', order, shown(serial)) == key then redis.call('HDEL', order, shown(serial)) end
end
local function put(key, value, changed, till)
  drop(key)
  redis.call('HSET', values, key, with_head(value, changed, till, following))
  redis.call('HSET', order, shown(following), key)
  following = following + 1
end
local function wipe(name)
  local fields = redis.call('HKEYS', name)
  for at = 1, #fields, 1000 do redis.call('HDEL', name, unpack(fields, at, math.min(at + 999, #fields))) end
end
local function edge(field)
  local number = tonumber(redis.call('HGET', order, field) or '')
  return number and number >= 0 and number % 1 == 0 and number < 2 ^ 48 and number
end
local function store_edges() redis.call('HSET', order, 'f', shown(first), 'n', shown(following)) end
first, following = edge('f'), edge('n')
local count = redis.call('HLEN', values)
if count == 0 or not (first and following) or redis.call('HLEN', order) ~= count + 2 then
  local rows, flat = {{}}, redis.call('HGETALL', values) -- the server has evicted one of the hashes, or there is none
  for at = 1, #flat, 2 do
    local changed, till = head(flat[at + 1])
    if changed then rows[#rows + 1] = {{changed, till, flat[at], flat[at + 1]:sub({HEAD_BYTES + 1})}}
    else redis.call('HDEL', values, flat[at]) end
  end
  table.sort(rows, function(one, other) return one[1] < other[1] end)
  wipe(order)
  first, following = 0, 0
  for _, row in ipairs(rows) do put(row[3], row[4], row[1], row[2]) end
  if #rows > 0 then store_edges() end
end
local function finish()
  local excess = math.min(redis.call('HLEN', values) - most, 1000)
  while excess > 0 and first < following do
    local key = redis.call('HGET', order, shown(first))
    if key then
      drop(key)
      excess = excess - 1
    end
    first = first + 1
  end
  store_edges()
  local left = redis.call('HLEN', values)
  if left == 0 then
    wipe(order)
    redis.call('HDEL', places, place)
  else redis.call('HSET', places, place, ARGV[2]) end
  local others = redis.call('HLEN', places) - most_places
  if others > 0 then
    for _, other in ipairs(redis.call('HRANDFIELD', places, math.min(others, 100) + 1)) do
      if other ~= place and others > 0 then
        redis.call('HDEL', places, other)
        wipe(places .. ':v:' .. other)
        wipe(places .. ':o:' .. other)
        others = others - 1
      end
    end
  end
  return left
end
"""

#: Key, "1" or "0", value, and so on: puts the values, and removes those of "0"; returns how many notes there are.
_WRITE = f"""{_HEAD}
for at = 5, #ARGV, 3 do
  if ARGV[at + 1] == '1' then put(ARGV[at], ARGV[at + 2], now, 0) else drop(ARGV[at]) end
end
return finish()
"""

#: Highest total, then key, delta, and so on: adds to counters; returns the totals.
_ADD = f"""{_HEAD}
local highest, totals, is_changed = tonumber(ARGV[5]), {{}}, false
for at = 6, #ARGV, 2 do
  local value = (redis.call('HGET', values, ARGV[at]) or ''):sub({HEAD_BYTES + 1})
  local present = #value <= {MAX_TOTAL_DIGITS} and value:match('^%-?%d+$') and tonumber(value) or 0
  local total = math.max(-highest, math.min(highest, present + tonumber(ARGV[at + 1])))
  totals[#totals + 1] = shown(total)
  if tonumber(ARGV[at + 1]) ~= 0 then
    put(ARGV[at], totals[#totals], now, 0)
    is_changed = true
  end
end
if is_changed then finish() end
return totals
"""

#: How many, end of the lease: takes the oldest notes that are free; returns keys and values.
_TAKE = f"""{_HEAD}
local wanted, till, found, is_start = 2 * tonumber(ARGV[5]), tonumber(ARGV[6]), {{}}, true
local serial = first
while #found < wanted and serial < following do
  local key = redis.call('HGET', order, shown(serial))
  local value = key and redis.call('HGET', values, key)
  local changed, present = head(value or '')
  if changed and present <= now then
    local content = value:sub({HEAD_BYTES + 1})
    redis.call('HSET', values, key, with_head(content, changed, till, serial))
    found[#found + 1], found[#found + 2] = key, content
  end
  serial = serial + 1
  is_start = is_start and not key
  if is_start then first = serial end
end
if redis.call('HLEN', values) > 0 then store_edges() end
return found
"""

#: Time: removes some notes that were changed before; returns how many.
_PRUNE = f"""{_HEAD}
local before, removed, serial = tonumber(ARGV[5]), 0, first
while removed < {AT_ONCE} and serial < following do
  local key = redis.call('HGET', order, shown(serial))
  if key then
    if (head(redis.call('HGET', values, key) or '') or 0) >= before then break end
    drop(key)
    removed = removed + 1
  end
  serial = serial + 1
end
if removed > 0 then finish() end
return removed
"""

#: Places: returns the number of their notes, and their bytes, -1 if the user may not read them.
_SIZE = """
local notes, bytes = 0, 0
for _, place in ipairs(ARGV) do
  notes = notes + redis.call('HLEN', KEYS[1] .. ':v:' .. place)
  for _, kind in ipairs({':v:', ':o:'}) do
    local used = redis.pcall('MEMORY', 'USAGE', KEYS[1] .. kind .. place)
    if type(used) == 'table' then bytes = -1 end
    if bytes >= 0 and used then bytes = bytes + used end
  end
end
return {notes, bytes}
"""


class RedisNoteTables(NoteTables):
    """The notes of a namespace.

    Args:
        session: calls the server.
        names: keys of the namespace.
        clock: returns the Unix time in seconds.
    """

    def __init__(self, session: ClientSession, names: KeyNames, clock: Callable[[], float]) -> None:
        self._session, self._names, self._clock = session, names, clock
        self._places = names.key(NOTES).encode()

    def read(self, table: str, site: str, keys: Sequence[bytes]) -> list[bytes | None]:
        place = _place(table, site)
        found: list[bytes | None] = []
        for some in chunked(keys, AT_ONCE):
            found += self._session.with_client(partial(self._load, place, some)) if place else [None] * len(some)
        return found

    def _load(self, place: bytes, keys: Sequence[bytes], client: Redis | RedisCluster) -> list[bytes | None]:
        reply: Any = client.hmget(_text(self._key(b"v", place)), [*map(_text, keys)])
        found = _checked(is_list(reply, is_bytes_or_none) and len(reply) == len(keys), reply)
        return [*map(_content, found)]

    def read_all(self, table: str, site: str) -> dict[bytes, bytes]:
        place = _place(table, site)
        return self._session.with_client(partial(self._load_all, place)) if place else {}

    def _load_all(self, place: bytes, client: Redis | RedisCluster) -> dict[bytes, bytes]:
        rows: Any = [*client.hscan_iter(_text(self._key(b"v", place)), count=AT_ONCE)]
        found = dict(_checked(all(is_bytes(part) for row in rows for part in row), rows))
        contents = ((key, _content(value)) for key, value in found.items())
        return {key: value for key, value in contents if value is not None}

    def write(self, table: str, site: str, values: Mapping[bytes, bytes | None], limit: int = MAX_NOTES) -> None:
        place = _place(table, site)
        for some in chunked(storable(values).items() if place else (), AT_ONCE):
            rows = ((key, b"0" if value is None else b"1", value or b"") for key, value in some)
            self._run(_WRITE, place, limit, [part for row in rows for part in row], is_whole)

    def add(self, table: str, site: str, deltas: Mapping[bytes, int], limit: int = MAX_NOTES) -> dict[bytes, int]:
        place, totals = _place(table, site), dict(deltas)
        for some in chunked(storable_deltas(deltas).items() if place else (), AT_ONCE):
            words = [part for key, delta in some for part in (key, b"%d" % delta)]
            reply = self._run(_ADD, place, limit, [b"%d" % MAX_TOTAL, *words], lambda found: is_list(found, _is_total))
            totals |= {key: int(total) for (key, _), total in zip(some, reply, strict=True)}
        return totals

    def take(self, table: str, site: str, count: int, lease: float) -> dict[bytes, bytes]:
        place, until = _place(table, site), b"%d" % ((self._clock() + lease) * _MICROSECONDS)
        words = [b"%d" % count, until]
        reply = self._run(_TAKE, place, MAX_NOTES, words, lambda found: is_list(found, is_bytes)) if place else []
        return dict(zip(reply[::2], reply[1::2], strict=True))

    def _run(
        self, script: str, place: bytes, limit: int, words: Sequence[bytes], is_reply: Callable[[Any], bool]
    ) -> Any:
        """Run a script for a place; return its reply."""
        numbers = (round(self._clock() * _MICROSECONDS), limit, MAX_NOTE_SITES)
        arguments = [place, *(b"%d" % number for number in numbers), *words]
        keys = [self._places, *(self._key(kind, place) for kind in (b"v", b"o"))]

        def call(client: Redis | RedisCluster) -> Any:
            reply: Any = client.eval(script, len(keys), *map(_text, keys), *map(_text, arguments))
            return _checked(is_reply(reply), reply)

        return self._session.with_client(call)

    def sites(self, table: str) -> Iterator[str]:
        prefix = checked_table(table) + ":"
        places = self._session.with_client(partial(self._stored_places, prefix))
        return iter([_table_and_site(place)[1] for place in places])

    def tables(self) -> list[tuple[str, str]]:
        return [*map(_table_and_site, self._session.with_client(partial(self._stored_places, "")))]

    def _stored_places(self, prefix: str, client: Redis | RedisCluster) -> list[bytes]:
        places: Any = [place for place, _ in client.hscan_iter(_text(self._places), match=prefix + "*", count=AT_ONCE)]
        return [*dict.fromkeys(place for place in _checked(is_list(places, is_bytes), places) if b":" in place)]

    def forget(self, sites: Collection[str]) -> set[str]:
        places = [place for place in self.tables() if place[1] in sites]
        for place in places:
            while self._run(_WRITE, _place(*place), 0, [], is_whole):
                pass
        return {site for _, site in places}

    def clear(self) -> None:
        """Remove all notes of the namespace."""
        self._session.with_client(lambda client: client.unlink(*stored_note_keys(client, self._names)))

    def prune(self, older_than: float, places: Sequence[tuple[str, str]] | None = None) -> int:
        before, removed = b"%d" % max(0.0, min(older_than * _MICROSECONDS, _ANY * _MICROSECONDS)), 0
        named = None if places is None else [*filter(None, (_place(*place) for place in places))]
        for place in self._session.with_client(partial(self._stored_places, "")) if named is None else named:
            while some := int(self._run(_PRUNE, place, _ANY, [before], is_whole)):
                removed += some
        return removed

    def size(self) -> NoteSize:
        places = self._session.with_client(partial(self._stored_places, ""))
        sizes = [self._session.with_client(partial(self._sizes, some)) for some in chunked(places, AT_ONCE)]
        bytes_used = 0 if any(size < 0 for _, size in sizes) else sum(size for _, size in sizes)
        return NoteSize(len(places), sum(notes for notes, _ in sizes), bytes_used)

    def _sizes(self, places: Sequence[bytes], client: Redis | RedisCluster) -> tuple[int, int]:
        reply: Any = client.eval(_SIZE, 1, _text(self._places), *map(_text, places))
        notes, bytes_used = _checked(is_list(reply, partial(is_whole, least=-1)) and len(reply) == 2, reply)
        return notes, bytes_used

    def _key(self, kind: bytes, place: bytes) -> bytes:
        return b"%b:%b:%b" % (self._places, kind, place)


def stored_note_keys(client: Redis | RedisCluster, names: KeyNames) -> list[str]:
    """Return the keys of all notes of a namespace."""
    places = names.key(NOTES).encode()
    found = cast("list[bytes]", client.hkeys(_text(places)))
    keys = [places, *(b"%b:%b:%b" % (places, kind, place) for place in found for kind in (b"v", b"o"))]
    return [*map(_text, keys)]


def _place(table: str, site: str) -> bytes:
    """Return a place as it is stored; b"" for a site that has no notes."""
    name = encoded_site(site)
    return checked_table(table).encode() + b":" + name if name else b""


def _content(value: bytes | None) -> bytes | None:
    """Return a value without its head; None if it is damaged."""
    if value is None or len(value) < HEAD_BYTES or max(value[0], value[7]) >= _EXACT:
        return None
    return value[HEAD_BYTES:]


def _table_and_site(place: bytes) -> tuple[str, str]:
    table, _, site = place.partition(b":")
    return table.decode("utf-8", "replace"), site.decode("utf-8", "surrogatepass")


def _is_total(reply: Any) -> bool:
    return is_bytes(reply) and len(reply) <= MAX_TOTAL_DIGITS and reply.removeprefix(b"-").isdigit()


def _checked(is_reply: bool, reply: Any) -> Any:
    """Return a reply. ``ValueError`` means within ``with_client`` that it is none."""
    if not is_reply:
        raise ValueError(type(reply).__name__)
    return reply


def _text(value: bytes) -> str:
    # redis-py accepts bytes; its annotations know text only, which it would encode as UTF-8.
    return cast("str", value)
