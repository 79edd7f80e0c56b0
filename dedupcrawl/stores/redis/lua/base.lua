-- The rules of stores/claiming.py and stores/view.py as scripts: each operation is one call, and so atomic.
--
-- A script is put together from base.lua, change.lua if it writes, and one of the others (see calls.py): the
-- server builds all functions of a script at each call, so one that only looks should not bring all.
-- Everything hangs on one table, for a function that captures many locals is slow to build.
--
-- KEYS  meta, records, buckets, claims, owners, hot: hashes of one namespace
-- ARGV  operation, token of the store object, now ("": the server's clock rules), layout, then its own
--
-- Numbers are 6 bytes big-endian, moments are milliseconds of the server's clock.
--   record   id (decimal) -> moment it was seen, then what stores/codec.py packed
--   bucket   key -> ids, rising
--   claim    id (decimal) -> owner (8), serial of the offer (6), state (1), end of the lease
--   owner    token -> end of the lease of all its claims, how many of them ended without its doing
--   hot      key -> how many records were filed in a bucket that held more than are read of it
-- The server takes nothing back of a script that fails: everything is read and checked before the first write.

local M = {
  meta = KEYS[1], records = KEYS[2], buckets = KEYS[3], claims = KEYS[4], owners = KEYS[5], hot = KEYS[6],
  me = ARGV[2],
  now = tonumber(ARGV[3]),
  compact = ARGV[4] == 'compact',
  BUCKET_CAP = 32, -- as in stores/base.py
  SCAN_CAP = 256,
  HEAD = 30, -- bytes of a record in front of the lengths of its sketches
  VERSION = 1, -- of the layout that stores/codec.py packs
  COMMITTED = 3, -- ClaimState
  SHELF = 40, -- mean number of buckets in a small hash of the compact layout
  LONG = 60, -- bytes of a bucket above which it is in no small hash, for the server would unfold that
  renewed = {},
}

if not M.now then
  local time = redis.call('TIME')
  M.now = time[1] * 1000 + math.floor(time[2] / 1000)
end

function M.damaged(what, where)
  error('DEDUPCRAWL damaged ' .. what .. ' <' .. where .. '>', 0)
end

function M.hex(bytes)
  return (string.gsub(bytes, '.', function(c) return string.format('%02x', c:byte()) end))
end

function M.number(bytes, at)
  local a, b, c, d, e, f = bytes:byte(at, at + 5)
  return ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
end

function M.pack(n)
  local high, low = math.floor(n / 16777216), n % 16777216
  return string.char(math.floor(high / 65536), math.floor(high / 256) % 256, high % 256,
              math.floor(low / 65536), math.floor(low / 256) % 256, low % 256)
end

function M.oldest(ttl)
  return ttl == '' and 0 or M.now - tonumber(ttl)
end

-- Numbers in decimal: Lua's own form of large ones has an exponent.
function M.field(n)
  return string.format('%.0f', n)
end

-- Buckets. In the compact layout the short ones are dealt to small hashes ("shelves"), which Redis keeps as
-- flat lists. There is one shelf for every SHELF buckets: linear hashing splits one at a time as they grow.

function M.count_shelves()
  if M.shelves then return end
  M.shelves = tonumber(redis.call('HGET', M.meta, 'shelves') or 1)
  M.level = 1
  while M.level * 2 <= M.shelves do M.level = M.level * 2 end
end

function M.place(key)
  local a, b, c, d = key:byte(1, 4)
  return (((a * 256 + b) * 256 + c) * 256 + d) % (2 * M.level)
end

function M.shelf(key)
  M.count_shelves()
  local at = M.place(key)
  if at >= M.shelves then at = at % M.level end
  return M.buckets .. ':' .. M.field(at)
end

function M.checked(key, ids)
  if ids and #ids % 6 ~= 0 then M.damaged('bucket', M.hex(key)) end
  return ids
end

function M.bucket(key)
  local ids = M.compact and redis.call('HGET', M.shelf(key), key)
  return M.checked(key, ids or redis.call('HGET', M.buckets, key))
end

-- Records and claims.

function M.record(id)
  local value = redis.call('HGET', M.records, M.field(id))
  if value and #value < M.HEAD then M.damaged('record', M.field(id)) end
  return value
end

function M.claim(id)
  local value = redis.call('HGET', M.claims, M.field(id))
  if not value then return nil end
  if #value ~= 21 then M.damaged('claim', M.field(id)) end
  return {owner = value:sub(1, 8), serial = value:sub(9, 14), state = value:byte(15), till = M.number(value, 16)}
end

function M.owner(token)
  local value = redis.call('HGET', M.owners, token)
  if not value then return nil end
  if #value ~= 12 then M.damaged('owner', M.hex(token)) end
  return {till = M.number(value, 1), lost = M.number(value, 7)}
end

function M.holds(held)
  if M.now < held.till then return true end
  if M.renewed[held.owner] == nil then
    local known = M.owner(held.owner)
    M.renewed[held.owner] = known and known.till or 0
  end
  return M.now < M.renewed[held.owner]
end

function M.candidate(id, since)
  local value = M.record(id)
  if not value or M.number(value, 1) < since then return nil end
  local held = M.claim(id)
  if held and not M.holds(held) then return nil end
  return {id = id, value = value, claim = held}
end

function M.answer(hits)
  local lines = {}
  for _, hit in ipairs(hits) do
    local held = hit.claim
    lines[#lines + 1] = {hit.id, hit.value, held and held.state or M.COMMITTED, (held and held.owner == M.me) and 1 or 0}
  end
  return lines
end

function M.search(probes, since, older)
  local met, found, dead = {}, {}, {}
  for _, ids in ipairs(probes) do
    local live, at = 0, ids and #ids - 5 or 0
    local last = math.max(1, at - 6 * (M.SCAN_CAP - 1))
    while at >= last and live < M.BUCKET_CAP do
      local id = M.number(ids, at)
      if id <= since then break end
      if met[id] == nil then
        met[id] = M.candidate(id, older) or false
        if met[id] then found[#found + 1] = met[id] else dead[#dead + 1] = id end
      end
      if met[id] then live = live + 1 end
      at = at - 6
    end
  end
  table.sort(found, function(a, b) return a.id < b.id end)
  return found, dead
end

function M.fetch(first, count)
  local keys = {}
  for n = first, first + count - 1 do keys[#keys + 1] = ARGV[n] end
  local found, elsewhere = {}, keys
  if M.compact then
    elsewhere = {}
    for n, key in ipairs(keys) do
      found[n] = redis.call('HGET', M.shelf(key), key)
      if not found[n] then elsewhere[#elsewhere + 1] = key end
    end
  end
  local fetched = {}
  for start = 1, #elsewhere, 1000 do -- Lua's stack holds a few thousand values
    local some = redis.call('HMGET', M.buckets, unpack(elsewhere, start, math.min(start + 999, #elsewhere)))
    for n, ids in ipairs(some) do fetched[elsewhere[start + n - 1]] = ids end
  end
  for n, key in ipairs(keys) do found[n] = M.checked(key, found[n] or fetched[key] or false) end
  return found, keys
end

function M.first_id()
  return tonumber(redis.call('HGET', M.meta, 'first') or 1)
end

function M.last_id()
  return tonumber(redis.call('HGET', M.meta, 'last') or 0)
end

function M.numbers(first, count)
  local found = {}
  for n = first, first + count - 1 do found[#found + 1] = tonumber(ARGV[n]) end
  return found
end

-- The URL of a packed record stands in front of the cluster, at its end.
function M.url_of(value)
  local function long(at)
    local a, b, c, d = value:byte(at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end
  local size, cluster = long(23), long(27)
  return value:sub(#value - cluster - size + 1, #value - cluster)
end
