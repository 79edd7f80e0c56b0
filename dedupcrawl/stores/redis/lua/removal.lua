-- A removal is planned first: a record that cannot be decoded is an error, and then nothing may have changed.
--
-- It handles many records at once: a dead worker may have left hundreds of claims under the same keys. Each bucket is
-- read and written once.

local MANY = 500 -- arguments of one command, within what Lua's stack holds

function M.in_parts(command, table_name, list)
  for start = 1, #list, MANY do
    redis.call(command, table_name, unpack(list, start, math.min(start + MANY - 1, #list)))
  end
end

-- before: the former contents of the bucket.
function M.put_bucket(key, ids, before)
  if M.compact then M.put_in_partition(key, ids, before)
  elseif ids == '' then redis.call('HDEL', M.buckets, key)
  else redis.call('HSET', M.buckets, key, ids) end
end

function M.keys_of(id, value)
  local keys, start = M.keys_in(value)
  if not keys or math.floor(value:byte(7) / 32) ~= M.VERSION then M.damaged('record', id) end
  local found, seen = {}, {}
  for n = 0, keys - 1 do
    local key = value:sub(start + 6 * n, start + 6 * n + 5)
    if not seen[key] then
      seen[key] = true
      found[#found + 1] = key
    end
  end
  return found
end

-- Reads buckets: key -> ids, false for a bucket that does not exist.
function M.buckets_of(keys)
  local found = {}
  for start = 1, #keys, MANY do
    local some = {unpack(keys, start, math.min(start + MANY - 1, #keys))}
    for n, ids in ipairs(M.read_buckets(some)) do found[some[n]] = M.checked_bucket(some[n], ids) end
  end
  return found
end

-- Returns what a removal changes: the records; per bucket the ids to remove, rising; and the contents of the buckets.
function M.plan(ids)
  local doomed, leaving, keys, known, rising = {}, {}, {}, {}, {}
  for n, id in ipairs(ids) do rising[n] = id end
  if #ids > 0 then
    M.total(redis.call('HGET', M.meta, 'keys'))
    redis.call('HLEN', M.hot) -- is it a hash?
    redis.call('HLEN', M.claims)
  end
  table.sort(rising)
  for n, id in ipairs(rising) do
    local value, mark
    if id ~= rising[n - 1] then value, mark = M.marked_record(id) end
    if value then
      local held = mark and M.claim(id)
      if held and not known[held.owner] then known[held.owner] = M.owner(held.owner) or {} end
      local mine = M.keys_of(id, value)
      doomed[#doomed + 1] = {id = id, count = #mine, mark = mark, claim = held}
      for _, key in ipairs(mine) do
        if not leaving[key] then
          leaving[key] = {}
          keys[#keys + 1] = key
        end
        leaving[key][#leaving[key] + 1] = id
      end
    end
  end
  return {doomed = doomed, leaving = leaving, keys = keys, buckets = M.buckets_of(keys)}
end

function M.without_one(ids, id)
  local low, high = 0, #ids / 6 - 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if M.number(ids, middle * 6 + 1) < id then low = middle + 1 else high = middle end
  end
  local at = low * 6
  if #ids == 0 or M.number(ids, at + 1) ~= id then return ids end
  return ids:sub(1, at) .. ids:sub(at + 7)
end

-- Removes rising ids from a bucket.
function M.without(ids, some)
  if #some < 8 then
    for _, id in ipairs(some) do ids = M.without_one(ids, id) end
    return ids
  end
  local left, next, from = {}, 1, 1
  for at = 1, #ids, 6 do
    local id = M.number(ids, at)
    while some[next] and some[next] < id do next = next + 1 end
    if some[next] == id then
      left[#left + 1] = ids:sub(from, at - 1)
      from = at + 6
    end
  end
  left[#left + 1] = ids:sub(from)
  return table.concat(left)
end

-- Removes ids from buckets. A bucket that is no longer hot loses its count.
function M.remove_ids(keys, leaving, buckets)
  local empty, no_longer_hot = {}, {}
  for _, key in ipairs(keys) do
    local before = buckets[key]
    local after = before and M.without(before, leaving[key])
    if after and #after < #before then
      if M.compact or after ~= '' then M.put_bucket(key, after, before) else empty[#empty + 1] = key end
      local cap = 6 * M.BUCKET_CAP
      if #before > cap and #after <= cap then no_longer_hot[#no_longer_hot + 1] = key end
    end
  end
  M.in_parts('HDEL', M.buckets, empty)
  M.in_parts('HDEL', M.hot, no_longer_hot)
end

-- Counts removed claims with their owners, which notice it when they next renew.
function M.count_losses(doomed)
  local losses = {}
  for _, each in ipairs(doomed) do
    if each.claim then losses[each.claim.owner] = (losses[each.claim.owner] or 0) + 1 end
  end
  for token, count in pairs(losses) do
    local known = M.owner(token)
    if known then M.put_owner(token, {till = known.till, lost = known.lost + count}) end
  end
end

-- Removes what was planned. quiet: do not count the claims as lost.
function M.remove(plan, quiet)
  local ids, fields, claims, keys = {}, {}, {}, 0
  for _, each in ipairs(plan.doomed) do
    ids[#ids + 1] = each.id
    fields[#fields + 1] = each.id
    if each.mark then fields[#fields + 1] = M.mark_of(each.id) end
    keys = keys + each.count
    if each.claim then claims[#claims + 1] = each.id end
  end
  if #ids == 0 then return 0 end
  M.in_parts('HDEL', M.records, fields)
  M.remove_ids(plan.keys, plan.leaving, plan.buckets)
  M.in_parts('HDEL', M.claims, claims)
  if not quiet then M.count_losses(plan.doomed) end
  if keys > 0 then redis.call('HINCRBY', M.meta, 'keys', -keys) end
  return #ids
end

-- Returns those of these ids whose record is a claim.
function M.marked(ids)
  local found = {}
  for _, id in ipairs(ids) do
    if redis.call('HEXISTS', M.records, M.mark_of(id)) == 1 then found[#found + 1] = id end
  end
  return found
end

-- Removes claims that their owner withdraws.
function M.withdraw(own)
  M.remove(M.plan(M.marked(own)), true)
  M.in_parts('HDEL', M.claims, own)
end

-- Removes records, except those that cannot be because a value is damaged; returns how many, and the others.
function M.remove_sound(ids, damaged)
  local whole = M.attempt({}, M.plan, ids)
  if whole then return M.remove(whole), {} end
  local removed, unsound = 0, {}
  for _, id in ipairs(ids) do
    local plan = M.attempt(damaged, M.plan, {id})
    if plan then removed = removed + M.remove(plan) else unsound[#unsound + 1] = id end
  end
  return removed, unsound
end

-- Removes records that may be damaged. Offers remove their ids from the buckets where they meet them.
function M.drop(ids)
  local fields = {}
  for _, id in ipairs(ids) do fields[#fields + 1], fields[#fields + 2] = id, M.mark_of(id) end
  M.in_parts('HDEL', M.records, fields)
  M.in_parts('HDEL', M.claims, ids)
end

-- Removes the dead records that an offer met. A bucket names a record that does not exist only if that was dropped, or
-- another program has deleted it.
function M.remove_dead(dead, keys)
  local removed, unsound = M.remove_sound(dead, {})
  if removed == #dead then return end
  M.drop(unsound)
  table.sort(dead)
  local leaving = {}
  for _, key in ipairs(keys) do leaving[key] = dead end
  M.remove_ids(keys, leaving, M.buckets_of(keys))
end

-- Removes the two oldest records if they are past their time to live; returns how many were removed.
--
-- Filing other pages must not fail because of a damaged record, and such a record must not keep others from being
-- removed. So a record past its time to live that cannot be removed in order is dropped. A record that is too short,
-- or shows a time in the future, is passed over, and dropped with the next that is past its time to live.
function M.expire(older)
  local first, last = M.first_id(), M.last_id()
  local at, most, removed, passed = first, first + 256, 0, {}
  while at <= last and at < most and removed < 2 do
    local value = redis.call('HGET', M.records, at)
    local seen = value and (#value >= M.SHORTEST and M.number(value, 1) or M.LAST)
    if value and seen > M.now then
      passed[#passed + 1] = at
    elseif value then
      if seen >= older then break end
      local _, unsound = M.remove_sound({at}, {})
      M.drop(unsound)
      M.drop(passed)
      removed, passed = removed + 1, {}
    end
    at = at + 1
  end
  local start = passed[1] or at
  if start > first then redis.call('HSET', M.meta, 'first', start) end
  return removed
end
