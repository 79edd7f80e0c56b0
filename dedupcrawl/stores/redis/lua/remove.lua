-- Planned first: a record that cannot be read is an error, and then nothing may have changed.

function M.keys_of(id, value)
  local keys, sketches = value:byte(20) * 256 + value:byte(21), value:byte(22)
  local start = M.HEAD + 1 + 4 * sketches
  if #value < start - 1 + 6 * keys or value:byte(7) ~= M.VERSION then M.damaged('record', id) end
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

if not M.compact then -- else it is in shelves.lua
  function M.put_bucket(key, ids)
    if ids == '' then redis.call('HDEL', M.buckets, key) else redis.call('HSET', M.buckets, key, ids) end
  end
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
    redis.call('HDEL', M.records, each.id)
    for _, key in ipairs(each.keys) do M.drop_id(key, each.id) end
    keys = keys + #each.keys
    if each.claim then
      redis.call('HDEL', M.claims, each.id)
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
  for _, id in ipairs(own) do redis.call('HDEL', M.claims, id) end
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

-- Remove the two oldest records if they are past their time to live; return how many went.
function M.expire(older)
  local first, last = M.first_id(), M.last_id()
  local at, most, removed = first, first + 256, 0
  while at <= last and at < most and removed < 2 do
    local value = redis.call('HGET', M.records, at)
    if value then
      if #value < 6 or M.number(value, 1) >= older then break end
      local sound, doomed = pcall(M.plan, {at})
      if not sound then break end -- a damaged record stays, and nobody has to wait for its sake
      removed = removed + M.remove(doomed)
    end
    at = at + 1
  end
  if at > first then redis.call('HSET', M.meta, 'first', at) end
  return removed
end
