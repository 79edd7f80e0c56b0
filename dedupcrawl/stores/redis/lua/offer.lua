-- Lays out what offers need in any case; known.lua has what they need where somebody stands.

function M.counts()
  local there = redis.call('HMGET', M.meta, 'mark', 'last', 'keys')
  if there[1] ~= ARGV[5] then error('DEDUPCRAWL emptied', 0) end
  return M.whole(there[2] or 0, 0, 'meta', 'last'), M.total(there[3])
end

-- Whatever could fail among the writes is looked at before the first of them. before: what is in the buckets.
function M.check(id, keys, before)
  if id > M.LAST then M.damaged('meta', 'last') end
  if ARGV[9] ~= '' then redis.call('HLEN', M.claims) end
  for n, key in ipairs(keys) do
    if before[n] and #before[n] >= 6 * M.BUCKET_CAP then
      M.whole(redis.call('HGET', M.hot, key) or 0, 0, 'hot', M.hex(key))
    end
  end
end

function M.file(id, keys, before)
  local packed, flat = M.pack(id), {}
  for n, key in ipairs(keys) do
    local ids = before[n] and before[n] .. packed or packed
    if #ids > 6 * M.BUCKET_CAP then
      redis.call('HINCRBY', M.hot, key, 1)
      ids = ids:sub(-6 * M.SCAN_CAP)
    end
    if M.compact or #keys > 500 then
      M.put_bucket(key, ids, before[n])
    else
      flat[2 * n - 1], flat[2 * n] = key, ids
    end
  end
  if #flat > 0 then redis.call('HSET', M.buckets, unpack(flat)) end
end

-- mark, serial, since, highest id that the worker has heard of, lease ("": none, it is committed at once), time to
-- live, age, whether it is asked again, packed record, keys, probes ("=": the keys), ids that it supersedes
--
-- Answers with the id under which it was filed, or with what stands there. A server that lost its latest writes
-- would give some ids again: hence the highest one.
function M.offer()
  local last, total = M.counts()
  local before, keys, any = M.fetch(ARGV[14])
  local looked, probes = before, keys
  if ARGV[15] ~= '=' then looked, probes, any = M.fetch(ARGV[15]) end
  if any or ARGV[10] ~= '' or ARGV[12] == '1' or ARGV[16] ~= '' then
    local answer, changed = M.face(looked, probes, before)
    if answer then return answer end
    if changed then
      last, total = M.counts()
      before = M.fetch(ARGV[14])
    end
  end
  local id = math.max(last, tonumber(ARGV[8])) + 1
  M.check(id, keys, before)
  redis.call('HSET', M.records, id, M.pack(math.max(0, M.now - tonumber(ARGV[11]))) .. ARGV[13])
  redis.call('HSET', M.meta, 'last', id, 'keys', total + #keys)
  M.file(id, keys, before)
  if ARGV[9] ~= '' then
    redis.call('HSET', M.claims, id, M.me .. ARGV[6] .. '\1' .. M.pack(M.now + tonumber(ARGV[9])))
  end
  if M.compact then M.add_shelves(total + #keys) end
  if ARGV[16] ~= '' then M.remove(M.plan(M.unpack_ids(ARGV[16]))) end
  return id
end
