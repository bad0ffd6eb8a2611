-- SPDX-License-Identifier: Apache-2.0
local function down(n) if n == 0 then return "done" end return (down(n - 1)) end
print(down(tonumber(arg[1])))
