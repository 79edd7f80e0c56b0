function M.oldest(ttl)
  return ttl == '' and 0 or M.now - tonumber(ttl)
end

-- Returns the live record of this id with its value and claim; nil if there is none. mark: whether it is a claim.
function M.live(id, value, mark, claim, since)
  if not M.checked_record(id, value) or M.number(value, 1) < since then return nil end
  local held = mark and M.checked_claim(id, claim)
  if mark and not (held and M.is_held(held)) then return nil end
  return {id = id, value = value, claim = held or nil}
end

function M.candidate(id, since)
  local value, mark = M.marked_record(id)
  return M.live(id, value, mark, mark and redis.call('HGET', M.claims, id), since)
end

-- Returns id, value, state, and 1 for an own claim. Behind a scraped claim of another worker stand its token, and the time up
-- to which it has renewed its claims: whoever sees this time change has seen the worker alive.
function M.answer(hits)
  local found = {}
  for _, hit in ipairs(hits) do
    local held = hit.claim
    local mine = held and held.owner == M.me
    local answer = {hit.id, hit.value, held and held.state or M.COMMITTED, mine and 1 or 0}
    if held and held.state == M.SCRAPED and not mine then
      local sound, till = pcall(M.renewed_till, held.owner)
      answer[5], answer[6] = held.owner, sound and till or 0
    end
    found[#found + 1] = answer
  end
  return found
end

-- Examines ids that were not met before, with one command for all records, and one for all claims if there are any.
function M.examine(ids, older, met, found, dead)
  if #ids == 0 then return end
  local fields = {}
  for n, id in ipairs(ids) do fields[2 * n - 1], fields[2 * n] = id, M.mark_of(id) end
  local there = redis.call('HMGET', M.records, unpack(fields))
  local any = false
  for n = 1, #ids do any = any or there[2 * n] end
  local claims = any and redis.call('HMGET', M.claims, unpack(ids)) or {}
  for n, id in ipairs(ids) do
    local hit = M.live(id, there[2 * n - 1], there[2 * n], claims[n], older)
    met[id] = hit or false
    if hit then found[#found + 1] = hit else dead[#dead + 1] = id end
  end
end

-- Returns the newest live records of each bucket, by rising id, and the ids of dead records that were met.
function M.search(buckets, since, older)
  local met, found, dead = {}, {}, {}
  for _, ids in ipairs(buckets) do
    local live, at = 0, ids and #ids - 5 or 0
    local last = math.max(1, at - 6 * (M.SCAN_CAP - 1))
    while at >= last and live < M.BUCKET_CAP do
      local some, new = {}, {}
      while at >= last and #some < M.BUCKET_CAP - live do
        local id = M.number(ids, at)
        at = id > since and at - 6 or 0
        if id > since then
          some[#some + 1] = id
          if met[id] == nil then new[#new + 1] = id end
        end
      end
      M.examine(new, older, met, found, dead)
      for _, id in ipairs(some) do
        if met[id] then live = live + 1 end
      end
    end
  end
  if #found > 1 then table.sort(found, function(a, b) return a.id < b.id end) end
  return found, dead
end
