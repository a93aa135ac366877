//! The command line of both Claude SDKs: `--flag value` and `--flag=value` mean the same. Flags without effect are kept
//! by name, so that the client is told of each.

use std::collections::VecDeque;

use protocol::clip_middle;
use uuid::Uuid;

use super::list_args;
use super::mode::ClaudePermissionMode;

/// The value of `--permission-prompt-tool` for a client that decides about calls.
pub(super) const CLIENT_PROMPTS: &str = "stdio";

/// The value of `--permission-prompts` when nobody decides about calls.
pub(super) const NO_PROMPTS: &str = "none";

/// Maximum bytes of an unknown option's name in a message.
pub(super) const MAX_NAME_BYTES: usize = 100;

/// The client's command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ClaudeArgs {
    /// `--model`.
    pub(super) model: Option<String>,
    /// `--permission-mode`.
    pub(super) permission_mode: Option<String>,
    /// `--permission-prompt-tool`: `stdio` if the client decides about calls.
    pub(super) permission_prompt_tool: Option<String>,
    /// `--permission-prompts`: `none` if nobody decides about calls.
    pub(super) permission_prompts: Option<String>,
    /// `--allowedTools`.
    pub(super) allowed: Vec<String>,
    /// `--disallowedTools`.
    pub(super) disallowed: Vec<String>,
    /// `--tools`: the only available tools; all when absent.
    pub(super) tools: Option<Vec<String>>,
    /// `--system-prompt`.
    pub(super) system_prompt: Option<String>,
    /// `--system-prompt-file`.
    pub(super) system_file: Option<String>,
    /// `--append-system-prompt`.
    pub(super) append_system_prompt: Option<String>,
    /// `--max-turns`.
    pub(super) max_turns: Option<String>,
    /// `--max-budget-usd`.
    pub(super) max_budget_usd: Option<String>,
    /// `--task-budget`.
    pub(super) task_budget: Option<String>,
    /// `--include-hook-events`.
    pub(super) hook_events: bool,
    /// `--effort`.
    pub(super) effort: Option<String>,
    /// `--thinking`.
    pub(super) thinking: Option<String>,
    /// `--max-thinking-tokens`.
    pub(super) max_thinking_tokens: Option<String>,
    /// `--add-dir`.
    pub(super) add_dirs: Vec<String>,
    /// `--settings`.
    pub(super) settings: Option<String>,
    /// `--managed-settings`.
    pub(super) managed_settings: Option<String>,
    /// `--managed-settings-in-initialize`.
    pub(super) managed_in_initialize: bool,
    /// `--setting-sources`; an empty value means none.
    pub(super) setting_sources: Option<String>,
    /// `--mcp-config`.
    pub(super) mcp_configs: Vec<String>,
    /// `--strict-mcp-config`.
    pub(super) strict_mcp_config: bool,
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
    pub(super) fork_session: bool,
    /// `--resume-session-at`.
    pub(super) resume_at: Option<String>,
    /// `--resume-drops-turn`; an empty value is not valid.
    pub(super) resume_drops_turn: Option<String>,
    /// `--include-partial-messages`.
    pub(super) partial_messages: bool,
    /// `--replay-user-messages`.
    pub(super) replay_user_messages: bool,
    /// `--no-session-persistence`.
    pub(super) no_persistence: bool,
    /// `--session-mirror`: the client stores a copy of the session files.
    pub(super) mirrors_session: bool,
    /// Flags that restrict a session in a way that is not supported: the session is refused.
    pub(super) refused: Vec<String>,
    /// Flags that are unknown or have no effect here.
    pub(super) without_effect: Vec<String>,
    /// `--version`.
    pub(super) version: bool,
}

/// Flags without a value.
const FLAGS_WITHOUT_VALUE: [&str; 21] = [
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
const FLAGS_WITH_VALUE: [&str; 33] = [
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
    "max-thinking-tokens",
    "max-turns",
    "mcp-config",
    "model",
    "permission-mode",
    "permission-prompt-tool",
    "permission-prompts",
    "plugin-dir",
    "plugin-dir-no-mcp",
    "r",
    "resume",
    "resume-drops-turn",
    "resume-session-at",
    "session-id",
    "setting-sources",
    "settings",
    "system-prompt",
    "system-prompt-file",
    "task-budget",
    "thinking",
    "tools",
];

/// Flags that name what every adapter does anyway.
const IMPLIED_FLAGS: [&str; 8] = [
    "allow-dangerously-skip-permissions",
    "await-initialize",
    "debug",
    "input-format",
    "output-format",
    "p",
    "print",
    "verbose",
];

/// Flags that leave out settings or move the session elsewhere.
const REFUSED_FLAGS: [&str; 4] = ["bare", "project-config-root", "safe-mode", "sdk-url"];

impl ClaudeArgs {
    /// Parses a command line.
    pub(super) fn parse(line: Vec<String>) -> ClaudeArgs {
        let mut args = ClaudeArgs::default();
        let mut line = VecDeque::from(line);
        while let Some(arg) = line.pop_front() {
            let Some(flag) = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-')) else {
                args.without_effect.push(clip_middle(&arg, MAX_NAME_BYTES));
                continue;
            };
            let (name, value) = match flag.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None if FLAGS_WITHOUT_VALUE.contains(&flag) => (flag, None),
                None if FLAGS_WITH_VALUE.contains(&flag) => (flag, line.pop_front()),
                None => (flag, line.pop_front_if(|next| !next.starts_with("--"))),
            };
            args.set_flag(name, value, clip_middle(arg.split('=').next().unwrap_or(&arg), MAX_NAME_BYTES));
        }
        args
    }

    /// Sets a flag. `written` is its name with its dashes.
    fn set_flag(&mut self, name: &str, value: Option<String>, written: String) {
        let non_empty = || value.clone().filter(|value| !value.is_empty());
        let entries = || value.as_deref().map(list_args::split).unwrap_or_default();
        match name {
            "model" => self.model = non_empty(),
            "permission-mode" => self.permission_mode = non_empty(),
            "dangerously-skip-permissions" => self.permission_mode = Some("bypassPermissions".into()),
            "permission-prompt-tool" => self.permission_prompt_tool = non_empty(),
            "permission-prompts" => self.permission_prompts = non_empty(),
            "allowedTools" | "allowed-tools" => self.allowed.extend(entries()),
            "disallowedTools" | "disallowed-tools" => self.disallowed.extend(entries()),
            "tools" => self.tools = (value.as_deref() != Some("default")).then(entries),
            "system-prompt" => self.system_prompt = non_empty(),
            "system-prompt-file" => self.system_file = non_empty(),
            "append-system-prompt" => self.append_system_prompt = non_empty(),
            "max-turns" => self.max_turns = non_empty(),
            "max-budget-usd" => self.max_budget_usd = non_empty(),
            "task-budget" => self.task_budget = non_empty(),
            "include-hook-events" => self.hook_events = true,
            "effort" => self.effort = non_empty(),
            "thinking" => self.thinking = non_empty(),
            "max-thinking-tokens" => self.max_thinking_tokens = non_empty(),
            "add-dir" => self.add_dirs.extend(non_empty()),
            "settings" => self.settings = non_empty(),
            "managed-settings" => self.managed_settings = Some(value.unwrap_or_default()),
            "managed-settings-in-initialize" => self.managed_in_initialize = true,
            "setting-sources" => self.setting_sources = Some(value.unwrap_or_default()),
            "mcp-config" => self.mcp_configs.extend(non_empty()),
            "strict-mcp-config" => self.strict_mcp_config = true,
            "json-schema" => self.json_schema = non_empty(),
            "plugin-dir" | "plugin-dir-no-mcp" => self.plugin_dirs.extend(non_empty()),
            "agent" => self.agent = non_empty(),
            "agents" => self.agents = non_empty(),
            "resume" | "r" => self.resume = non_empty(),
            "session-id" => self.session_id = non_empty(),
            "continue" | "c" => self.continue_latest = true,
            "fork-session" => self.fork_session = true,
            "resume-session-at" => self.resume_at = non_empty(),
            "resume-drops-turn" => self.resume_drops_turn = Some(value.unwrap_or_default()),
            "include-partial-messages" => self.partial_messages = true,
            "replay-user-messages" => self.replay_user_messages = true,
            "no-session-persistence" => self.no_persistence = true,
            "session-mirror" => self.mirrors_session = true,
            "version" | "v" => self.version = true,
            implied if IMPLIED_FLAGS.contains(&implied) => {}
            refused if REFUSED_FLAGS.contains(&refused) => self.refused.push(written),
            _other => self.without_effect.push(written),
        }
    }

    /// Changes the line so that it starts a new session with this id, in this mode.
    pub(super) fn begin_another(&mut self, id: Uuid, mode: ClaudePermissionMode) {
        (self.resume, self.resume_at, self.resume_drops_turn) = (None, None, None);
        (self.continue_latest, self.fork_session) = (false, false);
        self.session_id = Some(id.to_string());
        self.permission_mode = Some(mode.as_str().into());
    }

    /// Whether the client decides about calls.
    pub(super) fn client_decides(&self) -> bool {
        self.permission_prompt_tool.as_deref() == Some(CLIENT_PROMPTS)
            && self.permission_prompts.as_deref() != Some(NO_PROMPTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> ClaudeArgs {
        ClaudeArgs::parse(line.iter().map(|arg| (*arg).to_owned()).collect())
    }

    #[test]
    fn command_lines_of_both_sdks_parse_alike() {
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
        assert!(python.client_decides() && python.partial_messages);
        assert!(python.refused.is_empty() && python.without_effect.is_empty());
        assert_eq!(
            (python.tools, python.system_prompt, python.setting_sources),
            (Some(vec![]), None, Some(String::new()))
        );
    }

    #[test]
    fn flags_without_effect_are_kept_by_name_and_restrictions_are_refused() {
        let args = read(&["--hologram", "3d", "--sparkle", "--max-turns", "5", "stray", "--session-id=a=b", "--"]);
        let expected = ClaudeArgs {
            max_turns: Some("5".into()),
            session_id: Some("a=b".into()),
            without_effect: ["--hologram", "--sparkle", "stray", "--"].map(str::to_owned).to_vec(),
            ..ClaudeArgs::default()
        };
        assert_eq!(args, expected);
        let decides = |prompts: &str| read(&["--permission-prompt-tool=stdio", "--permission-prompts", prompts]);
        assert!(decides("host").client_decides() && !decides("none").client_decides());
        assert_eq!(read(&["--betas", "x,y", "--fallback-model=haiku"]).without_effect, ["--betas", "--fallback-model"]);
        assert_eq!(
            read(&["--safe-mode", "--bare", "--sdk-url=ws://a"]).refused,
            ["--safe-mode", "--bare", "--sdk-url"]
        );
    }

    #[test]
    fn resume_fork_and_tools_flags_are_parsed() {
        let cut = read(&["--resume-session-at=a", "--resume-drops-turn="]);
        assert_eq!((cut.resume_at.as_deref(), cut.resume_drops_turn.as_deref()), (Some("a"), Some("")));
        let args = read(&["--resume=1-2", "--fork-session", "--session-id=3-4", "--continue"]);
        assert_eq!((args.resume.as_deref(), args.fork_session, args.continue_latest), (Some("1-2"), true, true));
        assert_eq!(read(&["--tools", "default"]).tools, None);
        assert_eq!(read(&["--system-prompt", "--model"]).system_prompt.as_deref(), Some("--model"));
        assert_eq!(read(&["--tools", "Read,Bash"]).tools, Some(vec!["Read".into(), "Bash".into()]));
    }
}
