-- What an offer does if there are records under its lookup keys, or records to remove.

function M.unpack_ids(packed)
  local ids = {}
  for at = 1, #packed, 6 do ids[#ids + 1] = M.number(packed, at) end
  return ids
end

-- Whether this record was filed by the first call of the same offer.
function M.is_this(hit, record)
  if not M.lease then return not hit.claim and hit.value:sub(7) == record end
  return hit.claim and hit.claim.owner == M.me and hit.claim.serial == M.serial
end

-- Returns the answer to an offer that files nothing; or nil, and whether the tables have changed.
function M.existing(buckets, probes, own, record)
  local older = M.ttl and M.now - M.ttl or 0
  if M.is_again then
    for _, hit in ipairs((M.search(own, 0, 0))) do
      if M.is_this(hit, record) then return hit.id end
    end
  end
  local found, dead = M.search(buckets, M.since, older)
  if #found == 0 and M.superseded then M.plan(M.unpack_ids(M.superseded)) end -- fails on damage before anything is changed
  for n = #dead, M.BUCKET_CAP + 1, -1 do dead[n] = nil end -- the next offer removes the others: this call stays short
  if #dead > 0 then M.remove_dead(dead, probes) end
  if #found > 0 then return M.answer(found) end
  local expired = M.ttl and M.expire(older) or 0
  return nil, #dead + expired > 0
end
