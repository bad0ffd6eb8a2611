-- SPDX-License-Identifier: Apache-2.0
-- Programs are files *.pdl.
vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, {
  pattern = "*.pdl",
  callback = function() vim.bo.filetype = "pdl" end,
})
