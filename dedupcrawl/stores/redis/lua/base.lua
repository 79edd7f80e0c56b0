-- The rules of stores/transactional.py and stores/transactional.py as scripts: each operation is one call, and so atomic.
--
-- scripts.py puts a script together: this file, shelves.lua in the compact layout, what the operations always
-- need, what they rarely need, and the operations. For the server builds the functions of a script anew at each
-- call, which takes longer than what most of them do: hence only those that are wanted, and everything in one
-- table, for a function that captures many locals is slow to build.
--
-- KEYS  meta, records, buckets, claims, owners, hot: hashes of one namespace
-- ARGV  operation, token of the store object, now ("": the server's clock rules), layout, then its own
--
-- Arguments that are several keys or ids are packed, 6 bytes each. Numbers are 6 bytes big-endian, moments are
-- milliseconds of the server's clock.
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
  LAST = 281474976710655, -- highest id: 2^48 - 1
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

-- A number that others may have written: whole, and from "least" to what 6 bytes hold.
function M.whole(value, least, what, where)
  local n = tonumber(value)
  if not (n and n >= least and n <= M.LAST and n % 1 == 0) then M.damaged(what, where) end
  return n
end

-- Taking keys out may leave fewer than none, where the server has lost this count alone.
function M.total(value)
  return M.whole(value or 0, -M.LAST, 'meta', 'keys')
end
