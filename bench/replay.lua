-- A script for wrk that sends the calls of a file in a loop.
-- Arguments after wrk's own `--`: the file, the API key, and the index of the first call.
-- A line holds METHOD, path, token, Prefer and body, separated by tabs; the last two may be empty.

local calls = {}
local position = 0

local function split(line)
  local parts = {}
  for part in (line .. "\t"):gmatch("([^\t]*)\t") do
    parts[#parts + 1] = part
  end
  return parts
end

function init(arguments)
  local apikey = arguments[2]
  for line in io.lines(arguments[1]) do
    local method, path, token, prefer, body = unpack(split(line))
    local headers = { ["apikey"] = apikey }
    if token ~= "" then headers["Authorization"] = "Bearer " .. token end
    if prefer ~= "" then headers["Prefer"] = prefer end
    if body == "" then body = nil else headers["Content-Type"] = "application/json" end
    calls[#calls + 1] = wrk.format(method, path, headers, body)
  end
  position = (tonumber(arguments[3]) or 0) % #calls
end

function request()
  position = position % #calls + 1
  return calls[position]
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    "\n{\"requests\": %d, \"microseconds\": %d, \"refused\": %d, \"broken\": %d, \"p50\": %d, \"p99\": %d}\n",
    summary.requests, summary.duration, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
