-- Files records. existing.lua has what is needed only if there are records under the lookup keys.

-- Reads the highest id and the total of keys.
function M.read_counts()
  local there = redis.call('HMGET', M.meta, 'mark', 'last', 'keys')
  if there[1] ~= ARGV[5] then error('DEDUPCRAWL emptied', 0) end
  M.last, M.entries, M.has_new_counts = M.whole(there[2] or 0, 0, 'meta', 'last'), M.total(there[3]), false
end

function M.write_counts()
  redis.call('HSET', M.meta, 'last', M.last, 'keys', M.entries)
  M.has_new_counts = false
end

-- Checks everything that could make a write fail, before the first write. before: the contents of the buckets; is_known:
-- whether any of them exists.
function M.check_before_writes(id, keys, before, is_known)
  if id > M.LAST then M.damaged('meta', 'last') end
  if ARGV[9] ~= '' then redis.call('HLEN', M.claims) end
  for n = 1, is_known and #keys or 0 do
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

-- Does the same if none of the buckets exists, as for most pages, in less time.
function M.file_new(id, keys)
  if M.compact or #keys == 0 or #keys > 500 then return M.file(id, keys, {}) end
  local packed, flat = M.pack(id), {}
  for n = 1, #keys do flat[2 * n - 1], flat[2 * n] = keys[n], packed end
  redis.call('HSET', M.buckets, unpack(flat))
end

-- Files a record, or returns the records found; the arguments are those of "offer". Of many records, the counts are written
-- once: after the last one, or before a removal changes them.
function M.offer_one(is_one_of_many)
  local before, keys, any = M.fetch(ARGV[14])
  local looked, probes, is_known = before, keys, any
  if ARGV[15] ~= '=' then looked, probes, any = M.fetch(ARGV[15]) end
  if any or ARGV[10] ~= '' or ARGV[12] == '1' or ARGV[16] ~= '' then
    if M.has_new_counts then M.write_counts() end
    local answer, changed = M.existing(looked, probes, before)
    if changed or is_one_of_many then M.read_counts() end
    if answer then return answer, false end
    if changed then before, keys, is_known = M.fetch(ARGV[14]) end
  end
  local id = math.max(M.last, tonumber(ARGV[8])) + 1
  M.check_before_writes(id, keys, before, is_known)
  local value = M.pack(math.max(0, M.now - tonumber(ARGV[11]))) .. ARGV[13]
  if ARGV[9] == '' then
    redis.call('HSET', M.records, id, value)
  else
    redis.call('HSET', M.records, id, value, M.mark_of(id), '')
  end
  M.last, M.entries, M.has_new_counts = id, M.entries + #keys, true
  if not is_one_of_many then M.write_counts() end
  if is_known then M.file(id, keys, before) else M.file_new(id, keys) end
  return id, true
end

-- mark, serial number, since, highest id that the worker has seen, lease ("": commit at once), time to live, age,
-- "1" in a second call, encoded record, keys, probes ("=": the keys), ids that it supersedes
--
-- Returns the id under which the record was filed, or the records found. The highest id is sent because a server that
-- lost its latest writes would give some ids again.
function M.offer()
  M.read_counts()
  local answer, is_filed = M.offer_one(false)
  if not is_filed then return answer end
  if ARGV[9] ~= '' then
    redis.call('HSET', M.claims, answer, M.me .. ARGV[6] .. '\1' .. M.pack(M.now + tonumber(ARGV[9])))
  end
  if M.compact then M.split_partitions(M.entries) end
  if ARGV[16] ~= '' then M.remove(M.plan(M.unpack_ids(ARGV[16]))) end
  return answer
end

-- mark, since, highest id, time to live, "1" in a second call; then age, encoded record, keys and probes of each record
--
-- Does the same with many records, which are committed at once, one after the other. If one of them fails, those before
-- it have been filed.
function M.offer_many()
  local given, answers = ARGV, {}
  ARGV = {given[1], given[2], given[3], given[4], given[5], '', given[6], given[7], '', given[8], '', given[9], '', '', '', ''}
  M.read_counts()
  local sound, problem = pcall(function()
    for at = 10, #given, 4 do
      ARGV[11], ARGV[13], ARGV[14], ARGV[15] = given[at], given[at + 1], given[at + 2], given[at + 3]
      local answer, is_filed = M.offer_one(true)
      if is_filed and M.compact then M.split_partitions(M.entries) end
      answers[#answers + 1] = answer
    end
  end)
  if M.has_new_counts then M.write_counts() end
  if not sound then error(problem, 0) end
  return answers
end
