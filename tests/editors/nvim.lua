-- SPDX-License-Identifier: Apache-2.0
-- nvim.lua -- drives a real Neovim: diagnostics, completion, hover, rename, formatting. Arguments are in the environment: PDL (the command),
-- PDL_OUT (where the results go, one JSON object). Called with a program open.
local out = { steps = {} }
local function write()
  local f = io.open(os.getenv("PDL_OUT"), "w")
  f:write(vim.json and vim.json.encode(out) or vim.fn.json_encode(out))
  f:close()
end
local function wait(name, fn)
  if not vim.wait(60000, fn, 20) then error("no " .. name) end
end
local function request(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
  for _, a in pairs(answers or {}) do
    if a.error then return { error = a.error } end
    return a.result
  end
end
local function at(line, character)
  return { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = character } }
end
local ok, why = pcall(function()
  require("pdl").setup({ cmd = { os.getenv("PDL"), "lsp" } })
  vim.bo.filetype = "pdl"
  wait("client", function() return #vim.tbl_keys(vim.lsp.buf_get_clients(0)) > 0 and next(vim.lsp.buf_get_clients(0)) end)
  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  out.steps.diagnostics = vim.tbl_map(function(d) return { d.lnum, d.col, d.message } end, vim.diagnostic.get(0))
  -- typing: the mistake is mended, and the list becomes empty
  local line = vim.api.nvim_buf_get_lines(0, 6, 7, true)[1]
  vim.api.nvim_buf_set_lines(0, 6, 7, true, { (line:gsub("nmae", "name")) })
  wait("end of diagnostics", function() return #vim.diagnostic.get(0) == 0 end)
  out.steps.hover = request("textDocument/hover", at(8, 2)).contents.value
  out.steps.completion = vim.tbl_map(function(i) return i.label end, request("textDocument/completion", at(10, 4)).items)
  vim.api.nvim_win_set_cursor(0, { 2, 3 })
  vim.lsp.buf.rename("hail")
  wait("rename", function() return vim.api.nvim_buf_get_lines(0, 8, 9, true)[1]:find("hail") ~= nil end)
  local p = { textDocument = { uri = vim.uri_from_bufnr(0) }, options = { tabSize = 2, insertSpaces = true } }
  local edits = request("textDocument/formatting", p)
  vim.lsp.util.apply_text_edits(edits, 0, "utf-16")
  out.steps.text = vim.api.nvim_buf_get_lines(0, 0, -1, true)
  out.steps.symbols = vim.tbl_map(function(s) return s.name end, request("textDocument/documentSymbol", p))
  -- a lens above a function: its argument is asked for, and the terminal shows what it gives
  vim.fn.input = function() return "Zoe" end
  local lens
  for _, l in ipairs(request("textDocument/codeLens", p)) do
    if l.command.title == "Run hail" then lens = l.command end
  end
  vim.lsp.commands[lens.command](lens, { bufnr = vim.api.nvim_get_current_buf() })
  local function shown() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), "\n") end
  vim.wait(60000, function() return vim.bo.buftype == "terminal" and shown():find("Process exited") ~= nil end, 20)
  out.steps.lens = shown()
end)
if not ok then out.error = tostring(why) end
write()
vim.cmd("qall!")
