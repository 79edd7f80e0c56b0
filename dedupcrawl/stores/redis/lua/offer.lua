-- Files records. existing.lua has what is needed only if there are records under the lookup keys.

-- Reads the numbers of a call: since, highest id that the worker has seen, age, time to live and lease (-1: none), 8
-- bytes each; with a lease, the serial number of the offer follows. The highest id is sent because a server that lost its
-- latest writes would give some ids again. Returns the age.
function M.begin_offer(numbers, superseded)
  local since, highest, age, ttl, lease = struct.unpack('>i8i8i8i8i8', numbers)
  M.since, M.highest, M.superseded = since, highest, superseded
  M.ttl, M.lease = ttl >= 0 and ttl, lease >= 0 and lease
  M.serial = M.lease and numbers:sub(41)
  return age
end

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
  if M.lease then redis.call('HLEN', M.claims) end
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

-- Files an id if none of its buckets exists, as for most pages. It takes less time than M.file.
function M.file_new(id, keys)
  if M.compact or #keys == 0 or #keys > 500 then return M.file(id, keys, {}) end
  local packed, flat, count = M.pack(id), M.flat, #keys
  for n = 1, count do flat[2 * n - 1], flat[2 * n] = keys[n], packed end
  redis.call('HSET', M.buckets, unpack(flat, 1, 2 * count))
end

-- Files a record, or returns the records found. Of many records, the counts are written once: after the last one, or before
-- a removal changes them.
function M.offer_one(age, record, packed, packed_probes, is_one_of_many)
  local before, keys, any = M.fetch(packed)
  local looked, probes, is_known = before, keys, any
  if packed_probes ~= '=' then looked, probes, any = M.fetch(packed_probes) end
  if any or M.ttl or M.is_again or M.superseded then
    if M.has_new_counts then M.write_counts() end
    local answer, changed = M.existing(looked, probes, before, record)
    if changed or is_one_of_many then M.read_counts() end
    if answer then return answer, false end
    if changed then before, keys, is_known = M.fetch(packed) end
  end
  local id = math.max(M.last, M.highest) + 1
  M.check_before_writes(id, keys, before, is_known)
  local value = M.pack(math.max(0, M.now - age)) .. record
  if M.lease then
    redis.call('HSET', M.records, id, value, M.mark_of(id), '')
  else
    redis.call('HSET', M.records, id, value)
  end
  M.last, M.entries, M.has_new_counts = id, M.entries + #keys, true
  if not is_one_of_many then M.write_counts() end
  if is_known then M.file(id, keys, before) else M.file_new(id, keys) end
  return id, true
end

-- mark, numbers, encoded record, keys; then, unless the probes are the keys and nothing is superseded: probes ("=": the keys),
-- ids that it supersedes
--
-- Returns the id under which the record was filed, or the records found.
function M.offer()
  local superseded = ARGV[10] or ''
  local age = M.begin_offer(ARGV[6], superseded ~= '' and superseded)
  M.read_counts()
  local answer, is_filed = M.offer_one(age, ARGV[7], ARGV[8], ARGV[9] or '=', false)
  if not is_filed then return answer end
  if M.lease then redis.call('HSET', M.claims, answer, M.me .. M.serial .. '\1' .. M.pack(M.now + M.lease)) end
  if M.compact then M.split_partitions(M.entries) end
  if M.superseded then M.remove(M.plan(M.unpack_ids(M.superseded))) end
  return answer
end

-- Repeats M.offer, after a first call that may have filed the record.
function M.offer_again()
  M.is_again = true
  return M.offer()
end

-- mark, numbers (without age and lease); then age, encoded record, keys and probes of each record
--
-- Offers many records, which are committed at once, one after the other. If one fails, those before it have been filed.
function M.offer_many()
  local answers = {}
  M.begin_offer(ARGV[6], false)
  M.read_counts()
  local sound, problem = pcall(function()
    for at = 7, #ARGV, 4 do
      local answer, is_filed = M.offer_one(tonumber(ARGV[at]), ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], true)
      if is_filed and M.compact then M.split_partitions(M.entries) end
      answers[#answers + 1] = answer
    end
  end)
  if M.has_new_counts then M.write_counts() end
  if not sound then error(problem, 0) end
  return answers
end

-- Repeats M.offer_many, after a first call that may have filed some of the records.
function M.offer_many_again()
  M.is_again = true
  return M.offer_many()
end
