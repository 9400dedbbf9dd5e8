"""What Redis does in one step, in its own language.

A script is atomic and is refused as a whole when memory is short, so ``all or none`` and ``only what is mine`` hold
without a transaction in the client. The keys:

* a queue is a stream under its own name, read by one consumer group. A message that is done is deleted, and nothing
  else ever trims it: its length is what waits and what is in somebody's hands;
* what a consumer gave back is pending under the name ``BACK`` and is taken before anything newer: its place, its id
  and its count of deliveries stay;
* dead letters are a stream beside the queue, capped: only the newest matter;
* a box is a stream under its own name; ``index`` (a sorted set) knows every box and when it last grew, so that nothing
  ever has to walk the key space;
* ``queues`` (a set) knows every queue, for the same reason.

A group is made by whoever finds it missing, from the first entry of the stream: after Redis came back empty, producers
may have been quicker than consumers.
"""

GROUP = "takers"
BACK = "(given back)"
DEAD = ".dead"

_NAMES = f"local GROUP, BACK, DEAD = '{GROUP}', '{BACK}', '{DEAD}'\n"

# KEYS queue, queues; ARGV cap, messages… -> 1, or 0 when there is no room for all of them.
SEND = """
if redis.call('XLEN', KEYS[1]) + #ARGV - 1 > tonumber(ARGV[1]) then return 0 end
redis.call('SADD', KEYS[2], KEYS[1])
for i = 2, #ARGV do redis.call('XADD', KEYS[1], '*', 'data', ARGV[i]) end
return 1
"""

# KEYS queues, queue…; ARGV consumer, limit -> for each queue with any: {queue, {{id, deliveries, data}…}}
TAKE = (
    _NAMES
    + """
local consumer, left = ARGV[1], tonumber(ARGV[2])

local function given_back(queue, found)
  local pending = redis.pcall('XPENDING', queue, GROUP, '-', '+', left, BACK)
  for _, one in ipairs(pending.err and {} or pending) do
    local entry = redis.call('XCLAIM', queue, GROUP, consumer, 0, one[1])[1]
    if entry then
      found[#found + 1] = {entry[1], one[4] + 1, entry[2][2]}
      left = left - 1
    else
      redis.call('XACK', queue, GROUP, one[1])
    end
  end
end

local function fresh(queue, found)
  local got = redis.pcall('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', left, 'STREAMS', queue, '>')
  if got and got.err then
    if not string.find(got.err, 'NOGROUP') then return got end
    redis.call('SADD', KEYS[1], queue)
    redis.call('XGROUP', 'CREATE', queue, GROUP, '0', 'MKSTREAM')
    got = redis.call('XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', left, 'STREAMS', queue, '>')
  end
  for _, entry in ipairs(got and got[1][2] or {}) do
    found[#found + 1] = {entry[1], 1, entry[2][2]}
    left = left - 1
  end
end

local all = {}
for i = 2, #KEYS do
  local found = {}
  given_back(KEYS[i], found)
  local failed = left > 0 and fresh(KEYS[i], found)
  if failed then return failed end
  if #found > 0 then all[#all + 1] = {KEYS[i], found} end
  if left == 0 then break end
end
return all
"""
)

# KEYS queue; ARGV consumer, ids… -> how many were this consumer's, and wait as if they had never been taken.
UNTAKE = (
    _NAMES
    + """
local back = 0
for i = 2, #ARGV do
  local mine = redis.pcall('XPENDING', KEYS[1], GROUP, ARGV[i], ARGV[i], 1, ARGV[1])
  if mine.err then return 0 end
  if #mine > 0 then
    redis.call('XCLAIM', KEYS[1], GROUP, BACK, 0, ARGV[i], 'RETRYCOUNT', mine[1][4] - 1, 'JUSTID')
    back = back + 1
  end
end
return back
"""
)

# KEYS queue; ARGV consumer -> the ids of all that it has.
HELD = (
    _NAMES
    + """
local count = redis.call('XLEN', KEYS[1])
local pending = count > 0 and redis.pcall('XPENDING', KEYS[1], GROUP, '-', '+', count, ARGV[1]) or {}
local ids = {}
for _, one in ipairs(pending.err and {} or pending) do ids[#ids + 1] = one[1] end
return ids
"""
)

# KEYS queue; ARGV consumer, ids… -> how many were this consumer's, and are gone now.
DONE = (
    _NAMES
    + """
local gone = 0
for i = 2, #ARGV do
  local mine = redis.pcall('XPENDING', KEYS[1], GROUP, ARGV[i], ARGV[i], 1, ARGV[1])
  if mine.err then return 0 end
  if #mine > 0 then
    redis.call('XACK', KEYS[1], GROUP, ARGV[i])
    redis.call('XDEL', KEYS[1], ARGV[i])
    gone = gone + 1
  end
end
return gone
"""
)

# KEYS queue, dead letters; ARGV consumer, to_dead_after, at most, cap of dead letters
# -> how many it has let go of; fewer than "at most" means that it has none any more.
GIVE_BACK = (
    _NAMES
    + """
local pending = redis.pcall('XPENDING', KEYS[1], GROUP, '-', '+', ARGV[3], ARGV[1])
if pending.err then return {0, 0} end
local buried = 0
for _, one in ipairs(pending) do
  if one[4] >= tonumber(ARGV[2]) then
    local entry = redis.call('XRANGE', KEYS[1], one[1], one[1])[1]
    if entry then
      redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[4], '*', unpack(entry[2]))
      buried = buried + 1
    end
    redis.call('XACK', KEYS[1], GROUP, one[1])
    redis.call('XDEL', KEYS[1], one[1])
  elseif #redis.call('XCLAIM', KEYS[1], GROUP, BACK, 0, one[1], 'JUSTID') == 0 then
    redis.call('XACK', KEYS[1], GROUP, one[1])
  end
end
-- Whatever is pending would go with its consumer, and nobody would ever see it again.
if #redis.call('XPENDING', KEYS[1], GROUP, '-', '+', 1, ARGV[1]) == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], GROUP, ARGV[1])
end
return {#pending, buried}
"""
)

# KEYS queue, dead letters; ARGV cap of dead letters, id, text: a message nobody can read.
BURY = (
    _NAMES
    + """
redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[1], '*', 'data', ARGV[3])
redis.call('XACK', KEYS[1], GROUP, ARGV[2])
return redis.call('XDEL', KEYS[1], ARGV[2])
"""
)

# KEYS queue, dead letters; ARGV consumer, cap of dead letters, ids… -> how many were this consumer's, and are dead now.
BURY_HELD = (
    _NAMES
    + """
local buried = 0
for i = 3, #ARGV do
  local mine = redis.pcall('XPENDING', KEYS[1], GROUP, ARGV[i], ARGV[i], 1, ARGV[1])
  if mine.err then return buried end
  if #mine > 0 then
    local entry = redis.call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
    if entry then redis.call('XADD', KEYS[2], 'MAXLEN', ARGV[2], '*', unpack(entry[2])) end
    redis.call('XACK', KEYS[1], GROUP, ARGV[i])
    redis.call('XDEL', KEYS[1], ARGV[i])
    buried = buried + 1
  end
end
return buried
"""
)

# KEYS queue -> {in nobody's hands, consumer, count, consumer, count…}
HANDS = (
    _NAMES
    + """
local waiting = redis.call('XLEN', KEYS[1])
local groups = redis.pcall('XPENDING', KEYS[1], GROUP)
local all = {waiting}
if groups.err or not groups[4] then return all end
for _, one in ipairs(groups[4]) do
  if one[1] ~= BACK then
    all[1] = all[1] - one[2]
    all[#all + 1] = one[1]
    all[#all + 1] = tonumber(one[2])
  end
end
all[1] = math.max(all[1], 0)
return all
"""
)

# KEYS index, box…; ARGV cap, channel of the news, names of the boxes as JSON, then for each box: count, messages…
# -> the boxes that have no room, which got nothing.
POST = """
local at, full = 4, {}
for i = 2, #KEYS do
  local count = tonumber(ARGV[at])
  if redis.call('XLEN', KEYS[i]) + count > tonumber(ARGV[1]) then
    full[#full + 1] = KEYS[i]
  else
    local last
    for k = at + 1, at + count do last = redis.call('XADD', KEYS[i], '*', 'data', ARGV[k]) end
    if last then redis.call('ZADD', KEYS[1], string.match(last, '^%d+'), KEYS[i]) end
  end
  at = at + count + 1
end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return full
"""

# KEYS index; ARGV milliseconds, at most -> how many boxes were forgotten; their keys are known only here.
CLEAN_BOXES = """
local now = redis.call('TIME')
local before = now[1] * 1000 + math.floor(now[2] / 1000) - tonumber(ARGV[1])
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', before), 'LIMIT', 0, ARGV[2])
for _, box in ipairs(old) do
  redis.call('UNLINK', box)
  redis.call('ZREM', KEYS[1], box)
end
return #old
"""

# KEYS queue, dead letters; ARGV milliseconds -> how many dead letters were forgotten. Consumers that hold nothing and
# have not asked for so long are forgotten too: every process is a new one.
CLEAN_QUEUE = (
    _NAMES
    + """
local consumers = redis.pcall('XINFO', 'CONSUMERS', KEYS[1], GROUP)
for _, one in ipairs(consumers.err and {} or consumers) do
  local of = {}
  for i = 1, #one, 2 do of[one[i]] = one[i + 1] end
  if of.pending == 0 and of.idle >= tonumber(ARGV[1]) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], GROUP, of.name)
  end
end
local now = redis.call('TIME')
local before = now[1] * 1000 + math.floor(now[2] / 1000) - tonumber(ARGV[1])
return redis.call('XTRIM', KEYS[2], 'MINID', string.format('%.0f', before + 1))
"""
)
