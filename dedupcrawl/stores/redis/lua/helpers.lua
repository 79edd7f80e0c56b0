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
function M.count(value, at)
  local number = value:byte(at)
  if number ~= 255 then return number, at + 1 end
  if #value < at + 4 then return nil end
  return struct.unpack('>I4', value, at + 1), at + 5
end

-- Returns the number of keys, and where they begin; nil if the record is damaged.
function M.keys_in(value)
  local count, start = M.count(value, M.KEYS_AT)
  return count and #value >= start - 1 + 6 * count and count, start
end

-- Returns the packed URL of a record, which is at its end; "" if the record is damaged. No URL is packed to "".
function M.url_of(value)
  local keys, start = M.keys_in(value)
  if not keys then return '' end
  local head, at = value:byte(7) % 32, start + 6 * keys
  local parts, total = head % 8, 0
  if parts == 7 then parts, at = M.count(value, at) end
  if not parts then return '' end
  parts = parts + math.floor(head / 8) % 2 + math.floor(head / 16)
  for _ = 1, parts do
    local size
    size, at = M.count(value, at)
    if not size then return '' end
    total = total + size
  end
  return value:sub(at + total)
end
