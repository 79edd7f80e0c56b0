function M.held_by_me(ids)
  local found = {}
  for _, id in ipairs(ids) do
    local held = M.claim(id)
    if held and held.owner == M.me then found[#found + 1] = id end
  end
  return found
end

-- id: marks an own claim as scraped
function M.scraped()
  local held = M.claim(tonumber(ARGV[5]))
  if not held or held.owner ~= M.me then return 0 end
  held.state = M.SCRAPED
  redis.call('HDEL', M.claims, ARGV[5]) -- see put_owner
  M.put_claim(tonumber(ARGV[5]), held)
  return 1
end

-- number of claims, their ids, ids that they supersede: returns the committed ids
--
-- An own claim whose record has no mark is not committed: the server has evicted the record.
function M.commit()
  local count = tonumber(ARGV[5])
  local ids = M.numbers(6, count)
  local own, there = M.held_by_me(ids), {}
  if M.is_again then -- only its owner commits a claim: the first call has committed it, and its reply was lost
    for _, id in ipairs(ids) do
      local value, mark = M.marked_record(id)
      if value and not mark and not M.claim(id) then there[#there + 1] = id end
    end
  end
  local superseded
  if #own + #there > 0 and #ARGV > 5 + count then superseded = M.plan(M.numbers(6 + count, #ARGV - 5 - count)) end
  local committed = {}
  for _, id in ipairs(own) do
    if redis.call('HDEL', M.records, M.mark_of(id)) == 1 then
      there[#there + 1] = id
      committed[id] = true
    end
    redis.call('HDEL', M.claims, id)
  end
  if superseded and #there > 0 then
    for _, each in ipairs(superseded.doomed) do
      if committed[each.id] then each.claim = nil end
    end
    M.remove(superseded)
  end
  return there
end

-- Repeats M.commit, after a first call that may have committed some of the claims.
function M.commit_again()
  M.is_again = true
  return M.commit()
end

-- ids: withdraws own claims, returns their ids
function M.release()
  local own = M.held_by_me(M.numbers(5, #ARGV - 4))
  M.withdraw(own)
  return own
end

-- cursor, serial numbers of offers that got no reply: withdraws their claims, returns the next cursor
function M.withdraw_offers()
  local unconfirmed, own = {}, {}
  for n = 6, #ARGV do unconfirmed[ARGV[n]] = true end
  local page = redis.call('HSCAN', M.claims, ARGV[5], 'COUNT', 500)
  for n = 1, #page[2], 2 do
    local value = page[2][n + 1]
    if value:sub(1, 8) == M.me and unconfirmed[value:sub(9, 14)] then own[#own + 1] = tonumber(page[2][n]) end
  end
  M.withdraw(own)
  return page[1]
end

-- ids: returns those that are own claims
function M.own_claims()
  return M.held_by_me(M.numbers(5, #ARGV - 4))
end

-- mark, scheme ("": do not create the namespace), secret ("": none): returns those that the namespace has, and the highest
-- id given
function M.open_namespace()
  local there = redis.call('HMGET', M.meta, 'mark', 'scheme', 'secret', 'last')
  if not there[1] and not there[2] and ARGV[6] ~= '' then
    there = {ARGV[5], ARGV[6], ARGV[7], there[4]}
    redis.call('HSET', M.meta, 'mark', there[1], 'scheme', there[2], 'secret', there[3])
  end
  return there
end
