//! The commands that are part of the program.

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
    Compact,
    Context,
    Cost,
    Share,
}

/// A command that only whoever sits at a terminal can use; the terminal performs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TerminalCommand {
    /// Shows or changes what is allowed without asking.
    Mode,
    /// Shows what waits for a decision.
    Approvals,
    /// Shows all of a call.
    Show,
    /// Lists sessions, or goes on with one.
    Resume,
    /// Begins a new session.
    New,
    /// Tells which keys there are.
    Keys,
    /// Leaves.
    Exit,
}

/// Who performs a command that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandTarget {
    Runtime(RuntimeCommand),
    Terminal(TerminalCommand),
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct BuiltInRow {
    pub(super) name: &'static str,
    pub(super) hint: &'static str,
    pub(super) about: &'static str,
    pub(super) target: CommandTarget,
}

const fn runtime(name: &'static str, hint: &'static str, about: &'static str, by: RuntimeCommand) -> BuiltInRow {
    BuiltInRow { name, hint, about, target: CommandTarget::Runtime(by) }
}

const fn terminal(name: &'static str, hint: &'static str, about: &'static str, by: TerminalCommand) -> BuiltInRow {
    BuiltInRow { name, hint, about, target: CommandTarget::Terminal(by) }
}

/// Every command that is part of the program, in the order that they are listed.
pub(super) const TABLE: [BuiltInRow; 23] = [
    runtime("help", "", "lists every command", RuntimeCommand::Help),
    runtime(
        "fleet",
        "[PROMPT]",
        "splits a request into todos and has agents do them in parallel",
        RuntimeCommand::Fleet,
    ),
    runtime("review", "[RANGE]", "has the uncommitted changes reviewed, or those of a range", RuntimeCommand::Review),
    runtime("security-review", "[RANGE]", "the same with an eye on security", RuntimeCommand::SecurityReview),
    runtime("research", "TOPIC", "has research agents look into a topic and writes a report", RuntimeCommand::Research),
    runtime("plan", "[PROMPT]", "plan mode: looks and plans, and changes nothing", RuntimeCommand::Plan),
    runtime(
        "autopilot",
        "[on|off|OBJECTIVE]",
        "goes on without you until the objective is met",
        RuntimeCommand::Autopilot,
    ),
    runtime("agents", "", "the agents there are", RuntimeCommand::Agents),
    runtime(
        "agent",
        "NAME PROMPT",
        "starts an agent in the background; its result comes back here",
        RuntimeCommand::Agent,
    ),
    runtime("tasks", "", "what every agent and command does", RuntimeCommand::Tasks),
    runtime("todos", "", "the todos and how far they are", RuntimeCommand::Todos),
    runtime("model", "[PROVIDER/NAME]", "shows the model, or goes on with another", RuntimeCommand::Model),
    runtime(
        "compact",
        "",
        "leaves out what is old in the conversation: at once while the agent rests, else before its next turn",
        RuntimeCommand::Compact,
    ),
    runtime("context", "", "how much of the model's window is used", RuntimeCommand::Context),
    runtime("cost", "", "what the session used so far", RuntimeCommand::Cost),
    runtime("share", "FILE", "writes the session to a new Markdown file", RuntimeCommand::Share),
    terminal("mode", "[MODE]", "shows what is allowed without asking, or changes it", TerminalCommand::Mode),
    terminal("approvals", "", "what waits for your decision", TerminalCommand::Approvals),
    terminal("show", "[N]", "all of the last call, or of the one N calls ago (Ctrl-O)", TerminalCommand::Show),
    terminal("resume", "[ID]", "lists the sessions of this folder, or goes on with one", TerminalCommand::Resume),
    terminal("new", "", "begins a new session", TerminalCommand::New),
    terminal("keys", "", "the keys you can use", TerminalCommand::Keys),
    terminal("exit", "", "leaves (Ctrl-D)", TerminalCommand::Exit),
];

/// Commands that a later version has.
pub(super) const LATER: [&str; 3] = ["every", "after", "subconscious"];

/// Other names that people try.
pub(super) const ALIASES: [(&str, &str); 5] =
    [("quit", "exit"), ("last", "show"), ("clear", "new"), ("?", "help"), ("usage", "cost")];
