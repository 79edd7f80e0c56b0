function M.checked_record(id, value)
  if value and #value < M.SHORTEST then M.damaged('record', id) end
  return value
end

function M.checked_claim(id, value)
  if not value then return nil end
  if #value ~= 21 then M.damaged('claim', id) end
  return {owner = value:sub(1, 8), serial = value:sub(9, 14), state = value:byte(15), till = M.number(value, 16)}
end

function M.record(id)
  return M.checked_record(id, redis.call('HGET', M.records, id))
end

function M.claim(id)
  return M.checked_claim(id, redis.call('HGET', M.claims, id))
end

function M.owner(token)
  local value = redis.call('HGET', M.owners, token)
  if not value then return nil end
  if #value ~= 12 then M.damaged('owner', M.hex(token)) end
  return {till = M.number(value, 1), lost = M.number(value, 7)}
end

-- Returns the time up to which a worker has renewed its claims, 0 for one that is unknown.
function M.renewed_till(token)
  M.renewed = M.renewed or {}
  if M.renewed[token] == nil then
    local known = M.owner(token)
    M.renewed[token] = known and known.till or 0
  end
  return M.renewed[token]
end

-- A worker that asks is alive: its own claims are held, even if it was too late to renew them.
function M.is_held(held)
  return M.now < held.till or held.owner == M.me or M.now < M.renewed_till(held.owner)
end
