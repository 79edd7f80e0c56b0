function M.within(n)
  return math.max(0, math.min(math.floor(n), 281474976710655))
end

function M.put_bucket(key, ids, before)
  local small = M.compact and #ids <= M.LONG
  local was_small = before and M.compact and #before <= M.LONG
  if was_small and (ids == '' or not small) then redis.call('HDEL', M.shelf(key), key) end
  if before and not was_small and (ids == '' or small) then redis.call('HDEL', M.buckets, key) end
  if ids ~= '' then redis.call('HSET', small and M.shelf(key) or M.buckets, key, ids) end
end

function M.split()
  local source, target = M.buckets .. ':' .. M.field(M.shelves - M.level), M.buckets .. ':' .. M.field(M.shelves)
  local entries = redis.call('HGETALL', source)
  for n = 1, #entries, 2 do
    if M.place(entries[n]) == M.shelves then
      redis.call('HSET', target, entries[n], entries[n + 1])
      redis.call('HDEL', source, entries[n])
    end
  end
  M.shelves = M.shelves + 1
  if M.shelves == 2 * M.level then M.level = M.shelves end
end

function M.add_shelves(keys)
  M.count_shelves()
  local before, most = M.shelves, M.shelves + 4
  while keys > M.SHELF * M.shelves and M.shelves < most do M.split() end
  if M.shelves > before then redis.call('HSET', M.meta, 'shelves', M.shelves) end
end

function M.put_claim(id, held)
  redis.call('HSET', M.claims, M.field(id), held.owner .. held.serial .. string.char(held.state) .. M.pack(held.till))
end

function M.put_owner(token, known)
  -- Removing it first lets a server that is out of memory take what follows: a lease must be renewed even then.
  redis.call('HDEL', M.owners, token)
  redis.call('HSET', M.owners, token, M.pack(known.till) .. M.pack(known.lost))
end

-- Removing: planned first, for a record that cannot be read is an error and then nothing may have changed.

function M.keys_of(id, value)
  local keys, sketches = value:byte(20) * 256 + value:byte(21), value:byte(22)
  local start = M.HEAD + 1 + 4 * sketches
  if #value < start - 1 + 6 * keys or value:byte(7) ~= M.VERSION then M.damaged('record', M.field(id)) end
  local found, seen = {}, {}
  for n = 0, keys - 1 do
    local key = value:sub(start + 6 * n, start + 6 * n + 5)
    if not seen[key] then
      seen[key] = true
      found[#found + 1] = key
      M.bucket(key)
    end
  end
  return found
end

function M.plan(ids)
  local doomed = {}
  for _, id in ipairs(ids) do
    local value = M.record(id)
    if value then
      local held = M.claim(id)
      if held then M.owner(held.owner) end
      doomed[#doomed + 1] = {id = id, keys = M.keys_of(id, value), claim = held}
    end
  end
  return doomed
end

function M.drop_id(key, id)
  local ids = M.bucket(key)
  if not ids then return end
  local low, high = 0, #ids / 6 - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if M.number(ids, middle * 6 + 1) < id then low = middle + 1 else high = middle end
  end
  local at = low * 6
  if #ids == 0 or M.number(ids, at + 1) ~= id then return end
  M.put_bucket(key, ids:sub(1, at) .. ids:sub(at + 7), ids)
  if #ids == 6 * (M.BUCKET_CAP + 1) then redis.call('HDEL', M.hot, key) end
end

function M.remove(doomed, quiet)
  local keys = 0
  for _, each in ipairs(doomed) do
    redis.call('HDEL', M.records, M.field(each.id))
    for _, key in ipairs(each.keys) do M.drop_id(key, each.id) end
    keys = keys + #each.keys
    if each.claim then
      redis.call('HDEL', M.claims, M.field(each.id))
      local known = not quiet and M.owner(each.claim.owner)
      if known then M.put_owner(each.claim.owner, {till = known.till, lost = known.lost + 1}) end
    end
  end
  if keys > 0 then redis.call('HINCRBY', M.meta, 'keys', -keys) end
  return #doomed
end

-- Claims withdrawn by their owner, who need not be told.
function M.withdraw(own)
  M.remove(M.plan(own), true)
  for _, id in ipairs(own) do redis.call('HDEL', M.claims, M.field(id)) end
end

-- Take the dead that an offer met out of the way. A bucket names a record that is not there only if somebody else
-- took that out of the database.
function M.clear(dead, buckets, keys)
  local doomed, gone = M.plan(dead), {}
  for _, id in ipairs(dead) do
    if not M.record(id) then gone[#gone + 1] = id end
  end
  M.remove(doomed)
  for n, key in ipairs(#gone > 0 and keys or {}) do
    for _, id in ipairs(buckets[n] and gone or {}) do M.drop_id(key, id) end
  end
end

-- known: the highest id that this worker has heard of; a server that lost its latest writes would give some again.
function M.next_id(known)
  local id = redis.call('HINCRBY', M.meta, 'last', 1)
  if id > known then return id end
  redis.call('HSET', M.meta, 'last', M.field(known + 1))
  return known + 1
end

-- Remove the two oldest records if they are past their time to live; return how many went.
function M.expire(older)
  local first, last = M.first_id(), M.last_id()
  local at, most, removed = first, first + 256, 0
  while at <= last and at < most and removed < 2 do
    local value = redis.call('HGET', M.records, M.field(at))
    if value then
      if #value < 6 or M.number(value, 1) >= older then break end
      local sound, doomed = pcall(M.plan, {at})
      if not sound then break end -- a damaged record stays, and nobody has to wait for its sake
      removed = removed + M.remove(doomed)
    end
    at = at + 1
  end
  if at > first then redis.call('HSET', M.meta, 'first', M.field(at)) end
  return removed
end

-- before: what is in the buckets of these keys.
function M.file(id, value, keys, before)
  redis.call('HSET', M.records, M.field(id), value)
  local flat = {}
  for n, key in ipairs(keys) do
    local ids = before[n] or ''
    local after = (ids .. M.pack(id)):sub(-6 * M.SCAN_CAP)
    if #ids >= 6 * M.BUCKET_CAP then redis.call('HINCRBY', M.hot, key, 1) end
    if M.compact or #keys > 500 then
      M.put_bucket(key, after, before[n] or nil)
    else
      flat[#flat + 1] = key
      flat[#flat + 1] = after
    end
  end
  if #flat > 0 then redis.call('HSET', M.buckets, unpack(flat)) end
  local total = #keys > 0 and redis.call('HINCRBY', M.meta, 'keys', #keys) or 0
  if M.compact then M.add_shelves(total) end
end

function M.claimed(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local held = M.claim(id)
    if held and held.owner == M.me then found[#found + 1] = id end
  end
  return found
end
