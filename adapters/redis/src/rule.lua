-- The quota rule: decides a batch of requests, account by account, and returns the verdicts.
--
-- It restates `Windows::take`, `Windows::without_misplaced`, `Strikes::strike` and `BanPolicy::next_ban` of the domain. A test compares both on random
-- requests.
--
-- KEYS: one hash for each account of the batch. Its field `w` has both windows, and a further byte once one of the account's
-- keys had a refusal. The field of such a key (its id in 8 bytes) has the key's strikes, its last ban and its last lift.
-- ARGV[1]: the policies, then for each account the number of its groups and the groups, as `packing.rs` writes them. A
-- group is a number of equal requests. Their verdicts are those of the same requests one after the other.
-- Times and durations are in milliseconds, except for the ends of windows, which are in seconds.

local pack, unpack_from, call = struct.pack, struct.unpack, redis.call
local floor, max, min = math.floor, math.max, math.min

-- Before every time that a request can have.
local NEVER = -1e15
-- The last time that the domain can represent.
local LAST = 253402300799999
local MINUTE, DAY = 60, 86400
-- The difference between the clocks of Redis and of a node up to which they agree, in milliseconds.
local SKEW = 2000
-- The minimum time in seconds for which a hash is kept after it was created, and after a day of its windows began. It is
-- longer than that day.
local KEPT = 2 * DAY
-- The maximum of that time, for bans that are remembered longer.
local KEPT_MAX = 3650 * DAY

-- One admitted request.
local ONE = pack('>BI2', 0, 1)

local input, at = ARGV[1], 1
local output = {}
-- The windows of the last time that was seen. Most requests of a batch have the same time.
local last_now, now_minute, now_day, last_minute, last_day

-- The policies: limits, number of strikes, and lengths of bans.
local policies, number = {}, nil
number, at = unpack_from('>I2', input, at)
for index = 1, number do
  local policy = {}
  policy.minute, policy.day, policy.strikes, policy.length, policy.memory, policy.length_max, at =
    unpack_from('>I4I4I4ddd', input, at)
  policies[index] = policy
end

-- Reads the field of a key.
local function conduct_of(text)
  if not text then
    return nil
  end
  local conduct = {}
  conduct.reset, conduct.strikes, conduct.since, conduct.ends, conduct.length, conduct.lifted, conduct.recorded =
    unpack_from('>dI4ddddd', text)
  return conduct
end

local function packed_conduct(conduct)
  return pack('>dI4ddddd', conduct.reset, conduct.strikes, conduct.since, conduct.ends, conduct.length, conduct.lifted,
    conduct.recorded)
end

-- Begins the ban of a key at `now`.
local function ban(conduct, policy, now)
  local length = policy.length
  if conduct.since ~= NEVER and max(now - conduct.since, 0) < max(policy.memory, 2 * conduct.length) then
    length = 2 * conduct.length
  end
  length = min(length, policy.length_max)
  local since = now
  if conduct.lifted ~= NEVER then
    since = max(now, min(conduct.lifted + 1, LAST))
  end
  conduct.since, conduct.ends, conduct.length = since, min(now + length, LAST), length
  conduct.reset, conduct.strikes = 0, 0
end

for index = 1, #KEYS do
  local account = KEYS[index]
  local groups
  groups, at = unpack_from('>I2', input, at)
  local is_new, kept = false, 0
  -- The windows: number and count of the minute, and of the day. After a request was counted also in their packed form.
  local minute, minute_used, day, day_used, windows
  -- The conduct of the keys that were read, and of those that were changed.
  local has_conduct, known, changed = false, nil, nil

  for _ = 1, groups do
    local key, policy_index, flags, count, now
    key, policy_index, flags, count, now, at = unpack_from('>c8I2BI2d', input, at)
    local policy = policies[policy_index]
    -- Bit 0: the request has a cost. Bit 1: the ban is not checked. Bits 2 and 3: two more numbers follow. Bits 4 and 5: the
    -- request costs all that is left of the minute, or of the day.
    -- Bit 6: the node's clock agrees with this one, so a window that is further ahead is replaced.
    local has_cost, is_checked, recorded, lifted = true, true, NEVER, NEVER
    local ends_minute, ends_day = false, false
    local is_confirmed = flags >= 64
    if is_confirmed then
      flags = flags - 64
    end
    if flags ~= 1 then
      has_cost, is_checked = flags % 2 >= 1, flags % 4 < 2
      if flags % 8 >= 4 then
        recorded, at = unpack_from('>d', input, at)
      end
      ends_minute, ends_day = flags % 32 >= 16, flags >= 32
      if flags % 16 >= 8 then
        lifted, at = unpack_from('>d', input, at)
      end
    end

    if not minute then
      local stored = call('HGET', account, 'w')
      if stored then
        minute, minute_used, day, day_used = unpack_from('>I4I4I4I4', stored)
        has_conduct = #stored > 16
      else
        minute, minute_used, day, day_used, is_new = 0, 0, 0, 0, true
      end
    end
    local conduct
    if has_conduct then
      known = known or {}
      conduct = known[key]
      if conduct == nil then
        conduct = conduct_of(call('HGET', account, key)) or false
        known[key] = conduct
      end
    end

    -- The windows in force. A window is replaced by an earlier one only if two clocks say that a wrong one has begun it.
    if now ~= last_now then
      last_now, now_minute, now_day = now, max(floor(now / (MINUTE * 1000)), 0), max(floor(now / (DAY * 1000)), 0)
      last_minute = max((now + SKEW) / (MINUTE * 1000) + 1, now_minute)
      last_day = max((now + SKEW) / (DAY * 1000) + 1, now_day)
    end
    local this_minute, in_minute, this_day, in_day = now_minute, minute_used, now_day, day_used
    if this_minute > minute or is_confirmed and minute > last_minute then
      in_minute = 0
    else
      this_minute = minute
    end
    if this_day > day or is_confirmed and day > last_day then
      in_day = 0
    else
      this_day = day
    end

    while count > 0 do
      local ends, own = recorded, nil
      if conduct and now < conduct.ends and conduct.since > max(lifted, conduct.lifted) then
        own = conduct
        ends = max(ends, own.ends)
      end
      if is_checked and now < ends then
        if own and recorded < own.ends then
          output[#output + 1] = pack('>BI2dddd', 3, count, ends, own.since, own.ends, own.length)
        else
          output[#output + 1] = pack('>BI2d', 2, count, ends)
        end
        break
      end
      if ends_minute or ends_day then
        if ends_minute then
          in_minute = max(in_minute, policy.minute)
        else
          in_day = max(in_day, policy.day)
        end
        if this_day > day then
          kept = max(kept, KEPT)
        end
        minute, minute_used, day, day_used = this_minute, in_minute, this_day, in_day
        windows = pack('>I4I4I4I4', minute, minute_used, day, day_used)
      end
      if not has_cost then
        output[#output + 1] = pack('>BI2I4I4I4I4', 0, count, this_minute, in_minute, this_day, in_day)
        break
      end

      local decided = min(count, policy.minute - in_minute, policy.day - in_day)
      if decided > 0 then
        if this_day > day then
          kept = max(kept, KEPT)
        end
        in_minute, in_day = in_minute + decided, in_day + decided
        minute, minute_used, day, day_used = this_minute, in_minute, this_day, in_day
        windows = pack('>I4I4I4I4', minute, minute_used, day, day_used)
        output[#output + 1] = decided == 1 and ONE or pack('>BI2', 0, decided)
        output[#output + 1] = windows
      else
        -- A refusal is a strike of the key. The day decides if both windows are exhausted.
        local reset = (this_minute + 1) * MINUTE
        if in_day >= policy.day then
          reset = (this_day + 1) * DAY
        end
        if not conduct then
          conduct = { reset = 0, strikes = 0, since = NEVER, ends = NEVER, length = 0, lifted = NEVER, recorded = NEVER }
          known = known or {}
          known[key] = conduct
          has_conduct = true
        end
        changed = changed or {}
        changed[key] = conduct
        if conduct.lifted < lifted then
          conduct.lifted, conduct.strikes = lifted, 0
        end
        if recorded > max(conduct.ends, conduct.recorded) then
          -- Another quota store has decided this ban, which clears the strikes, too.
          conduct.recorded, conduct.strikes = recorded, 0
        end
        if conduct.reset ~= reset then
          conduct.strikes = 0
        end
        decided = min(count, policy.strikes - conduct.strikes)
        if decided > 0 then
          conduct.reset, conduct.strikes = reset, conduct.strikes + decided
          output[#output + 1] = pack('>BI2I4I4I4I4', 1, decided, this_minute, in_minute, this_day, in_day)
        else
          decided = 1
          ban(conduct, policy, now)
          -- The length of the next ban depends on this one.
          kept = max(kept, (max(policy.memory, 2 * conduct.length) + conduct.length) / 1000)
          output[#output + 1] = pack('>BI2dddd', 4, 1, conduct.ends, conduct.since, conduct.ends, conduct.length)
        end
      end
      count = count - decided
    end
  end

  if windows or changed then
    windows = windows or pack('>I4I4I4I4', minute, minute_used, day, day_used)
    if has_conduct then
      windows = windows .. '\1'
    end
    if changed then
      local fields = { 'w', windows }
      for key, conduct in pairs(changed) do
        fields[#fields + 1] = key
        fields[#fields + 1] = packed_conduct(conduct)
      end
      call('HSET', account, unpack(fields))
    else
      call('HSET', account, 'w', windows)
    end
    if is_new then
      kept = max(kept, KEPT)
    end
    -- A ban may have set a longer time before. Redis 6.2 has no `EXPIRE ... GT`.
    if kept > 0 and kept > call('TTL', account) then
      call('EXPIRE', account, math.ceil(min(kept, KEPT_MAX)))
    end
  end
end

return table.concat(output)
