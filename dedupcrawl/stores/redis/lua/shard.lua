-- Scripts of claims that are sharded over a cluster (sharded/protocol.py). Each touches keys of one tag only. sharded/layout.py
-- cuts at "--@ name", and puts those functions of shard_layout.lua before a script that it calls.
--
-- KEYS  r: records. s: stages: a letter and the id: p pending -> empty; w wounded -> ids of the blockers, instead of p;
--       o owner -> token (8 bytes) and state (1); x condemned -> time; h and a key -> how many ids were added to a bucket
--       that has more than are read from it (BUCKET_CAP of stores/base.py). b: buckets: field -> ids, the newest last.
-- ARGV  ids have the first byte of their tag where the tag is not known ("whole"), and not its other two bits where it is.
--       Keys have 5 bytes where the tag is known, and 6 elsewhere. Times are milliseconds in 6 bytes.
-- A record that is no claim is committed, whatever its stage: that ends after it. Each script may be called twice.

--@ state_of
-- Returns c (committed), p (pending), o (open or scraped) or u (unknown), with the record and its owner; nil if there is none.
local function state_of(r, s, id)
  local value, claim = get_record(r, id)
  if not value then return nil end
  if not claim then return {'c', value, ''} end
  local at = redis.call('HMGET', s, 'p' .. id, 'w' .. id, 'o' .. id)
  if at[1] or at[2] then return {'p', value, at[3] or ''} end
  return {at[3] and 'o' or 'u', value, at[3] or ''}
end

--@ append_id
-- Adds an id to a bucket, and returns those before; the newest SCAN_CAP are kept.
local function append_id(b, s, field, id, key)
  if redis.call('HSETNX', b, field, id) == 1 then return '' end
  local ids = redis.call('HGET', b, field)
  for at = 1, #ids, #id do
    if ids:sub(at, at + #id - 1) == id then return ids end
  end
  redis.call('HSET', b, field, (ids .. id):sub(-#id * 256))
  if #ids >= #id * 32 then redis.call('HINCRBY', s, 'h' .. key, 1) end
  return ids
end

--@ end_stage
local function end_stage(s, id)
  redis.call('HDEL', s, 'p' .. id, 'w' .. id, 'o' .. id)
end

--@ file
-- KEYS r s b, ARGV id, record, owner, mark of a claim, field ("": none), whole id, key, "1": pending. Files a record as an open claim,
-- or as pending, and places it in the bucket of its home. Returns the ids before; nil if the id is condemned or taken.
if redis.call('HEXISTS', KEYS[2], 'x' .. ARGV[1]) == 1 then return false end
if put_record(KEYS[1], ARGV[1], ARGV[2], ARGV[4]) then
  if ARGV[8] == '1' then redis.call('HSET', KEYS[2], 'p' .. ARGV[1], '', 'o' .. ARGV[1], ARGV[3])
  else redis.call('HSET', KEYS[2], 'o' .. ARGV[1], ARGV[3]) end
elseif redis.call('HGET', KEYS[2], 'o' .. ARGV[1]) ~= ARGV[3] or get_record(KEYS[1], ARGV[1]) ~= ARGV[2] then
  return false -- even a worker that has filed another page under it
end
if ARGV[5] == '' then return '' end
return append_id(KEYS[3], KEYS[2], ARGV[5], ARGV[6], ARGV[7])

--@ fetch
-- KEYS r s, ARGV id, now. Returns the state of an id. One that is absent is condemned: it cannot be filed any more. That is
-- written each time, so that WAIT covers what this worker relies on.
local found = state_of(KEYS[1], KEYS[2], ARGV[1])
if not found then redis.call('HSET', KEYS[2], 'x' .. ARGV[1], ARGV[2]) end
return found or {'X'}

--@ look
-- KEYS r s, ARGV id. Returns the state of an id, and changes nothing.
return state_of(KEYS[1], KEYS[2], ARGV[1]) or {'X'}

--@ wound
-- KEYS r s, ARGV id, whole id of the blocker, now. Asks a pending page to give way if the blocker is kept. Returns p, or the
-- state. An id that is absent, since a failover has lost it, is condemned: its filing may be sent again.
local r, s, id = KEYS[1], KEYS[2], ARGV[1]
local found = state_of(r, s, id)
if not found then
  redis.call('HSET', s, 'x' .. id, ARGV[3])
  return 'X'
end
if found[1] == 'p' then
  local blockers = redis.call('HGET', s, 'w' .. id)
  redis.call('HDEL', s, 'p' .. id)
  redis.call('HSET', s, 'w' .. id, (blockers or '') .. ARGV[2])
end
return found[1]

--@ settle
-- KEYS r s, ARGV id, owner, ids of blockers that do not count ("*": none does), new record ("": the same), "1" to commit.
-- Claims, and returns c; X if the filing was lost; or the ids of all blockers if one of them counts.
local r, s, id = KEYS[1], KEYS[2], ARGV[1]
local value, claim = get_record(r, id)
if not value then return 'X' end
if not claim then return 'c' end
local at = redis.call('HMGET', s, 'w' .. id, 'o' .. id)
if at[2] ~= ARGV[2] then return 'X' end
if at[1] and ARGV[3] ~= '*' then
  local size = #id + 1
  for n = 1, #at[1], size do
    local known = false
    for m = 1, #ARGV[3], size do known = known or at[1]:sub(n, n + size - 1) == ARGV[3]:sub(m, m + size - 1) end
    if not known then return at[1] end
  end
end
if ARGV[4] ~= '' then amend_record(r, id, ARGV[4]) end
if ARGV[5] == '1' then
  seal_record(r, id)
  end_stage(s, id)
else
  redis.call('HDEL', s, 'p' .. id, 'w' .. id)
end
return 'c'

--@ commit
-- KEYS r s, ARGV id. Makes a claim permanent, even one that is pending again since a failover. Returns whether there is a
-- record: no other worker commits this id, so one that is committed already was committed by a call whose reply was lost.
local sealed = seal_record(KEYS[1], ARGV[1])
end_stage(KEYS[2], ARGV[1])
return (sealed == 1 or get_record(KEYS[1], ARGV[1])) and 1 or 0

--@ scraped
-- KEYS r s, ARGV id, token. Marks an own claim as scraped. Returns whether it was there.
local known = redis.call('HGET', KEYS[2], 'o' .. ARGV[1])
if not known or known:sub(1, 8) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[2], 'o' .. ARGV[1]) -- a server that is out of memory then accepts the write
redis.call('HSET', KEYS[2], 'o' .. ARGV[1], ARGV[2] .. '\2')
return 1

--@ adopt
-- KEYS r s, ARGV id, token, new token. Gives a claim to the next token of the same worker; returns whether it was there.
local known = redis.call('HGET', KEYS[2], 'o' .. ARGV[1])
if not known then return 0 end
if known:sub(1, 8) == ARGV[3] then return 1 end
if known:sub(1, 8) ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[2], 'o' .. ARGV[1])
redis.call('HSET', KEYS[2], 'o' .. ARGV[1], ARGV[3] .. known:sub(9))
return 1

--@ bury
-- KEYS r s, ARGV id, token, now, "1": only if it is pending. Removes the claim of a worker that is dead ("": a claim without
-- owner), or a page that was pending for too long. Returns X; c if it is committed; p if it has another owner; o if it is claimed.
local found = state_of(KEYS[1], KEYS[2], ARGV[1])
if not found then return 'X' end
if found[1] == 'c' then return 'c' end
if found[3]:sub(1, 8) ~= ARGV[2] then return 'p' end
if ARGV[4] == '1' and found[1] ~= 'p' then return 'o' end
drop_record(KEYS[1], ARGV[1])
end_stage(KEYS[2], ARGV[1])
redis.call('HSET', KEYS[2], 'x' .. ARGV[1], ARGV[3])
return 'X'

--@ remove
-- KEYS r s, ARGV id, time at which it was filed, now ("": it was filed; else it is condemned too). Returns whether it was there.
local value = get_record(KEYS[1], ARGV[1])
local there = value and value:sub(1, 6) == ARGV[2]
if there then
  drop_record(KEYS[1], ARGV[1])
  end_stage(KEYS[2], ARGV[1])
end
if ARGV[3] ~= '' and (there or not value) then redis.call('HSET', KEYS[2], 'x' .. ARGV[1], ARGV[3]) end
return there and 1 or 0

--@ join
-- KEYS b s, ARGV field, whole id, key, the last id that the worker has read ("": none). Places an id where others stand; returns
-- those before, without the ones that it has read.
local ids, size = append_id(KEYS[1], KEYS[2], ARGV[1], ARGV[2], ARGV[3]), #ARGV[2]
for at = #ids - size + 1, 1, -size do
  if ids:sub(at, at + size - 1) == ARGV[4] then return ids:sub(at + size) end
end
return ids

--@ leave
-- KEYS b s, ARGV field, whole id, key. Returns whether it was there.
local ids, size = redis.call('HGET', KEYS[1], ARGV[1]) or '', #ARGV[2]
for at = 1, #ids, size do
  if ids:sub(at, at + size - 1) == ARGV[2] then
    local rest = ids:sub(1, at - 1) .. ids:sub(at + size)
    if rest == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], rest) end
    if #rest == size * 32 then redis.call('HDEL', KEYS[2], 'h' .. ARGV[3]) end
    return 1
  end
end
return 0

--@ alive
-- KEYS owners, ARGV now ("": the clock of the server), tokens. Returns for each token the end of its lease, 0 if it has ended.
local now, answer = tonumber(ARGV[1]), {}
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for n = 2, #ARGV do
  local known = redis.call('HGET', KEYS[1], ARGV[n])
  local till = known and #known == 12 and struct.unpack('>I6', known) or 0
  answer[n - 1] = till > now and till or 0
end
return answer

--@ keep_lease
-- KEYS owners, ARGV token. Writes the lease of a worker again, so that WAIT covers it. Returns whether there is one.
local lease = redis.call('HGET', KEYS[1], ARGV[1])
if lease then redis.call('HSET', KEYS[1], ARGV[1], lease) end
return lease and 1 or 0

--@ list
-- KEYS s r …, ARGV cursor, count, size of an id. Returns the next cursor, and id, state, record and owner of a batch of records;
-- of several hashes, which are small, all records.
local cursor, found = '0', {}
local function add(r, fields)
  for n = 1, #fields, 2 do
    local id = fields[n]
    local state = is_record(id, tonumber(ARGV[3])) and state_of(r, KEYS[1], id)
    if state then found[#found + 1] = {id, state[1], state[2], state[3]} end
  end
end
if #KEYS == 2 then
  local page = redis.call('HSCAN', KEYS[2], ARGV[1], 'COUNT', ARGV[2])
  cursor = page[1]
  add(KEYS[2], page[2])
else
  for k = 2, #KEYS do add(KEYS[k], redis.call('HGETALL', KEYS[k])) end
end
return {cursor, found}

--@ sweep
-- KEYS s, ARGV time. Removes ids that were condemned before this time, and returns those that have other stages.
local fields, others = redis.call('HGETALL', KEYS[1]), {}
for n = 1, #fields, 2 do
  local letter, id = fields[n]:sub(1, 1), fields[n]:sub(2)
  if letter == 'x' then
    if fields[n + 1] < ARGV[1] then redis.call('HDEL', KEYS[1], fields[n]) end
  elseif letter ~= 'h' then
    others[#others + 1] = id
  end
end
return others

--@ tidy
-- KEYS r s, ARGV id. Removes what is left of a claim that is none any more.
local value, claim = get_record(KEYS[1], ARGV[1])
if not (value and claim) then end_stage(KEYS[2], ARGV[1]) end
return 0

--@ census
-- KEYS r s, more hashes of records, b …, ARGV samples, number of those hashes, size of a whole id, number of all such hashes. Returns
-- the numbers of records and claims in r and in those hashes, the owner of each claim, the number of buckets, that of their ids, the beginnings of
-- some records, and the hot buckets with their counts. The number of ids and the times are exact where there are few, and
-- estimated from samples.
local r, s, most, more, size = KEYS[1], KEYS[2], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local heads, in_pieces, marks = {}, 0, {}
local function see(field, value)
  if is_record(field, size - 1) and #value > 14 and #heads < most then heads[#heads + 1] = value:sub(1, 14) end
end
for k = 3, 2 + more do
  for _, field in ipairs(redis.call('HKEYS', KEYS[k])) do
    local part = math.floor(field:byte() / 64)
    if part == 0 or part == 3 then in_pieces = in_pieces + 1 end
    if part == 3 then marks[field] = true end
    if part == 0 and #heads < most then see(field, redis.call('HGET', KEYS[k], field)) end
  end
end
local function is_claim(id) -- the stage of a committed page may not have ended yet
  local mark = piece_field(id, 3)
  if id:byte() < 16 then return redis.call('HEXISTS', r, mark) == 1 end
  return marks[mark] or more < tonumber(ARGV[4])
end
local stages, owners, hot = redis.call('HGETALL', s), {}, {}
for n = 1, #stages, 2 do
  local letter, id = stages[n]:sub(1, 1), stages[n]:sub(2)
  if letter == 'o' and is_claim(id) then owners[#owners + 1] = stages[n + 1] end
  if letter == 'h' then hot[#hot + 1] = {id, tonumber(stages[n + 1])} end
end
local records = redis.call('HRANDFIELD', r, most, 'WITHVALUES')
for n = 2, #records, 2 do see(records[n - 1], records[n]) end
local buckets, read, ids = 0, 0, 0
for k = 3 + more, #KEYS do
  buckets = buckets + redis.call('HLEN', KEYS[k])
  if read < 16 * most then
    local some = redis.call('HRANDFIELD', KEYS[k], 16 * most - read, 'WITHVALUES')
    for n = 2, #some, 2 do ids = ids + #some[n] / size end
    read = read + #some / 2
  end
end
if buckets > read then ids = math.floor(ids * buckets / read) end
return {redis.call('HLEN', r), in_pieces, owners, buckets, ids, heads, hot}
