-- mark, serial, since, highest id known, lease, time to live, age, packed record, number of probes, number of keys
-- (-1: the keys are the probes), probes, keys
function M.offer()
  if redis.call('HGET', M.meta, 'mark') ~= ARGV[5] then error('DEDUPCRAWL emptied', 0) end
  local older, count, own = M.oldest(ARGV[10]), tonumber(ARGV[13]), tonumber(ARGV[14])
  local before, keys = M.fetch(15, count)
  local found, dead = M.search(before, tonumber(ARGV[7]), older)
  for _, hit in ipairs(found) do
    -- The answer to this very offer was lost on the way: it is asked a second time.
    if hit.claim and hit.claim.owner == M.me and hit.claim.serial == ARGV[6] then return {hit.id, {}} end
  end
  if #dead > 0 then M.clear(dead, before, keys) end
  if #found > 0 then return {0, M.answer(found)} end
  local expired = ARGV[10] ~= '' and M.expire(older) or 0
  if own >= 0 then
    before, keys = M.fetch(15 + count, own)
  elseif #dead + expired > 0 then
    before = M.fetch(15, count)
  end
  local id = M.next_id(tonumber(ARGV[8]))
  M.file(id, M.pack(math.max(0, M.now - tonumber(ARGV[11]))) .. ARGV[12], keys, before)
  M.put_claim(id, {owner = M.me, serial = ARGV[6], state = 1, till = M.now + tonumber(ARGV[9])})
  return {id, {}}
end
