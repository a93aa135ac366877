//! The command line of both Claude SDKs: `--flag value` and `--flag=value` alike. Unknown flags are ignored.

use std::collections::VecDeque;

use super::list_args;

/// The client's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClaudeArgs {
    /// `--model`.
    pub(super) model: Option<String>,
    /// `--permission-mode`.
    pub(super) permission_mode: Option<String>,
    /// Whether the client decides about calls: `--permission-prompt-tool stdio`.
    pub(super) prompts: bool,
    /// `--allowedTools`.
    pub(super) allowed: Vec<String>,
    /// `--disallowedTools`.
    pub(super) disallowed: Vec<String>,
    /// `--tools`: the only available tools; all when absent.
    pub(super) tools: Option<Vec<String>>,
    /// `--system-prompt`.
    pub(super) system: Option<String>,
    /// `--system-prompt-file`.
    pub(super) system_file: Option<String>,
    /// `--append-system-prompt`.
    pub(super) append: Option<String>,
    /// `--max-turns`.
    pub(super) max_turns: Option<String>,
    /// `--max-budget-usd`.
    pub(super) max_budget_usd: Option<String>,
    /// `--effort`.
    pub(super) effort: Option<String>,
    /// `--add-dir`.
    pub(super) add_dirs: Vec<String>,
    /// `--settings`.
    pub(super) settings: Option<String>,
    /// `--managed-settings`.
    pub(super) managed: Option<String>,
    /// `--managed-settings-in-initialize`.
    pub(super) managed_in_initialize: bool,
    /// `--setting-sources`; an empty value means none.
    pub(super) setting_sources: Option<String>,
    /// `--mcp-config`.
    pub(super) mcp_configs: Vec<String>,
    /// `--json-schema`.
    pub(super) json_schema: Option<String>,
    /// `--plugin-dir`.
    pub(super) plugin_dirs: Vec<String>,
    /// `--agent`.
    pub(super) agent: Option<String>,
    /// `--agents`.
    pub(super) agents: Option<String>,
    /// `--resume`.
    pub(super) resume: Option<String>,
    /// `--session-id`.
    pub(super) session_id: Option<String>,
    /// `--continue`.
    pub(super) continue_latest: bool,
    /// `--fork-session`.
    pub(super) forks: bool,
    /// `--include-partial-messages`.
    pub(super) partial: bool,
    /// `--replay-user-messages`.
    pub(super) replays: bool,
    /// `--no-session-persistence`.
    pub(super) no_persistence: bool,
    /// `--version`.
    pub(super) version: bool,
}

/// Flags without a value.
const ALONE: [&str; 21] = [
    "allow-dangerously-skip-permissions",
    "await-initialize",
    "bare",
    "continue",
    "dangerously-skip-permissions",
    "debug",
    "fork-session",
    "include-hook-events",
    "include-partial-messages",
    "managed-settings-in-initialize",
    "no-session-persistence",
    "print",
    "replay-user-messages",
    "safe-mode",
    "session-mirror",
    "strict-mcp-config",
    "verbose",
    "version",
    "c",
    "p",
    "v",
];

/// Flags whose value is the next argument, even if it looks like a flag.
const VALUED: [&str; 27] = [
    "add-dir",
    "agent",
    "agents",
    "allowed-tools",
    "allowedTools",
    "append-system-prompt",
    "disallowed-tools",
    "disallowedTools",
    "effort",
    "json-schema",
    "managed-settings",
    "max-budget-usd",
    "max-turns",
    "mcp-config",
    "model",
    "permission-mode",
    "permission-prompt-tool",
    "plugin-dir",
    "plugin-dir-no-mcp",
    "r",
    "resume",
    "session-id",
    "setting-sources",
    "settings",
    "system-prompt",
    "system-prompt-file",
    "tools",
];

/// Known flags that have no effect here.
const UNUSED: [&str; 15] = [
    "betas",
    "channels",
    "debug-file",
    "fallback-model",
    "input-format",
    "max-thinking-tokens",
    "output-format",
    "permission-prompts",
    "project-config-root",
    "resume-drops-turn",
    "resume-session-at",
    "task-budget",
    "thinking",
    "thinking-display",
    "sdk-url",
];

impl ClaudeArgs {
    /// Parses a command line.
    pub(super) fn read(line: Vec<String>) -> ClaudeArgs {
        let mut args = ClaudeArgs::default();
        let mut line = VecDeque::from(line);
        while let Some(arg) = line.pop_front() {
            let Some(flag) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                tracing::debug!(arg, "ignoring an argument of the command line");
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None if ALONE.contains(&flag) => (flag, None),
                None if VALUED.contains(&flag) => (flag, line.pop_front()),
                None => (flag, line.pop_front_if(|next| !next.starts_with("--"))),
            };
            args.take(name, value);
        }
        args
    }

    fn take(&mut self, name: &str, value: Option<String>) {
        let filled = || value.clone().filter(|value| !value.is_empty());
        let listed = || value.as_deref().map(list_args::split).unwrap_or_default();
        match name {
            "model" => self.model = filled(),
            "permission-mode" => self.permission_mode = filled(),
            "dangerously-skip-permissions" => self.permission_mode = Some("bypassPermissions".into()),
            "permission-prompt-tool" => self.prompts = value.as_deref() == Some("stdio"),
            "allowedTools" | "allowed-tools" => self.allowed.extend(listed()),
            "disallowedTools" | "disallowed-tools" => self.disallowed.extend(listed()),
            "tools" => self.tools = (value.as_deref() != Some("default")).then(listed),
            "system-prompt" => self.system = filled(),
            "system-prompt-file" => self.system_file = filled(),
            "append-system-prompt" => self.append = filled(),
            "max-turns" => self.max_turns = filled(),
            "max-budget-usd" => self.max_budget_usd = filled(),
            "effort" => self.effort = filled(),
            "add-dir" => self.add_dirs.extend(filled()),
            "settings" => self.settings = filled(),
            "managed-settings" => self.managed = Some(value.unwrap_or_default()),
            "managed-settings-in-initialize" => self.managed_in_initialize = true,
            "setting-sources" => self.setting_sources = Some(value.unwrap_or_default()),
            "mcp-config" => self.mcp_configs.extend(filled()),
            "json-schema" => self.json_schema = filled(),
            "plugin-dir" | "plugin-dir-no-mcp" => self.plugin_dirs.extend(filled()),
            "agent" => self.agent = filled(),
            "agents" => self.agents = filled(),
            "resume" | "r" => self.resume = filled(),
            "session-id" => self.session_id = filled(),
            "continue" | "c" => self.continue_latest = true,
            "fork-session" => self.forks = true,
            "include-partial-messages" => self.partial = true,
            "replay-user-messages" => self.replays = true,
            "no-session-persistence" => self.no_persistence = true,
            "version" | "v" => self.version = true,
            known if ALONE.contains(&known) || UNUSED.contains(&known) => {}
            unknown => tracing::warn!("ignoring the client's unknown flag --{unknown}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> ClaudeArgs {
        ClaudeArgs::read(line.iter().map(|word| (*word).to_owned()).collect())
    }

    #[test]
    fn both_sdks_command_lines_say_the_same() {
        let python = read(&[
            "--output-format",
            "stream-json",
            "--verbose",
            "--system-prompt",
            "",
            "--tools",
            "",
            "--model",
            "sonnet",
            "--permission-prompt-tool",
            "stdio",
            "--include-partial-messages",
            "--setting-sources=",
            "--allowedTools",
            "Read,Bash(git log *)",
            "--input-format",
            "stream-json",
        ]);
        let typescript = read(&[
            "--output-format=stream-json",
            "--verbose",
            "--system-prompt=",
            "--tools=",
            "--model=sonnet",
            "--permission-prompt-tool=stdio",
            "--include-partial-messages",
            "--setting-sources=",
            "--allowedTools=Read",
            "--allowedTools=Bash(git log *)",
            "--input-format=stream-json",
        ]);
        assert_eq!(python, typescript);
        assert_eq!(python.allowed, ["Read", "Bash(git log *)"]);
        assert_eq!((python.tools, python.system, python.setting_sources), (Some(vec![]), None, Some(String::new())));
        assert!(python.prompts && python.partial);
    }

    #[test]
    fn what_is_not_known_is_passed_over_with_its_value() {
        let args = read(&["--hologram", "3d", "--sparkle", "--max-turns", "5", "stray", "--session-id=a=b", "--"]);
        assert_eq!(
            args,
            ClaudeArgs { max_turns: Some("5".into()), session_id: Some("a=b".into()), ..ClaudeArgs::default() }
        );
    }

    #[test]
    fn a_session_is_gone_on_with_copied_and_named() {
        let args = read(&["--resume=1-2", "--fork-session", "--session-id=3-4", "--continue"]);
        assert_eq!((args.resume.as_deref(), args.forks, args.continue_latest), (Some("1-2"), true, true));
        assert_eq!(read(&["--tools", "default"]).tools, None);
        assert_eq!(read(&["--system-prompt", "--model"]).system.as_deref(), Some("--model"));
        assert_eq!(read(&["--tools", "Read,Bash"]).tools, Some(vec!["Read".into(), "Bash".into()]));
    }
}
