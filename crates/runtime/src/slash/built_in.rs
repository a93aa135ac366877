//! The built-in slash commands.

use protocol::TerminalCommand;

/// A command that the runtime performs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuntimeCommand {
    Help,
    Fleet,
    Review,
    SecurityReview,
    Research,
    Plan,
    Autopilot,
    Agents,
    Agent,
    Tasks,
    Todos,
    Model,
    Mcp,
    Compact,
    Rewind,
    Context,
    Cost,
    Share,
}

/// What performs a built-in command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandTarget {
    Runtime(RuntimeCommand),
    Terminal(TerminalCommand),
}

/// The name, help and target of a built-in command.
#[derive(Debug)]
pub(super) struct BuiltInRow {
    pub(super) name: &'static str,
    /// The arguments, as shown in the help.
    pub(super) hint: &'static str,
    pub(super) about: &'static str,
    pub(super) target: CommandTarget,
}

const fn runtime(name: &'static str, hint: &'static str, about: &'static str, command: RuntimeCommand) -> BuiltInRow {
    BuiltInRow { name, hint, about, target: CommandTarget::Runtime(command) }
}

const fn terminal(name: &'static str, hint: &'static str, about: &'static str, command: TerminalCommand) -> BuiltInRow {
    BuiltInRow { name, hint, about, target: CommandTarget::Terminal(command) }
}

/// All built-in commands, in the order in which they are listed.
pub(super) const BUILT_IN_COMMANDS: [BuiltInRow; 26] = [
    runtime("help", "", "lists every command", RuntimeCommand::Help),
    runtime(
        "fleet",
        "[PROMPT]",
        "splits a request into todos and has agents do them in parallel",
        RuntimeCommand::Fleet,
    ),
    runtime("review", "[RANGE]", "reviews the uncommitted changes, or those of a range", RuntimeCommand::Review),
    runtime("security-review", "[RANGE]", "reviews changes for security problems", RuntimeCommand::SecurityReview),
    runtime("research", "TOPIC", "researches a topic with agents and writes a report", RuntimeCommand::Research),
    runtime("plan", "[PROMPT]", "plan mode: reads and plans, but changes nothing", RuntimeCommand::Plan),
    runtime(
        "autopilot",
        "[on|off|OBJECTIVE]",
        "works without you until the objective is met",
        RuntimeCommand::Autopilot,
    ),
    runtime("agents", "", "lists the agents you can start", RuntimeCommand::Agents),
    runtime(
        "agent",
        "NAME PROMPT",
        "starts an agent in the background; its result comes back here",
        RuntimeCommand::Agent,
    ),
    runtime("tasks", "", "lists agents and background commands with their states", RuntimeCommand::Tasks),
    runtime("todos", "", "lists the todos with their states", RuntimeCommand::Todos),
    runtime("model", "[PROVIDER/NAME]", "shows the model, or switches to another", RuntimeCommand::Model),
    runtime(
        "mcp",
        "[enable|disable|reconnect NAME]",
        "lists the MCP servers with their tools, or changes one for this session",
        RuntimeCommand::Mcp,
    ),
    runtime(
        "compact",
        "",
        "compacts the conversation: at once if the agent is idle, else before its next turn",
        RuntimeCommand::Compact,
    ),
    runtime(
        "rewind",
        "[N [conversation|files]]",
        "lists your messages, or goes back to before the Nth one, with the files that tools changed since",
        RuntimeCommand::Rewind,
    ),
    runtime("context", "", "shows how much of the model's context window is used", RuntimeCommand::Context),
    runtime("cost", "", "shows the turns, tokens and cost of the session so far", RuntimeCommand::Cost),
    runtime("share", "FILE", "writes the session to a new Markdown file", RuntimeCommand::Share),
    terminal("mode", "[MODE]", "shows or changes the permission mode", TerminalCommand::Mode),
    terminal("approvals", "", "lists what waits for your decision", TerminalCommand::Approvals),
    terminal("show", "[N]", "shows the last call in full, or the one N calls ago (Ctrl-O)", TerminalCommand::Show),
    terminal("resume", "[ID]", "lists the sessions of this folder, or resumes one", TerminalCommand::Resume),
    terminal("new", "", "starts a new session", TerminalCommand::New),
    terminal("background", "", "leaves; the session continues in the background", TerminalCommand::Background),
    terminal("keys", "", "lists the keyboard shortcuts", TerminalCommand::Keys),
    terminal("exit", "", "leaves Bosun (Ctrl-D)", TerminalCommand::Exit),
];

/// Names reserved for commands of a later version.
pub(super) const RESERVED_NAMES: [&str; 3] = ["every", "after", "subconscious"];

/// Alternative names of commands.
pub(super) const ALIASES: [(&str, &str); 6] =
    [("bg", "background"), ("quit", "exit"), ("last", "show"), ("clear", "new"), ("?", "help"), ("usage", "cost")];
