-- time to live, probes
function M.find()
  local found = M.search(M.fetch(6, #ARGV - 5), 0, M.oldest(ARGV[5]))
  return M.answer(found)
end

-- time to live, id
function M.get()
  return M.answer({M.candidate(tonumber(ARGV[6]), M.oldest(ARGV[5]))})
end

-- time to live, key of the URL, URL
function M.lookup()
  local ids = M.bucket(ARGV[6]) or ''
  for at = #ids - 6 + 1, 1, -6 do
    local hit = M.candidate(M.number(ids, at), M.oldest(ARGV[5]))
    if hit and M.url_of(hit.value) == ARGV[7] then return M.answer({hit}) end
  end
  return {}
end

-- time to live, start: some live records and the id to go on with (-1: at the end)
function M.walk()
  local start, last, found = math.max(tonumber(ARGV[6]), M.first_id()), M.last_id(), {}
  local stop = math.min(last, start + 2047)
  local id = start
  while id <= stop and #found < 256 do
    found[#found + 1] = M.candidate(id, M.oldest(ARGV[5]))
    id = id + 1
  end
  return {id > last and -1 or id, M.answer(found)}
end

-- step, start: the moment of the first record from there on, or the id to go on with
function M.edge()
  local step, id, last = tonumber(ARGV[5]), tonumber(ARGV[6]), M.last_id()
  if id == 0 then id = step > 0 and M.first_id() or last end
  for _ = 1, 4096 do
    if id < 1 or id > last then return {-1, 0} end
    local value = M.record(id)
    if value then return {0, M.number(value, 1)} end
    id = id + step
  end
  return {id, 0}
end
