function M.put_bucket(key, ids, before)
  local small = M.compact and #ids <= M.LONG
  local was_small = before and M.compact and #before <= M.LONG
  if was_small and (ids == '' or not small) then redis.call('HDEL', M.shelf(key), key) end
  if before and not was_small and (ids == '' or small) then redis.call('HDEL', M.buckets, key) end
  if ids ~= '' then redis.call('HSET', small and M.shelf(key) or M.buckets, key, ids) end
end

function M.put_claim(id, held)
  redis.call('HSET', M.claims, id, held.owner .. held.serial .. string.char(held.state) .. M.pack(held.till))
end

function M.put_owner(token, known)
  -- Removing it first lets a server that is out of memory take what follows: a lease must be renewed even then.
  redis.call('HDEL', M.owners, token)
  redis.call('HSET', M.owners, token, M.pack(known.till) .. M.pack(known.lost))
end

-- known: the highest id that this worker has heard of; a server that lost its latest writes would give some again.
function M.next_id(known)
  local id = redis.call('HINCRBY', M.meta, 'last', 1)
  if id > known then return id end
  redis.call('HSET', M.meta, 'last', known + 1)
  return known + 1
end

-- before: what is in the buckets of these keys.
function M.file(id, value, keys, before)
  redis.call('HSET', M.records, id, value)
  local flat, packed = {}, M.pack(id)
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
  if #keys == 0 then return end
  local total = redis.call('HINCRBY', M.meta, 'keys', #keys)
  if M.compact then M.add_shelves(total) end
end
