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

-- Calls a function. If it finds a damaged value, that error is appended to the list; other errors are raised, and
-- those of the metadata, without which nothing can be changed.
function M.attempt(damaged, work, ...)
  local sound, result = pcall(work, ...)
  if sound then return result end
  local text = type(result) == 'table' and result.err or result
  local what = string.match(text, 'DEDUPCRAWL damaged (%a+)')
  if not what or what == 'meta' then error(result, 0) end
  damaged[#damaged + 1] = text
  return nil
end

-- Returns the record of this id, and the mark that it is a claim.
function M.marked_record(id)
  local there = redis.call('HMGET', M.records, id, M.mark_of(id))
  return M.checked_record(id, there[1]), there[2]
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

-- Returns the number at this place of a record, and where it ends; nil if the record is damaged.
function M.size(value, at)
  local number, factor = 0, 1
  for n = at, at + 3 do
    local byte = value:byte(n)
    if not byte then return nil end
    if byte < 128 then return number + byte * factor, n + 1 end
    number, factor = number + (byte - 128) * factor, factor * 128
  end
  return nil
end

-- Returns the number of keys, where they begin, and the size of the URL; nil if the record is damaged.
function M.sizes(value)
  local keys, after = M.size(value, M.SIZES_AT)
  if not keys then return nil end
  local url, start = M.size(value, after)
  return url and keys, start, url
end

-- Returns the packed URL of a record, which is at its end; "" if the record is damaged. No URL is packed to "".
function M.url_of(value)
  local keys, _, size = M.sizes(value)
  return keys and value:sub(#value - size + 1) or ''
end
