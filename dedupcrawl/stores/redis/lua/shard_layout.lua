-- Where the bytes of a record lie, for the scripts of shard.lua. Another layout replaces this file and sharded/layout.py.
-- r: a hash of records. The field of a record is its id without the tag. The two bits of the tag that are in its first byte
-- are 0 for the first piece, 1 and 2 for others, and 3 for a field that is there while the record is a claim. The next two
-- bits say how many pieces there are; 0: the record is one value.

--@ piece_field
local function piece_field(id, number)
  return string.char(id:byte() + 64 * number) .. id:sub(2)
end

--@ split
-- Returns the first piece of a record, and fields and values of the others: as many as the id says, some maybe empty.
local function split(id, value)
  local count = math.floor(id:byte() / 16)
  if count < 2 then return value, {} end
  if count == 2 then return value:sub(1, 63), {piece_field(id, 1), value:sub(64)} end
  return value:sub(1, 63), {piece_field(id, 1), value:sub(64, 126), piece_field(id, 2), value:sub(127)}
end

--@ put_record
-- Files the record of a claim; mark is piece_field(id, 3). Returns whether the id was free.
local function put_record(r, id, value, mark)
  if id:byte() < 32 then -- one value
    if redis.call('HSETNX', r, id, value) == 0 then return false end
    redis.call('HSET', r, mark, '')
    return true
  end
  local first, others = split(id, value)
  if redis.call('HSETNX', r, id, first) == 0 then return false end
  redis.call('HSET', r, mark, '', unpack(others))
  return true
end

--@ amend_record
local function amend_record(r, id, value)
  local first, others = split(id, value)
  redis.call('HSET', r, id, first, unpack(others))
end

--@ get_record
-- Returns the record, and whether it is a claim; false if there is none.
local function get_record(r, id)
  local count, mark = math.floor(id:byte() / 16), piece_field(id, 3)
  if count < 2 then
    local there = redis.call('HMGET', r, id, mark)
    return there[1], there[2] and true
  end
  local there
  if count == 2 then
    there = redis.call('HMGET', r, id, mark, piece_field(id, 1))
  else
    there = redis.call('HMGET', r, id, mark, piece_field(id, 1), piece_field(id, 2))
  end
  if not there[1] then return false end
  return there[1] .. (there[3] or '') .. (there[4] or ''), there[2] and true
end

--@ seal_record
-- Makes the record of a claim permanent. Returns 1 if it was a claim.
local function seal_record(r, id)
  return redis.call('HDEL', r, piece_field(id, 3))
end

--@ drop_record
local function drop_record(r, id)
  redis.call('HDEL', r, id, piece_field(id, 1), piece_field(id, 2), piece_field(id, 3))
end

--@ is_record
-- Returns whether a field is that of a record: the first of its pieces.
local function is_record(field, size)
  return #field == size and field:byte() < 64
end
