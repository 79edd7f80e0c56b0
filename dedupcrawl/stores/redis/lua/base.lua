-- The rules of stores/claiming.py and stores/view.py as scripts: each operation is one call, and so atomic.
--
-- scripts.py puts a script together: this file, shelves.lua in the compact layout, what the operations always
-- need, what they rarely need, and the operations. For the server builds the functions of a script anew at each
-- call, which takes longer than what most of them do: hence only those that are wanted, and everything in one
-- table, for a function that captures many locals is slow to build.
--
-- KEYS  meta, records, buckets, claims, owners, hot: hashes of one namespace
-- ARGV  operation, token of the store object, now ("": the server's clock rules), layout, then its own
--
-- Arguments that are several keys or ids are packed, 6 bytes each. Numbers are 6 bytes big-endian, moments are milliseconds of the server's clock.
--   record   id (decimal) -> moment it was seen, then what stores/codec.py packed
--   bucket   key -> ids, rising
--   claim    id (decimal) -> owner (8), serial of the offer (6), state (1), end of the lease
--   owner    token -> end of the lease of all its claims, how many of them ended without its doing
--   hot      key -> how many records were filed in a bucket that held more than are read of it
-- The server takes nothing back of a script that fails: everything is read and checked before the first write.

local M = {
  meta = KEYS[1], records = KEYS[2], buckets = KEYS[3], claims = KEYS[4], owners = KEYS[5], hot = KEYS[6],
  me = ARGV[2],
  now = tonumber(ARGV[3]) or false,
  compact = ARGV[4] == 'compact',
  BUCKET_CAP = 32, -- as in stores/base.py
  SCAN_CAP = 256,
  HEAD = 30, -- bytes of a record in front of the lengths of its sketches
  VERSION = 1, -- of the layout that stores/codec.py packs
  COMMITTED = 3, -- ClaimState
  SHELF = 40, -- mean number of buckets in a small hash of the compact layout
  LONG = 60, -- bytes of a bucket above which it is in no small hash, for the server would unfold that
  renewed = {},
  shelves = false,
}

-- What is rarely needed is built when it is first asked for.
setmetatable(M, {__index = function(_, name)
  M.build_rest()
  return rawget(M, name)
end})

if not M.now then
  local time = redis.call('TIME')
  M.now = time[1] * 1000 + math.floor(time[2] / 1000)
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

function M.record(id)
  local value = redis.call('HGET', M.records, id)
  if value and #value < M.HEAD then M.damaged('record', id) end
  return value
end

function M.claim(id)
  local value = redis.call('HGET', M.claims, id)
  if not value then return nil end
  if #value ~= 21 then M.damaged('claim', id) end
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
    local mine = held and held.owner == M.me
    lines[#lines + 1] = {hit.id, hit.value, held and held.state or M.COMMITTED, mine and 1 or 0}
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
  if #found > 1 then table.sort(found, function(a, b) return a.id < b.id end) end
  return found, dead
end

-- Lua's stack holds a few thousand values.
function M.some_buckets(keys)
  if M.compact then return M.on_shelves(keys) end
  if #keys <= 1000 then return #keys > 0 and redis.call('HMGET', M.buckets, unpack(keys)) or {} end
  local found = {}
  for n, key in ipairs(keys) do found[n] = redis.call('HGET', M.buckets, key) end
  return found
end

-- The buckets whose keys are arguments, false for one that is not there, and these keys.
function M.fetch(first, count)
  local keys = {}
  for n = 1, count do keys[n] = ARGV[first + n - 1] end
  local found = M.some_buckets(keys)
  for n = 1, count do
    if found[n] and #found[n] % 6 ~= 0 then M.damaged('bucket', M.hex(keys[n])) end
  end
  return found, keys
end
