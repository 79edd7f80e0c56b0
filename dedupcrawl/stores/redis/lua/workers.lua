-- The statistics that workers publish: token -> time at which they were published, then what stores/workers.py encoded.
-- A lease must be renewed even if that key holds something else: hence pcall.
local KEPT, MOST = 3600000, 256 -- milliseconds that statistics are kept after a worker's end; maximum number of workers

M.workers = M.owners:sub(1, -7) .. 'workers'

-- Removes the statistics of ended workers that were published more than "age" milliseconds ago.
function M.tidy(age)
  local entries = redis.call('HGETALL', M.workers)
  if #entries > 2 * MOST then age = 0 end
  for n = 1, #entries, 2 do
    local token, published = entries[n], entries[n + 1]
    local known = redis.call('HGET', M.owners, token)
    local alive = known and #known == 12 and M.number(known, 1) > M.now
    local at = #published < 6 and 0 or M.number(published, 1)
    local is_late = at <= M.now - age or at > M.now + KEPT -- no worker publishes in the future
    if not alive and is_late then redis.call('HDEL', M.workers, token) end
  end
end

function M.publish(stats)
  if stats == '' then return end
  local new = redis.pcall('HSET', M.workers, M.me, M.pack(M.now) .. stats)
  if new == 1 then pcall(M.tidy, KEPT) end
end

-- Each new worker removes some owners that were killed long ago, so that their number is bounded where nobody prunes.
-- Their claims have ended with the leases, and do not need the owners.
function M.remove_some_owners()
  local some = redis.call('HRANDFIELD', M.owners, 20, 'WITHVALUES')
  for n = 1, #some, 2 do
    local long_ago = #some[n + 1] == 12 and M.number(some[n + 1], 1) <= M.now - KEPT
    if long_ago then redis.call('HDEL', M.owners, some[n]) end
  end
end

-- lease, number of lost claims that the worker knows of, its statistics ("": none): returns the number of lost claims
function M.renew()
  local known = M.owner(M.me)
  if not known then
    M.remove_some_owners()
    known = {lost = tonumber(ARGV[6]) + 1}
  end
  M.put_owner(M.me, {till = M.now + tonumber(ARGV[5]), lost = known.lost})
  M.publish(ARGV[7])
  return known.lost
end

-- lease, "1" for a new worker, its statistics ("": none): renews a lease that has not ended; returns whether it did
function M.lease()
  local known = M.owner(M.me)
  if ARGV[6] == '1' then
    M.remove_some_owners()
  elseif not (known and known.till > M.now) then
    return 0
  end
  M.put_owner(M.me, {till = M.now + tonumber(ARGV[5]), lost = 0})
  M.publish(ARGV[7])
  return 1
end

-- the worker's statistics: removes the worker from the owners
function M.leave()
  M.publish(ARGV[5])
  return redis.call('HDEL', M.owners, M.me)
end

-- removes the owners whose lease has ended, and the statistics of ended workers; returns the errors of damaged owners
function M.remove_owners()
  local tokens, damaged = redis.call('HKEYS', M.owners), {}
  for _, token in ipairs(tokens) do
    local known = token ~= M.me and M.attempt(damaged, M.owner, token)
    if known and known.till <= M.now then redis.call('HDEL', M.owners, token) end
  end
  pcall(M.tidy, 0)
  return damaged
end
