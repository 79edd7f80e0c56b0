-- Lua's stack holds a few thousand values: many keys are read one by one.
function M.read_buckets(keys)
  if M.compact then return M.read_partitions(keys) end
  if #keys <= 1000 then return #keys > 0 and redis.call('HMGET', M.buckets, unpack(keys)) or {} end
  local found = {}
  for n, key in ipairs(keys) do found[n] = redis.call('HGET', M.buckets, key) end
  return found
end

-- Returns the buckets of packed keys (false for one that does not exist), the keys, and whether any bucket exists.
function M.fetch(packed)
  local keys, count, any = {}, #packed / 6, false
  for n = 1, count do keys[n] = packed:sub(6 * n - 5, 6 * n) end
  local found = M.read_buckets(keys)
  for n = 1, count do
    if found[n] then
      any = true
      if #found[n] % 6 ~= 0 then M.damaged('bucket', M.hex(keys[n])) end
    end
  end
  return found, keys, any
end
