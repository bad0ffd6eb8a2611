-- SPDX-License-Identifier: Apache-2.0
local acc = 0
for i = 0, tonumber(arg[1]) - 1 do acc = acc + i end
print(acc)
