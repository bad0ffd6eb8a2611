-- SPDX-License-Identifier: Apache-2.0
local parts = {}
for i = 0, tonumber(arg[1]) - 1 do parts[#parts + 1] = i .. " " end
io.write(table.concat(parts))
