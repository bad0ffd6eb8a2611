// lib.rs -- starts the server for Zed: the command that the settings name, or else `pdl` on the path of the project.
// SPDX-License-Identifier: Apache-2.0
use zed_extension_api::{self as zed, settings::LspSettings, Command, LanguageServerId, Result, Worktree};

struct Pdl;

impl zed::Extension for Pdl {
    fn new() -> Self {
        Pdl
    }

    fn language_server_command(&mut self, id: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let binary = LspSettings::for_worktree(id.as_ref(), worktree).ok().and_then(|s| s.binary);
        let (path, arguments) = binary.map_or((None, None), |b| (b.path, b.arguments));
        let command = path
            .or_else(|| worktree.which("pdl"))
            .ok_or("the command pdl is not on the path: give it as lsp.pdl.binary.path in the settings")?;
        Ok(Command { command, args: arguments.unwrap_or_else(|| vec!["lsp".to_string()]), env: worktree.shell_env() })
    }
}

zed::register_extension!(Pdl);
