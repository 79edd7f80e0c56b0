-- What workers say of themselves: token -> moment it was said, then what stores/workers.py packed, which nobody reads
-- here. Whatever stands under that key, leases are renewed: hence pcall.
--   LINGERS  milliseconds for which it stays after a worker's end, for whoever watches
--   MOST     workers of which it stays at most
local LINGERS, MOST = 3600000, 256

M.workers = M.owners:sub(1, -7) .. 'workers'

function M.tidy(age)
  local entries = redis.call('HGETALL', M.workers)
  if #entries > 2 * MOST then age = 0 end
  for n = 1, #entries, 2 do
    local token, said = entries[n], entries[n + 1]
    local known = redis.call('HGET', M.owners, token)
    local lives = known and #known == 12 and M.number(known, 1) > M.now
    local at = #said < 6 and 0 or M.number(said, 1)
    local is_late = at <= M.now - age or at > M.now + LINGERS -- none of ours is told in the future
    if not lives and is_late then redis.call('HDEL', M.workers, token) end
  end
end

function M.publish(figures)
  if figures == '' then return end
  local new = redis.pcall('HSET', M.workers, M.me, M.pack(M.now) .. figures)
  if new == 1 then pcall(M.tidy, LINGERS) end
end

-- Whoever comes removes some of those that were killed long ago, so that their number stays within bounds where nobody
-- prunes. Their claims ended with the leases, and do so without them.
function M.bury_some()
  local some = redis.call('HRANDFIELD', M.owners, 20, 'WITHVALUES')
  for n = 1, #some, 2 do
    local long_ago = #some[n + 1] == 12 and M.number(some[n + 1], 1) <= M.now - LINGERS
    if long_ago then redis.call('HDEL', M.owners, some[n]) end
  end
end

-- lease, how many were known to be lost, what it says of itself ("": nothing)
function M.renew()
  local known = M.owner(M.me)
  if not known then
    M.bury_some()
    known = {lost = tonumber(ARGV[6]) + 1}
  end
  M.put_owner(M.me, {till = M.now + tonumber(ARGV[5]), lost = known.lost})
  M.publish(ARGV[7])
  return known.lost
end

-- what it says of itself
function M.leave()
  M.publish(ARGV[5])
  return redis.call('HDEL', M.owners, M.me)
end

-- owners whose lease ended, and what those have said that are no more
function M.bury()
  local tokens = redis.call('HKEYS', M.owners)
  for _, token in ipairs(tokens) do
    if token ~= M.me and M.owner(token).till <= M.now then redis.call('HDEL', M.owners, token) end
  end
  pcall(M.tidy, 0)
  return 0
end
