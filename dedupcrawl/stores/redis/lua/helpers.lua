function M.checked_bucket(key, ids)
  if ids and #ids % 6 ~= 0 then M.damaged('bucket', M.hex(key)) end
  return ids
end

function M.bucket(key)
  local ids = M.compact and redis.call('HGET', M.partition(key), key)
  return M.checked_bucket(key, ids or redis.call('HGET', M.buckets, key))
end

function M.damaged(what, where)
  error('DEDUPCRAWL damaged ' .. what .. ' <' .. where .. '>', 0)
end

function M.hex(bytes)
  return (string.gsub(bytes, '.', function(c) return string.format('%02x', c:byte()) end))
end

function M.first_id()
  return M.whole(redis.call('HGET', M.meta, 'first') or 1, 1, 'meta', 'first')
end

function M.last_id()
  return M.whole(redis.call('HGET', M.meta, 'last') or 0, 0, 'meta', 'last')
end

-- The URL of an encoded record is at its end, in front of the cluster.
function M.url_of(value)
  local function long(at)
    local a, b, c, d = value:byte(at, at + 3)
    return ((a * 256 + b) * 256 + c) * 256 + d
  end
  local size, cluster = long(23), long(27)
  return value:sub(#value - cluster - size + 1, #value - cluster)
end
