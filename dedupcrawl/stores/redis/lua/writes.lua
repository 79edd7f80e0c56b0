function M.put_claim(id, held)
  redis.call('HSET', M.claims, id, held.owner .. held.serial .. string.char(held.state) .. M.pack(held.till))
end

function M.put_owner(token, known)
  -- Deleting it first lets a server that is out of memory accept the write: a lease must be renewed even then.
  redis.call('HDEL', M.owners, token)
  redis.call('HSET', M.owners, token, M.pack(known.till) .. M.pack(known.lost))
end

function M.numbers(first, count)
  local found = {}
  for n = first, first + count - 1 do found[#found + 1] = tonumber(ARGV[n]) end
  return found
end
