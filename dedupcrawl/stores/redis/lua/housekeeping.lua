-- A damaged value stops none of these operations. They return a list of the errors.

-- URL, key: removes the records in the bucket of the URL; returns how many, whether the bucket may have been cut, the
-- errors, and the records there that have another URL
function M.forget()
  local ids, doomed, damaged, others = M.bucket(ARGV[6]) or '', {}, {}, {}
  for at = 1, #ids, 6 do
    local id = M.number(ids, at)
    local value = M.attempt(damaged, M.record, id)
    if value and M.url_of(value) == ARGV[5] then doomed[#doomed + 1] = id
    elseif value then others[#others + 1] = {id, value} end
  end
  return {M.remove_sound(doomed, damaged), #ids >= 6 * M.SCAN_CAP and 1 or 0, damaged, others}
end

-- Removes the wanted records among the next "count" ids; raises "first" if no older record is left.
function M.sweep(start, count, wanted)
  local first, last = M.first_id(), M.last_id()
  local id, doomed, damaged, all_gone = math.max(start, first), {}, {}, start <= first
  local stop = math.min(last, id + count - 1)
  while id <= stop and #doomed < 256 do
    local value = redis.call('HGET', M.records, id)
    if M.attempt(damaged, wanted, id, value) then doomed[#doomed + 1] = id
    elseif value then all_gone = false end
    id = id + 1
  end
  local removed = M.remove_sound(doomed, damaged)
  if all_gone and removed == #doomed and id > first then
    redis.call('HDEL', M.meta, 'first') -- see put_owner
    redis.call('HSET', M.meta, 'first', id)
  end
  return {removed, id > last and -1 or id, damaged}
end

-- URL, start: removes the records of the URL by scanning all ids from start; returns how many, and where to go on
function M.forget_scan()
  return M.sweep(tonumber(ARGV[6]), 512, function(id, value)
    return value and M.url_of(M.checked_record(id, value)) == ARGV[5]
  end)
end

-- time to live, age, start: removes a batch of old records and ended claims; returns how many, and where to go on
function M.prune()
  local old, stale = math.max(M.now - tonumber(ARGV[6]), M.oldest(ARGV[5])), {}
  redis.call('HLEN', M.claims) -- is it a hash?
  local answer = M.sweep(tonumber(ARGV[7]), 1024, function(id, value)
    if M.checked_record(id, value) and redis.call('HEXISTS', M.records, M.mark_of(id)) == 1 then
      local held = M.claim(id)
      return not held or not M.is_held(held)
    end
    stale[#stale + 1] = id
    return value and M.number(value, 1) < old
  end)
  M.in_parts('HDEL', M.claims, stale) -- that the server kept when it evicted the records
  return answer
end

-- encoded record, keys, highest id: removes a committed record whose worker got no reply
--
-- This call may be executed late, when the worker has filed the record again: that one has a higher id, and stays.
function M.retract()
  local highest = tonumber(ARGV[7])
  for _, hit in ipairs((M.search((M.fetch(ARGV[6])), 0, 0))) do
    local is_older = hit.id <= highest and not hit.claim
    if is_older and hit.value:sub(7) == ARGV[5] then return M.remove(M.plan({hit.id})) end
  end
  return 0
end
