-- The rules of stores/claiming.py and stores/view.py as one script: each operation is one call, and so atomic.
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
-- Redis takes nothing back of a script that fails: everything is read and checked before the first write.

local META, RECORDS, BUCKETS, CLAIMS, OWNERS, HOT = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local OPERATION, ME, LAYOUT = ARGV[1], ARGV[2], ARGV[4]
local NUMBER, STAMP, HEAD, VERSION = 6, 6, 30, 1 -- HEAD: what stands before the lengths of the sketches
local BUCKET_CAP, SCAN_CAP = 32, 256 -- as in stores/base.py
local SHELF, LONG = 40, 60 -- mean number of buckets in a small hash; bytes above which a bucket leaves it
local COMMITTED = 3
local call, byte, char, sub, floor = redis.call, string.byte, string.char, string.sub, math.floor

local function moment()
  if ARGV[3] ~= '' then return tonumber(ARGV[3]) end
  local time = call('TIME')
  return time[1] * 1000 + floor(time[2] / 1000)
end
local NOW = moment()

local function damaged(what, where) error('DEDUPCRAWL damaged ' .. what .. ' <' .. where .. '>', 0) end

local function hex(bytes)
  return (string.gsub(bytes, '.', function(c) return string.format('%02x', byte(c)) end))
end

local function number(bytes, at)
  local a, b, c, d, e, f = byte(bytes, at, at + 5)
  return ((((a * 256 + b) * 256 + c) * 256 + d) * 256 + e) * 256 + f
end

local function pack(n)
  local high, low = floor(n / 16777216), n % 16777216
  return char(floor(high / 65536), floor(high / 256) % 256, high % 256,
              floor(low / 65536), floor(low / 256) % 256, low % 256)
end

local function within(n) return math.max(0, math.min(floor(n), 281474976710655)) end

local function oldest(ttl) return ttl == '' and 0 or NOW - tonumber(ttl) end

-- Numbers in decimal: Lua's own form of large ones has an exponent.
local function field(n) return string.format('%.0f', n) end

-- Buckets. In the compact layout the short ones are dealt to small hashes ("shelves"), which Redis keeps as
-- flat lists. There is one shelf for every SHELF buckets: linear hashing splits one at a time as they grow.

local shelves, level
local function count_shelves()
  if shelves then return end
  shelves = tonumber(call('HGET', META, 'shelves') or 1)
  level = 1
  while level * 2 <= shelves do level = level * 2 end
end

local function place(key)
  local a, b, c, d = byte(key, 1, 4)
  return (((a * 256 + b) * 256 + c) * 256 + d) % (2 * level)
end

local function shelf(key)
  count_shelves()
  local at = place(key)
  if at >= shelves then at = at % level end
  return BUCKETS .. ':' .. field(at)
end

local function checked(key, ids)
  if ids and #ids % NUMBER ~= 0 then damaged('bucket', hex(key)) end
  return ids
end

local function bucket(key)
  local ids = LAYOUT == 'compact' and call('HGET', shelf(key), key)
  return checked(key, ids or call('HGET', BUCKETS, key))
end

local function put_bucket(key, ids, before)
  local small = LAYOUT == 'compact' and #ids <= LONG
  local was_small = before and LAYOUT == 'compact' and #before <= LONG
  if was_small and (ids == '' or not small) then call('HDEL', shelf(key), key) end
  if before and not was_small and (ids == '' or small) then call('HDEL', BUCKETS, key) end
  if ids ~= '' then call('HSET', small and shelf(key) or BUCKETS, key, ids) end
end

local function split()
  local source, target = BUCKETS .. ':' .. field(shelves - level), BUCKETS .. ':' .. field(shelves)
  local entries = call('HGETALL', source)
  for n = 1, #entries, 2 do
    if place(entries[n]) == shelves then
      call('HSET', target, entries[n], entries[n + 1])
      call('HDEL', source, entries[n])
    end
  end
  shelves = shelves + 1
  if shelves == 2 * level then level = shelves end
end

local function add_shelves(keys)
  count_shelves()
  local before, most = shelves, shelves + 4
  while keys > SHELF * shelves and shelves < most do split() end
  if shelves > before then call('HSET', META, 'shelves', shelves) end
end

-- Records and claims.

local function record(id)
  local value = call('HGET', RECORDS, field(id))
  if value and #value < HEAD then damaged('record', field(id)) end
  return value
end

local function claim(id)
  local value = call('HGET', CLAIMS, field(id))
  if not value then return nil end
  if #value ~= 21 then damaged('claim', field(id)) end
  return {owner = sub(value, 1, 8), serial = sub(value, 9, 14), state = byte(value, 15), till = number(value, 16)}
end

local function put_claim(id, held)
  call('HSET', CLAIMS, field(id), held.owner .. held.serial .. char(held.state) .. pack(held.till))
end

local function owner(token)
  local value = call('HGET', OWNERS, token)
  if not value then return nil end
  if #value ~= 12 then damaged('owner', hex(token)) end
  return {till = number(value, 1), lost = number(value, 7)}
end

local function put_owner(token, known)
  -- Removing it first lets a server that is out of memory take what follows: a lease must be renewed even then.
  call('HDEL', OWNERS, token)
  call('HSET', OWNERS, token, pack(known.till) .. pack(known.lost))
end

local renewed = {}
local function holds(held)
  if NOW < held.till then return true end
  if renewed[held.owner] == nil then
    local known = owner(held.owner)
    renewed[held.owner] = known and known.till or 0
  end
  return NOW < renewed[held.owner]
end

local function candidate(id, since)
  local value = record(id)
  if not value or number(value, 1) < since then return nil end
  local held = claim(id)
  if held and not holds(held) then return nil end
  return {id = id, value = value, claim = held}
end

local function answer(hits)
  local lines = {}
  for _, hit in ipairs(hits) do
    local held = hit.claim
    lines[#lines + 1] = {hit.id, hit.value, held and held.state or COMMITTED, (held and held.owner == ME) and 1 or 0}
  end
  return lines
end

local function search(probes, since, older)
  local met, found, dead = {}, {}, {}
  for _, ids in ipairs(probes) do
    local live, at = 0, ids and #ids - NUMBER + 1 or 0
    local last = math.max(1, at - NUMBER * (SCAN_CAP - 1))
    while at >= last and live < BUCKET_CAP do
      local id = number(ids, at)
      if id <= since then break end
      if met[id] == nil then
        met[id] = candidate(id, older) or false
        if met[id] then found[#found + 1] = met[id] else dead[#dead + 1] = id end
      end
      if met[id] then live = live + 1 end
      at = at - NUMBER
    end
  end
  table.sort(found, function(a, b) return a.id < b.id end)
  return found, dead
end

local function buckets(first, count)
  local keys = {}
  for n = first, first + count - 1 do keys[#keys + 1] = ARGV[n] end
  local found, elsewhere = {}, keys
  if LAYOUT == 'compact' then
    elsewhere = {}
    for n, key in ipairs(keys) do
      found[n] = call('HGET', shelf(key), key)
      if not found[n] then elsewhere[#elsewhere + 1] = key end
    end
  end
  local fetched = {}
  for start = 1, #elsewhere, 1000 do -- Lua's stack holds a few thousand values
    local some = call('HMGET', BUCKETS, unpack(elsewhere, start, math.min(start + 999, #elsewhere)))
    for n, ids in ipairs(some) do fetched[elsewhere[start + n - 1]] = ids end
  end
  for n, key in ipairs(keys) do found[n] = checked(key, found[n] or fetched[key] or false) end
  return found, keys
end

-- Removing: planned first, for a record that cannot be read is an error and then nothing may have changed.

local function keys_of(id, value)
  local keys, sketches = byte(value, 20) * 256 + byte(value, 21), byte(value, 22)
  local start = HEAD + 1 + 4 * sketches
  if #value < start - 1 + NUMBER * keys or byte(value, 7) ~= VERSION then damaged('record', field(id)) end
  local found, seen = {}, {}
  for n = 0, keys - 1 do
    local key = sub(value, start + NUMBER * n, start + NUMBER * n + 5)
    if not seen[key] then
      seen[key] = true
      found[#found + 1] = key
      bucket(key)
    end
  end
  return found
end

local function plan(ids)
  local doomed = {}
  for _, id in ipairs(ids) do
    local value = record(id)
    if value then
      local held = claim(id)
      if held then owner(held.owner) end
      doomed[#doomed + 1] = {id = id, keys = keys_of(id, value), claim = held}
    end
  end
  return doomed
end

local function drop_id(key, id)
  local ids = bucket(key)
  if not ids then return end
  local low, high = 0, #ids / NUMBER - 1
  while low < high do
    local middle = floor((low + high) / 2)
    if number(ids, middle * NUMBER + 1) < id then low = middle + 1 else high = middle end
  end
  local at = low * NUMBER
  if #ids == 0 or number(ids, at + 1) ~= id then return end
  put_bucket(key, sub(ids, 1, at) .. sub(ids, at + NUMBER + 1), ids)
  if #ids == NUMBER * (BUCKET_CAP + 1) then call('HDEL', HOT, key) end
end

local function remove(doomed, quiet)
  local keys = 0
  for _, each in ipairs(doomed) do
    call('HDEL', RECORDS, field(each.id))
    for _, key in ipairs(each.keys) do drop_id(key, each.id) end
    keys = keys + #each.keys
    if each.claim then
      call('HDEL', CLAIMS, field(each.id))
      local known = not quiet and owner(each.claim.owner)
      if known then put_owner(each.claim.owner, {till = known.till, lost = known.lost + 1}) end
    end
  end
  if keys > 0 then call('HINCRBY', META, 'keys', -keys) end
  return #doomed
end

-- A bucket may name a record that is not there any more only if somebody else took it out of the database.
local function strip(probes, keys, gone)
  if #gone == 0 then return end
  for n, ids in ipairs(probes) do
    if ids then
      for _, id in ipairs(gone) do drop_id(keys[n], id) end
    end
  end
end

local function first_id() return tonumber(call('HGET', META, 'first') or 1) end
local function last_id() return tonumber(call('HGET', META, 'last') or 0) end

local function expire(older)
  local first, last = first_id(), last_id()
  local at, most, removed = first, first + 256, 0
  while at <= last and at < most and removed < 2 do
    local value = call('HGET', RECORDS, field(at))
    if value then
      if #value < STAMP or number(value, 1) >= older then break end
      local sound, doomed = pcall(plan, {at})
      if not sound then break end -- a damaged record stays, and nobody has to wait for its sake
      removed = removed + remove(doomed)
    end
    at = at + 1
  end
  if at > first then call('HSET', META, 'first', field(at)) end
end

local function file(id, value, first, count)
  local before, keys = buckets(first, count)
  call('HSET', RECORDS, field(id), value)
  local pairs_ = {}
  for n, key in ipairs(keys) do
    local ids = before[n] or ''
    local after = sub(ids .. pack(id), -NUMBER * SCAN_CAP)
    if #ids >= NUMBER * BUCKET_CAP then call('HINCRBY', HOT, key, 1) end
    if LAYOUT == 'compact' or count > 500 then
      put_bucket(key, after, before[n] or nil)
    else
      pairs_[#pairs_ + 1] = key
      pairs_[#pairs_ + 1] = after
    end
  end
  if #pairs_ > 0 then call('HSET', BUCKETS, unpack(pairs_)) end
  local total = count > 0 and call('HINCRBY', META, 'keys', count) or 0
  if LAYOUT == 'compact' then add_shelves(total) end
end

local function numbers(first, count)
  local found = {}
  for n = first, first + count - 1 do found[#found + 1] = tonumber(ARGV[n]) end
  return found
end

local function mine(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local held = claim(id)
    if held and held.owner == ME then found[#found + 1] = id end
  end
  return found
end

-- The URL of a packed record stands in front of the cluster, at its end.
local function url_of(value)
  local function long(at)
    local a, b, c, d = byte(value, at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end
  local size, cluster = long(23), long(27)
  return sub(value, #value - cluster - size + 1, #value - cluster)
end

local operations = {}

-- mark, serial, since, highest id known, lease, time to live, age, packed record, probes, keys
function operations.offer()
  if call('HGET', META, 'mark') ~= ARGV[5] then error('DEDUPCRAWL emptied', 0) end
  local serial, since, known = ARGV[6], tonumber(ARGV[7]), tonumber(ARGV[8])
  local older, count = oldest(ARGV[10]), tonumber(ARGV[13])
  local probes, names = buckets(15, count)
  local found, dead = search(probes, since, older)
  for _, hit in ipairs(found) do
    -- The answer to this very offer was lost on the way: it is asked a second time.
    if hit.claim and hit.claim.owner == ME and hit.claim.serial == serial then return {hit.id, {}} end
  end
  local doomed, gone = plan(dead), {}
  for _, id in ipairs(dead) do
    if not record(id) then gone[#gone + 1] = id end
  end
  remove(doomed)
  strip(probes, names, gone)
  if #found > 0 then return {0, answer(found)} end
  if ARGV[10] ~= '' then expire(older) end
  local id = call('HINCRBY', META, 'last', 1)
  if id <= known then -- the server has lost its latest writes
    id = known + 1
    call('HSET', META, 'last', field(id))
  end
  file(id, pack(within(NOW - tonumber(ARGV[11]))) .. ARGV[12], 15 + count, tonumber(ARGV[14]))
  put_claim(id, {owner = ME, serial = serial, state = 1, till = NOW + tonumber(ARGV[9])})
  return {id, {}}
end

-- time to live, probes
function operations.find()
  local found = search(buckets(6, #ARGV - 5), 0, oldest(ARGV[5]))
  return answer(found)
end

-- time to live, id
function operations.get()
  return answer({candidate(tonumber(ARGV[6]), oldest(ARGV[5]))})
end

-- time to live, key of the URL, URL
function operations.lookup()
  local ids = bucket(ARGV[6]) or ''
  for at = #ids - NUMBER + 1, 1, -NUMBER do
    local hit = candidate(number(ids, at), oldest(ARGV[5]))
    if hit and url_of(hit.value) == ARGV[7] then return answer({hit}) end
  end
  return {}
end

-- time to live, start: some live records and the id to go on with (-1: at the end)
function operations.walk()
  local start, last, found = math.max(tonumber(ARGV[6]), first_id()), last_id(), {}
  local stop = math.min(last, start + 2047)
  local id = start
  while id <= stop and #found < 256 do
    found[#found + 1] = candidate(id, oldest(ARGV[5]))
    id = id + 1
  end
  return {id > last and -1 or id, answer(found)}
end

-- id
function operations.scraped()
  local held = claim(tonumber(ARGV[5]))
  if not held or held.owner ~= ME then return 0 end
  held.state = 2
  call('HDEL', CLAIMS, ARGV[5]) -- see put_owner
  put_claim(tonumber(ARGV[5]), held)
  return 1
end

-- again, how many, ids, what they supersede
function operations.commit()
  local again, count = ARGV[5] == '1', tonumber(ARGV[6])
  local ids = numbers(7, count)
  local own, there = mine(ids), {}
  for _, id in ipairs(own) do there[#there + 1] = id end
  if again then -- only their owner makes claims into records without a claim: it was done, and the answer lost
    for _, id in ipairs(ids) do
      if not claim(id) and record(id) then there[#there + 1] = id end
    end
  end
  local superseded, committed = {}, {}
  for _, id in ipairs(own) do committed[id] = true end
  if #there > 0 then superseded = plan(numbers(7 + count, #ARGV - 6 - count)) end
  for _, each in ipairs(superseded) do
    if committed[each.id] then each.claim = nil end
  end
  for _, id in ipairs(own) do call('HDEL', CLAIMS, field(id)) end
  remove(superseded)
  return there
end

-- ids
function operations.release()
  local own = mine(numbers(5, #ARGV - 4))
  remove(plan(own), true)
  return own
end

-- serials of offers whose answer never came: their claims are withdrawn
function operations.disown()
  local doubtful, own = {}, {}
  for n = 6, #ARGV do doubtful[ARGV[n]] = true end
  local page = call('HSCAN', CLAIMS, ARGV[5], 'COUNT', 500)
  for n = 1, #page[2], 2 do
    local value = page[2][n + 1]
    if sub(value, 1, 8) == ME and doubtful[sub(value, 9, 14)] then own[#own + 1] = tonumber(page[2][n]) end
  end
  remove(plan(own), true)
  return page[1]
end

-- ids: which of them are claims of this owner
function operations.mine() return mine(numbers(5, #ARGV - 4)) end

-- lease, how many were known to be lost
function operations.renew()
  local known = owner(ME) or {lost = tonumber(ARGV[6]) + 1}
  put_owner(ME, {till = NOW + tonumber(ARGV[5]), lost = known.lost})
  return known.lost
end

function operations.leave() return call('HDEL', OWNERS, ME) end

-- URL, key: removes what the bucket of the URL names; whether the bucket may have been cut comes second
function operations.forget()
  local ids, doomed = bucket(ARGV[6]) or '', {}
  for at = 1, #ids, NUMBER do
    local id = number(ids, at)
    local value = record(id)
    if value and url_of(value) == ARGV[5] then doomed[#doomed + 1] = id end
  end
  return {remove(plan(doomed)), #ids >= NUMBER * SCAN_CAP and 1 or 0}
end

local function sweep(start, look, wanted)
  local first, last = first_id(), last_id()
  local id, doomed, whole = math.max(start, first), {}, start <= first
  local stop = math.min(last, id + look - 1)
  while id <= stop and #doomed < 256 do
    local value = record(id)
    if value and wanted(id, value) then doomed[#doomed + 1] = id
    elseif value then whole = false end
    id = id + 1
  end
  local removed = remove(plan(doomed))
  if whole and id > first then call('HSET', META, 'first', field(id)) end
  return {removed, id > last and -1 or id}
end

-- URL, start
function operations.comb()
  return sweep(tonumber(ARGV[6]), 512, function(_, value) return url_of(value) == ARGV[5] end)
end

-- time to live, age, start
function operations.prune()
  local old = math.max(NOW - tonumber(ARGV[6]), oldest(ARGV[5]))
  return sweep(tonumber(ARGV[7]), 1024, function(id, value)
    local held = claim(id)
    if held then return not holds(held) end
    return number(value, 1) < old
  end)
end

-- owners whose lease ended
function operations.bury()
  local tokens = call('HKEYS', OWNERS)
  for _, token in ipairs(tokens) do
    if token ~= ME and owner(token).till <= NOW then call('HDEL', OWNERS, token) end
  end
  return 0
end

-- step, start: the moment of the first record from there on, or the id to go on with
function operations.edge()
  local step, id, last = tonumber(ARGV[5]), tonumber(ARGV[6]), last_id()
  if id == 0 then id = step > 0 and first_id() or last end
  for _ = 1, 4096 do
    if id < 1 or id > last then return {-1, 0} end
    local value = record(id)
    if value then return {0, number(value, 1)} end
    id = id + step
  end
  return {id, 0}
end

-- mark, scheme ("": an existing namespace only), lease
function operations.admit()
  local there = call('HMGET', META, 'mark', 'scheme')
  if not there[1] and not there[2] and ARGV[6] ~= '' then
    there = {ARGV[5], ARGV[6]}
    call('HSET', META, 'mark', there[1], 'scheme', there[2])
  end
  return there
end

return operations[OPERATION]()
