-- time to live, packed keys: returns the live records
function M.find()
  local buckets = M.fetch(ARGV[6])
  return M.answer((M.search(buckets, 0, M.oldest(ARGV[5]))))
end

-- time to live, packed keys, mark: returns the live records that the client has already, those that it lacks, and how many
-- dead records were met. The client has those up to the mark. Of each of them it gets 12 bytes: id, CRC of the record, state,
-- and 1 for an own claim. A scraped claim of another worker is always sent, since its lease goes with it.
function M.find_new()
  local buckets = M.fetch(ARGV[6])
  local found, dead = M.search(buckets, 0, M.oldest(ARGV[5]))
  local mark, rows, lacking = tonumber(ARGV[7]), {}, {}
  for _, hit in ipairs(found) do
    local held = hit.claim
    local mine, state = held and held.owner == M.me, held and held.state or M.COMMITTED
    if hit.id > mark or state < 1 or state > M.COMMITTED or (state == M.SCRAPED and not mine) then
      lacking[#lacking + 1] = hit
    else
      rows[#rows + 1] = M.pack(hit.id) .. hit.value:sub(8, 11) .. string.char(state, mine and 1 or 0)
    end
  end
  return {table.concat(rows), M.answer(lacking), #dead}
end

-- time to live, packed ids: returns the live records
function M.get_many()
  local found = {}
  for at = 1, #ARGV[6], 6 do found[#found + 1] = M.candidate(M.number(ARGV[6], at), M.oldest(ARGV[5])) end
  return M.answer(found)
end

-- time to live, id: returns the live record
function M.get()
  return M.answer({M.candidate(tonumber(ARGV[6]), M.oldest(ARGV[5]))})
end

-- time to live, key of the URL, URL: returns its newest live record
function M.lookup()
  local ids = M.bucket(ARGV[6]) or ''
  for at = #ids - 6 + 1, 1, -6 do
    local hit = M.candidate(M.number(ids, at), M.oldest(ARGV[5]))
    if hit and M.url_of(hit.value) == ARGV[7] then return M.answer({hit}) end
  end
  return {}
end

-- time to live, start: returns the id to go on with (-1: at the end), a batch of live records, and the errors of damaged
-- ones
function M.list_records()
  local start, last, found, damaged = math.max(tonumber(ARGV[6]), M.first_id()), M.last_id(), {}, {}
  local stop = math.min(last, start + 2047)
  local id = start
  while id <= stop and #found < 256 do
    found[#found + 1] = M.attempt(damaged, M.candidate, id, M.oldest(ARGV[5]))
    id = id + 1
  end
  return {id > last and -1 or id, M.answer(found), damaged}
end

-- step, start: returns 0 and the time of the first readable record from there on, or the id to go on with (-1: at the end)
function M.edge_time()
  local step, id, last = tonumber(ARGV[5]), tonumber(ARGV[6]), M.last_id()
  if id == 0 then id = step > 0 and M.first_id() or last end
  for _ = 1, 4096 do
    if id < 1 or id > last then return {-1, 0} end
    local value = redis.call('HGET', M.records, id)
    if value and #value >= M.SHORTEST then return {0, M.number(value, 1)} end
    id = id + step
  end
  return {id, 0}
end

-- cursor: returns the next cursor, how many of a batch of claims are open, scraped, and past their lease, and the ids of
-- damaged ones, which count as open
function M.count_claims()
  local page, counts, ended = redis.call('HSCAN', M.claims, ARGV[5], 'COUNT', 200), {0, 0}, 0
  local damaged = {}
  for n = 1, #page[2], 2 do
    local value = page[2][n + 1]
    local held = #value == 21 and {owner = value:sub(1, 8), state = value:byte(15), till = M.number(value, 16)}
    if not held or not counts[held.state] then
      counts[1] = counts[1] + 1
      damaged[#damaged + 1] = page[2][n]
    else
      counts[held.state] = counts[held.state] + 1
      local sound, is_held = pcall(M.is_held, held)
      if sound and not is_held then ended = ended + 1 end
    end
  end
  return {page[1], counts[1], counts[2], ended, damaged}
end
