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

-- One server for each root, with Neovim 0.7.
local clients = {}

function M.start(buffer, options)
  local root = root_of(vim.api.nvim_buf_get_name(buffer))
  local config = {
    name = "pdl",
    cmd = options.cmd,
    root_dir = root,
    workspace_folders = { { uri = vim.uri_from_fname(root), name = root } },
    capabilities = options.capabilities,
    on_attach = function(client, b)
      vim.bo[b].omnifunc = "v:lua.vim.lsp.omnifunc"
      if options.on_attach then options.on_attach(client, b) end
    end,
  }
  if vim.lsp.start then return vim.lsp.start(config, { bufnr = buffer }) end -- Neovim 0.8 and newer
  local id = clients[root]
  if not id or not vim.lsp.get_client_by_id(id) then
    id = vim.lsp.start_client(config)
    clients[root] = id
  end
  if id then vim.lsp.buf_attach_client(buffer, id) end
  return id
end

-- Runs a list of words as a command, in a terminal below.
local function terminal(words, cwd)
  vim.cmd("botright new")
  if vim.fn.has("nvim-0.11") == 1 then
    vim.fn.jobstart(words, { term = true, cwd = cwd })
  else
    vim.fn.termopen(words, { cwd = cwd })
  end
end

-- Runs the command of a lens. The server returns the command line. For a function, the user is asked for the arguments,
-- and the server writes a program that calls the function.
local function command(pdl)
  return function(cmd, context)
    local argument = vim.deepcopy(cmd.arguments[1])
    if argument["function"] then
      argument.values = vim.empty_dict()
      for _, name in ipairs(argument.parameters or {}) do
        argument.values[name] = vim.fn.input("Argument " .. name .. ", a value in YAML: ")
      end
    end
    vim.cmd("silent! wall")
    local wanted = { command = cmd.command, arguments = { argument } }
    vim.lsp.buf_request((context or {}).bufnr or 0, "workspace/executeCommand", wanted, function(problem, line)
      if not line then return vim.notify(problem and problem.message or "no answer", vim.log.levels.ERROR) end
      local words = { pdl }
      for i = 2, #line.argv do
        if line.argv[i] ~= "-" then table.insert(words, line.argv[i]) end
      end
      if line.program then vim.list_extend(words, { "-e", line.program }) end
      terminal(words, line.cwd)
    end)
  end
end

function M.setup(options)
  options = vim.tbl_extend("force", { cmd = { "pdl", "lsp" } }, options or {})
  local pdl = options.cmd[1]
  for _, name in ipairs({ "pdl.run", "pdl.test", "pdl.view", "pdl.explain" }) do
    vim.lsp.commands[name] = command(pdl)
  end
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
