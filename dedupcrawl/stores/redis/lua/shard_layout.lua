-- Where the bytes of a record lie, for the scripts of shard.lua. Another layout replaces this file and sharded/layout.py.
-- r: hash of one tag: id (5 bytes) -> the record; the id and "o" -> empty, while the record is a claim.

--@ put_record
-- Files the record of a claim. Returns whether the id was free.
local function put_record(r, id, value)
  if redis.call('HSETNX', r, id, value) == 0 then return false end
  redis.call('HSET', r, id .. 'o', '')
  return true
end

--@ amend_record
local function amend_record(r, id, value)
  redis.call('HSET', r, id, value)
end

--@ get_record
-- Returns the record, and whether it is a claim; false if there is none.
local function get_record(r, id)
  local there = redis.call('HMGET', r, id, id .. 'o')
  return there[1], there[2] and true
end

--@ seal_record
-- Makes the record of a claim permanent. Returns 1 if it was a claim.
local function seal_record(r, id)
  return redis.call('HDEL', r, id .. 'o')
end

--@ drop_record
local function drop_record(r, id)
  redis.call('HDEL', r, id, id .. 'o')
end
