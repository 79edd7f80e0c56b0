-- URL, key: removes the records in the bucket of the URL; returns how many, and whether the bucket may have been cut
function M.forget()
  local ids, doomed = M.bucket(ARGV[6]) or '', {}
  for at = 1, #ids, 6 do
    local id = M.number(ids, at)
    local value = M.record(id)
    if value and M.url_of(value) == ARGV[5] then doomed[#doomed + 1] = id end
  end
  return {M.remove(M.plan(doomed)), #ids >= 6 * M.SCAN_CAP and 1 or 0}
end

-- Removes the wanted records among the next "count" ids; raises "first" if no older record is left.
function M.sweep(start, count, wanted)
  local first, last = M.first_id(), M.last_id()
  local id, doomed, all_gone = math.max(start, first), {}, start <= first
  local stop = math.min(last, id + count - 1)
  while id <= stop and #doomed < 256 do
    local value = M.record(id)
    if value and wanted(id, value) then doomed[#doomed + 1] = id
    elseif value then all_gone = false end
    id = id + 1
  end
  local removed = M.remove(M.plan(doomed))
  if all_gone and id > first then
    redis.call('HDEL', M.meta, 'first') -- see put_owner
    redis.call('HSET', M.meta, 'first', id)
  end
  return {removed, id > last and -1 or id}
end

-- URL, start: removes the records of the URL by scanning all ids from start; returns how many, and where to go on
function M.forget_scan()
  return M.sweep(tonumber(ARGV[6]), 512, function(_, value) return M.url_of(value) == ARGV[5] end)
end

-- time to live, age, start: removes a batch of old records and ended claims; returns how many, and where to go on
function M.prune()
  local old = math.max(M.now - tonumber(ARGV[6]), M.oldest(ARGV[5]))
  return M.sweep(tonumber(ARGV[7]), 1024, function(id, value)
    local held = M.claim(id)
    if held then return not M.is_held(held) end
    return M.number(value, 1) < old
  end)
end

-- encoded record, keys: removes a committed record whose worker got no reply
function M.retract()
  for _, hit in ipairs((M.search((M.fetch(ARGV[6])), 0, 0))) do
    if not hit.claim and hit.value:sub(7) == ARGV[5] then return M.remove(M.plan({hit.id})) end
  end
  return 0
end
