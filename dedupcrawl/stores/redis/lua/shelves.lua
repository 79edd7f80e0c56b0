-- Buckets. In the compact layout the short ones are dealt to small hashes ("shelves"), which Redis keeps as
-- flat lists. There is one shelf for every SHELF buckets: linear hashing splits one at a time as they grow.

function M.count_shelves()
  if M.shelves then return end
  M.shelves = M.whole(redis.call('HGET', M.meta, 'shelves') or 1, 1, 'meta', 'shelves')
  M.level = 1
  while M.level * 2 <= M.shelves do M.level = M.level * 2 end
end

function M.place(key)
  local a, b, c, d = key:byte(1, 4)
  return (((a * 256 + b) * 256 + c) * 256 + d) % (2 * M.level)
end

function M.shelf(key)
  M.count_shelves()
  local at = M.place(key)
  if at >= M.shelves then at = at % M.level end
  return M.buckets .. ':' .. at
end

function M.split()
  local source, target = M.buckets .. ':' .. (M.shelves - M.level), M.buckets .. ':' .. M.shelves
  local entries, moved, left = redis.call('HGETALL', source), {}, {}
  for n = 1, #entries, 2 do
    if M.place(entries[n]) == M.shelves then
      moved[#moved + 1], moved[#moved + 2], left[#left + 1] = entries[n], entries[n + 1], entries[n]
    end
  end
  for start = 1, #left, 1000 do
    redis.call('HSET', target, unpack(moved, 2 * start - 1, math.min(2 * start + 1998, #moved)))
    redis.call('HDEL', source, unpack(left, start, math.min(start + 999, #left)))
  end
  M.shelves = M.shelves + 1
  if M.shelves == 2 * M.level then M.level = M.shelves end
end

-- Where another program's key stands in the way, the shelves get longer instead.
function M.add_shelves(keys)
  M.count_shelves()
  local before, most, done = M.shelves, M.shelves + 4, true
  while done and keys > M.SHELF * M.shelves and M.shelves < most do done = pcall(M.split) end
  if M.shelves > before then redis.call('HSET', M.meta, 'shelves', M.shelves) end
end

-- Long buckets are on no shelf.
function M.on_shelves(keys)
  local found, missing, places = {}, {}, {}
  for n, key in ipairs(keys) do
    found[n] = redis.call('HGET', M.shelf(key), key)
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

-- before: what was in the bucket.
function M.put_bucket(key, ids, before)
  local small, was_small = #ids <= M.LONG, before and #before <= M.LONG
  if was_small and (ids == '' or not small) then redis.call('HDEL', M.shelf(key), key) end
  if before and not was_small and (ids == '' or small) then redis.call('HDEL', M.buckets, key) end
  if ids ~= '' then redis.call('HSET', small and M.shelf(key) or M.buckets, key, ids) end
end
