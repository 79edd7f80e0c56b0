-- The buckets of the compact layout. Short ones are distributed over small hashes ("partitions"), which Redis stores as
-- flat lists. There is one partition for every PARTITION buckets: linear hashing splits one at a time as they grow.

function M.load_partitions()
  if M.partitions then return end
  M.partitions = M.whole(redis.call('HGET', M.meta, 'shelves') or 1, 1, 'meta', 'shelves')
  M.level = 1
  while M.level * 2 <= M.partitions do M.level = M.level * 2 end
end

function M.slot(key)
  local a, b, c, d = key:byte(1, 4)
  return (((a * 256 + b) * 256 + c) * 256 + d) % (2 * M.level)
end

function M.partition(key)
  M.load_partitions()
  local at = M.slot(key)
  if at >= M.partitions then at = at % M.level end
  return M.buckets .. ':' .. at
end

function M.split()
  local source, target = M.buckets .. ':' .. (M.partitions - M.level), M.buckets .. ':' .. M.partitions
  local entries, moved, left = redis.call('HGETALL', source), {}, {}
  for n = 1, #entries, 2 do
    if M.slot(entries[n]) == M.partitions then
      moved[#moved + 1], moved[#moved + 2], left[#left + 1] = entries[n], entries[n + 1], entries[n]
    end
  end
  for start = 1, #left, 1000 do
    redis.call('HSET', target, unpack(moved, 2 * start - 1, math.min(2 * start + 1998, #moved)))
    redis.call('HDEL', source, unpack(left, start, math.min(start + 999, #left)))
  end
  M.partitions = M.partitions + 1
  if M.partitions == 2 * M.level then M.level = M.partitions end
end

-- If another program's key has the name of the new partition, the existing ones get longer instead.
function M.split_partitions(keys)
  M.load_partitions()
  local before, most, done = M.partitions, M.partitions + 4, true
  while done and keys > M.PARTITION * M.partitions and M.partitions < most do done = pcall(M.split) end
  if M.partitions > before then redis.call('HSET', M.meta, 'shelves', M.partitions) end
end

-- Reads buckets. Long ones are in no partition.
function M.read_partitions(keys)
  local found, missing, places = {}, {}, {}
  for n, key in ipairs(keys) do
    found[n] = redis.call('HGET', M.partition(key), key)
    if not found[n] then
      missing[#missing + 1] = key
      places[#places + 1] = n
    end
  end
  for start = 1, #missing, 1000 do
    local some = redis.call('HMGET', M.buckets, unpack(missing, start, math.min(start + 999, #missing)))
    for n, ids in ipairs(some) do found[places[start + n - 1]] = ids end
  end
  return found
end

-- before: the former contents of the bucket.
function M.put_in_partition(key, ids, before)
  local small, was_small = #ids <= M.LONG, before and #before <= M.LONG
  if was_small and (ids == '' or not small) then redis.call('HDEL', M.partition(key), key) end
  if before and not was_small and (ids == '' or small) then redis.call('HDEL', M.buckets, key) end
  if ids ~= '' then redis.call('HSET', small and M.partition(key) or M.buckets, key, ids) end
end
