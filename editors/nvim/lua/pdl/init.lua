-- SPDX-License-Identifier: Apache-2.0
-- pdl: the language server and the debugger of PDL for Neovim (0.7 or newer).
--
--   require("pdl").setup()                      in init.lua; options: cmd, on_attach, capabilities
--
-- With nvim-dap installed the debugger is known as "pdl".
local M = {}

local function root_of(path)
  local found = vim.fs and vim.fs.find({ ".git", "pdl.toml" }, { path = path, upward = true })[1]
  return found and vim.fs.dirname(found) or vim.fn.fnamemodify(path, ":h")
end

-- One server for each root.
local clients = {}

function M.start(buffer, options)
  local root = root_of(vim.api.nvim_buf_get_name(buffer))
  local id = clients[root]
  if not id or not vim.lsp.get_client_by_id(id) then
    id = vim.lsp.start_client({
      name = "pdl",
      cmd = options.cmd,
      root_dir = root,
      workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
      capabilities = options.capabilities,
      on_attach = function(client, b)
        vim.bo[b].omnifunc = "v:lua.vim.lsp.omnifunc"
        if options.on_attach then options.on_attach(client, b) end
      end,
    })
    clients[root] = id
  end
  if id then vim.lsp.buf_attach_client(buffer, id) end
  return id
end

-- What lenses ask for is run in a terminal.
local function command(words)
  return function(cmd)
    local file = vim.uri_to_fname(cmd.arguments[1].uri)
    local argv = vim.list_extend(vim.deepcopy(words), { file })
    vim.cmd("split | terminal " .. table.concat(vim.tbl_map(vim.fn.shellescape, argv), " "))
  end
end

function M.setup(options)
  options = vim.tbl_extend("force", { cmd = { "pdl", "lsp" } }, options or {})
  local pdl = options.cmd[1]
  vim.lsp.commands["pdl.run"] = command({ pdl })
  vim.lsp.commands["pdl.test"] = command({ pdl })
  vim.lsp.commands["pdl.view"] = command({ pdl, "--view" })
  vim.lsp.commands["pdl.explain"] = command({ pdl, "explain" })
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "pdl",
    callback = function(event)
      vim.bo[event.buf].commentstring = "# %s"
      vim.bo[event.buf].shiftwidth = 2
      vim.bo[event.buf].expandtab = true
      M.start(event.buf, options)
    end,
  })
  local ok, dap = pcall(require, "dap")
  if ok then
    dap.adapters.pdl = { type = "executable", command = pdl, args = { "dap" } }
    dap.configurations.pdl = { { type = "pdl", request = "launch", name = "Run", program = "${file}" } }
  end
end

return M
