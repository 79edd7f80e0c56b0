-- The rules of stores/transactional.py as scripts: each operation is one call, and so atomic.
--
-- client.py composes a script of: this file, partitions.lua in the compact layout, the parts that its operations
-- always need, the parts that they rarely need, and the operations. The server builds the functions of a script anew
-- at each call, which takes longer than most operations: hence a script has only the parts it needs. All functions
-- are in one table, since a function that captures many locals is slow to build.
--
-- KEYS  meta, records, buckets, claims, owners, hot: hashes of one namespace
-- ARGV  operation, token of the store object, now ("": the server's clock), layout, then the operation's arguments
--
-- Arguments that hold several keys or ids are packed, 6 bytes each. Numbers have 6 bytes, big-endian; times are in
-- milliseconds of the server's clock.
--   record   id (decimal) -> time at which it was seen, then what stores/codec.py encoded
--            id (decimal), "o" -> empty: the record is a claim. The server may evict any of these hashes and keep the
--            others. So a claim is marked in the hash of its record, and a marked record without a claim is dead.
--   bucket   key -> ids, rising
--   claim    id (decimal) -> owner (8), serial number of the offer (6), state (1), end of the lease
--   owner    token -> end of the lease of all its claims, how many of its claims others have removed
--   hot      key -> how many records were filed in a bucket that held more than are read from it
-- The server does not roll back a script that fails: everything is read and checked before the first write.

local M = {
  meta = KEYS[1], records = KEYS[2], buckets = KEYS[3], claims = KEYS[4], owners = KEYS[5], hot = KEYS[6],
  me = ARGV[2],
  now = tonumber(ARGV[3]) or false,
  compact = ARGV[4] == 'compact',
  BUCKET_CAP = 32, -- as in stores/base.py
  SCAN_CAP = 256,
  HEAD = 31, -- bytes of a record in front of the lengths of its sketches
  VERSION = 4, -- of the layout of stores/codec.py
  COMMITTED = 3, -- ClaimState
  LAST = 281474976710655, -- highest id: 2^48 - 1
  PARTITION = 40, -- mean number of buckets in a small hash of the compact layout
  LONG = 60, -- longer buckets (bytes) are in no small hash: the server would convert it to a hash table
  renewed = {},
  partitions = false,
}

-- The parts that are rarely needed are built on first use.
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

-- Returns the field of the records that marks this record as a claim.
function M.mark_of(id)
  return string.format('%.0fo', id)
end

-- Checks a number that other programs may have written: an integer from "least" to what 6 bytes hold.
function M.whole(value, least, what, where)
  local n = tonumber(value)
  if not (n and n >= least and n <= M.LAST and n % 1 == 0) then M.damaged(what, where) end
  return n
end

-- The total may be negative after removals if the server has lost only this field.
function M.total(value)
  return M.whole(value or 0, -M.LAST, 'meta', 'keys')
end
