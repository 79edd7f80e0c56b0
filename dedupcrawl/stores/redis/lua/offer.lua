-- Files a record. existing.lua has what is needed only if there are records under the lookup keys.

function M.counts()
  local there = redis.call('HMGET', M.meta, 'mark', 'last', 'keys')
  if there[1] ~= ARGV[5] then error('DEDUPCRAWL emptied', 0) end
  return M.whole(there[2] or 0, 0, 'meta', 'last'), M.total(there[3])
end

-- Checks everything that could make a write fail, before the first write. before: the contents of the buckets.
function M.check_before_writes(id, keys, before)
  if id > M.LAST then M.damaged('meta', 'last') end
  if ARGV[9] ~= '' then redis.call('HLEN', M.claims) end
  for n = 1, #keys do
    if before[n] and #before[n] >= 6 * M.BUCKET_CAP then
      M.whole(redis.call('HGET', M.hot, keys[n]) or 0, 0, 'hot', M.hex(keys[n]))
    end
  end
end

function M.file(id, keys, before)
  local packed, flat, at_once = M.pack(id), {}, not M.compact and #keys <= 500
  for n = 1, #keys do
    local key, ids = keys[n], packed
    if before[n] then
      ids = before[n] .. packed
      if #ids > 6 * M.BUCKET_CAP then
        redis.call('HINCRBY', M.hot, key, 1)
        ids = ids:sub(-6 * M.SCAN_CAP)
      end
    end
    if at_once then
      flat[2 * n - 1], flat[2 * n] = key, ids
    elseif M.compact then
      M.put_in_partition(key, ids, before[n])
    else
      M.put_bucket(key, ids, before[n])
    end
  end
  if #flat > 0 then redis.call('HSET', M.buckets, unpack(flat)) end
end

-- mark, serial number, since, highest id that the worker has seen, lease ("": commit at once), time to live, age,
-- "1" in a second call, encoded record, keys, probes ("=": the keys), ids that it supersedes
--
-- Returns the id under which the record was filed, or the records found. The highest id is sent because a server that
-- lost its latest writes would give some ids again.
function M.offer()
  local last, total = M.counts()
  local before, keys, any = M.fetch(ARGV[14])
  local looked, probes = before, keys
  if ARGV[15] ~= '=' then looked, probes, any = M.fetch(ARGV[15]) end
  if any or ARGV[10] ~= '' or ARGV[12] == '1' or ARGV[16] ~= '' then
    local answer, changed = M.existing(looked, probes, before)
    if answer then return answer end
    if changed then
      last, total = M.counts()
      before = M.fetch(ARGV[14])
    end
  end
  local id = math.max(last, tonumber(ARGV[8])) + 1
  M.check_before_writes(id, keys, before)
  local value = M.pack(math.max(0, M.now - tonumber(ARGV[11]))) .. ARGV[13]
  if ARGV[9] == '' then
    redis.call('HSET', M.records, id, value)
  else
    redis.call('HSET', M.records, id, value, M.mark_of(id), '')
  end
  redis.call('HSET', M.meta, 'last', id, 'keys', total + #keys)
  M.file(id, keys, before)
  if ARGV[9] ~= '' then
    redis.call('HSET', M.claims, id, M.me .. ARGV[6] .. '\1' .. M.pack(M.now + tonumber(ARGV[9])))
  end
  if M.compact then M.split_partitions(total + #keys) end
  if ARGV[16] ~= '' then M.remove(M.plan(M.unpack_ids(ARGV[16]))) end
  return id
end
