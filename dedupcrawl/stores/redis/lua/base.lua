-- The rules of stores/transactional.py as scripts: each operation is one call, and so atomic.
--
-- scripts.py composes a library of all these files for FUNCTION LOAD: the server builds its functions once. Where the
-- server has no functions, it composes scripts for EVALSHA: this file, partitions.lua in the compact layout, the parts
-- that an operation always needs, the parts that it rarely needs, and the operations. The server builds the functions
-- of a script anew at each call, which takes longer than most operations: hence a script has only the parts it needs.
-- All functions are in one table, since a function that captures many locals is slow to build.
--
-- KEYS  meta, records, buckets, claims, owners, hot: hashes of one namespace. The key of a function is the first of them:
--       a server takes as long to read the others as to read a field.
-- ARGV  operation, token of the store object, now ("": the server's clock), layout, then the operation's arguments
--
-- Arguments that hold several keys or ids are packed, 6 bytes each. Numbers have 6 bytes, big-endian; times are in
-- milliseconds of the server's clock.
--   record   id (decimal) -> time at which it was seen, then what packed_records.py packed
--            id (decimal), "o" -> empty: the record is a claim. The server may evict any of these hashes and keep the
--            others. So a claim is marked in the hash of its record, and a marked record without a claim is dead.
--   bucket   key -> ids, rising
--   claim    id (decimal) -> owner (8), serial number of the offer (6), state (1), end of the lease
--   owner    token -> end of the lease of all its claims, how many of its claims others have removed
--   hot      key -> how many records were filed in a bucket that held more than are read from it
-- The server does not roll back a script that fails: everything is read and checked before the first write.

local M = {
  BUCKET_CAP = 32, -- as in stores/base.py
  SCAN_CAP = 256,
  SHORTEST = 16, -- bytes of a record: MIN_BYTES of packed_records.py and the time
  VERSION = 5, -- of the layout of packed_records.py
  KEYS_AT = 15, -- where the number of a record's keys is
  SCRAPED = 2, -- ClaimState
  COMMITTED = 3,
  LAST = 281474976710655, -- highest id: 2^48 - 1
  PARTITION = 40, -- mean number of buckets in a small hash of the compact layout
  LONG = 60, -- longer buckets (bytes) are in no small hash: the server would convert it to a hash table
  -- Tables that are used again in a library, since the server takes as long to make and free a table as to read a field.
  flat = {}, -- keys and values of a command; what stands behind them is left from other calls
  formats = {}, -- number of keys -> format that cuts them
}
local KEYS, ARGV -- of the current call

-- Sets everything that belongs to one call: the table survives it in a library.
function M.begin(keys, arguments)
  KEYS, ARGV = keys, arguments
  if keys[1] ~= M.meta then
    local name = keys[1]:sub(1, -5) -- without "meta"
    M.meta, M.records, M.buckets, M.claims = keys[1], name .. 'records', name .. 'buckets', name .. 'claims'
    M.owners, M.hot = name .. 'owners', name .. 'hot'
  end
  M.me, M.now, M.compact = ARGV[2], tonumber(ARGV[3]), ARGV[4] == 'compact'
  M.renewed, M.partitions, M.level, M.is_again = false, false, false, false
  if not M.now then
    local time = redis.call('TIME')
    M.now = time[1] * 1000 + math.floor(time[2] / 1000)
  end
end

function M.number(bytes, at)
  return (struct.unpack('>I6', bytes, at))
end

function M.pack(n)
  return struct.pack('>I6', n)
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
