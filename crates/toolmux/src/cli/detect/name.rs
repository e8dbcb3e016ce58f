//! Names for sources that nobody named: from a file, a command or an address.

use std::path::Path;

use toolmux_core::names::plain_name;

/// Programs that start the program that is meant.
const LAUNCHERS: [&str; 12] =
    ["npx", "bunx", "pnpm", "yarn", "uvx", "uv", "pipx", "node", "deno", "python", "python3", "docker"];
/// Words of launchers that name nothing.
const LAUNCHING: [&str; 6] = ["run", "tool", "exec", "dlx", "x", "-m"];
/// What names of MCP servers are wrapped in.
const WRAPPING: [&str; 4] = ["mcp-server", "mcp", "server", "_"];

/// The name of a file up to its first dot.
pub(super) fn of_file(file: &Path) -> String {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    plain(name.split('.').next().unwrap_or_default())
}

/// `npx -y @modelcontextprotocol/server-everything` is `everything`.
pub(super) fn of_command(argv: &[String]) -> String {
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let (program, arguments) = argv.split_first().map(|(p, a)| (base(p), a)).unwrap_or_default();
    let meant = arguments
        .iter()
        .find(|word| !word.starts_with('-') && !LAUNCHING.contains(&word.as_str()))
        .filter(|_| LAUNCHERS.contains(&program.as_str()));
    let meant = meant.map_or(program, |word| base(word));
    let meant = meant.split('@').next().unwrap_or_default();
    let mut name = meant.split('.').next().unwrap_or_default();
    for wrapping in WRAPPING {
        name = name.strip_prefix(wrapping).map_or(name, |rest| rest.trim_start_matches(['-', '_']));
        name = name.strip_suffix(wrapping).map_or(name, |rest| rest.trim_end_matches(['-', '_']));
    }
    plain(if name.is_empty() { meant } else { name })
}

/// `https://api.shop.example.com/mcp` is `example`; a number or `localhost` says nothing, the kind more.
pub(super) fn of_address(url: &str, kind: &str) -> String {
    let host = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let parts: Vec<&str> = host.split('.').collect();
    match parts[..] {
        [.., name, top] if top.chars().any(char::is_alphabetic) => plain(name),
        _ => plain(kind),
    }
}

fn plain(text: &str) -> String {
    plain_name(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(command: &str, expect: &str) {
        let argv: Vec<String> = command.split(' ').map(str::to_owned).collect();
        assert_eq!(of_command(&argv), expect, "{command}");
    }

    #[test]
    fn commands_are_called_by_what_they_start() {
        check("npx -y @modelcontextprotocol/server-everything", "everything");
        check("npx -y @playwright/mcp@latest", "mcp");
        check("uvx mcp-server-time", "time");
        check("python -m mcp_server_git --repository .", "git");
        check("/opt/bin/github-mcp-server stdio", "github");
        check("node build/index.js", "index");
    }

    #[test]
    fn addresses_are_called_by_their_domain() {
        assert_eq!(of_address("https://mcp.linear.app/sse", "mcp"), "linear");
        assert_eq!(of_address("http://user:key@127.0.0.1:9700", "opentool"), "opentool");
        assert_eq!(of_address("http://localhost:9700/x", "oxp"), "oxp");
    }

    #[test]
    fn files_are_called_by_their_first_part() {
        assert_eq!(of_file(Path::new("a/my-zlib.opendyn.json")), "my_zlib");
    }
}
