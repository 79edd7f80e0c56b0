-- Lua's stack holds a few thousand values: many keys are read one by one.
function M.read_buckets(keys)
  if M.compact then return M.read_partitions(keys) end
  if #keys <= 1000 then return #keys > 0 and redis.call('HMGET', M.buckets, unpack(keys)) or {} end
  local found = {}
  for n, key in ipairs(keys) do found[n] = redis.call('HGET', M.buckets, key) end
  return found
end

-- Few keys are cut with one call, which takes a third of the time of as many calls of "sub".
function M.cut(packed)
  local count = #packed / 6
  if count <= 100 then
    local format = M.formats[count] or string.rep('c6', count)
    M.formats[count] = format
    local keys = {struct.unpack(format, packed)}
    keys[count + 1] = nil -- the place behind the last key
    return keys
  end
  local keys = {}
  for n = 1, count do keys[n] = packed:sub(6 * n - 5, 6 * n) end
  return keys
end

-- Returns the buckets of packed keys (false for one that does not exist), the keys, and whether any bucket exists.
function M.fetch(packed)
  local keys, any = M.cut(packed), false
  local found = M.read_buckets(keys)
  for n = 1, #keys do
    local ids = found[n]
    if ids then
      any = true
      if #ids % 6 ~= 0 then M.damaged('bucket', M.hex(keys[n])) end
    end
  end
  return found, keys, any
end
