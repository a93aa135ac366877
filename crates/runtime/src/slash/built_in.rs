//! The commands that are part of the program.

/// A command that the runtime performs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BuiltIn {
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
pub enum Screen {
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
pub(super) enum By {
    Runtime(BuiltIn),
    Terminal(Screen),
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) hint: &'static str,
    pub(super) about: &'static str,
    pub(super) by: By,
}

const fn runtime(name: &'static str, hint: &'static str, about: &'static str, by: BuiltIn) -> Row {
    Row { name, hint, about, by: By::Runtime(by) }
}

const fn terminal(name: &'static str, hint: &'static str, about: &'static str, by: Screen) -> Row {
    Row { name, hint, about, by: By::Terminal(by) }
}

/// Every command that is part of the program, in the order that they are listed.
pub(super) const TABLE: [Row; 23] = [
    runtime("help", "", "lists every command", BuiltIn::Help),
    runtime("fleet", "[PROMPT]", "splits a request into todos and has agents do them in parallel", BuiltIn::Fleet),
    runtime("review", "[RANGE]", "has the uncommitted changes reviewed, or those of a range", BuiltIn::Review),
    runtime("security-review", "[RANGE]", "the same with an eye on security", BuiltIn::SecurityReview),
    runtime("research", "TOPIC", "has research agents look into a topic and writes a report", BuiltIn::Research),
    runtime("plan", "[PROMPT]", "plan mode: looks and plans, and changes nothing", BuiltIn::Plan),
    runtime("autopilot", "[on|off|OBJECTIVE]", "goes on without you until the objective is met", BuiltIn::Autopilot),
    runtime("agents", "", "the agents there are", BuiltIn::Agents),
    runtime("agent", "NAME PROMPT", "starts an agent in the background; its result comes back here", BuiltIn::Agent),
    runtime("tasks", "", "what every agent and command does", BuiltIn::Tasks),
    runtime("todos", "", "the todos and how far they are", BuiltIn::Todos),
    runtime("model", "[PROVIDER/NAME]", "shows the model, or goes on with another", BuiltIn::Model),
    runtime(
        "compact",
        "",
        "leaves out what is old in the conversation: at once while the agent rests, else before its next turn",
        BuiltIn::Compact,
    ),
    runtime("context", "", "how much of the model's window is used", BuiltIn::Context),
    runtime("cost", "", "what the session used so far", BuiltIn::Cost),
    runtime("share", "FILE", "writes the session to a new Markdown file", BuiltIn::Share),
    terminal("mode", "[MODE]", "shows what is allowed without asking, or changes it", Screen::Mode),
    terminal("approvals", "", "what waits for your decision", Screen::Approvals),
    terminal("show", "[N]", "all of the last call, or of the one N calls ago (Ctrl-O)", Screen::Show),
    terminal("resume", "[ID]", "lists the sessions of this folder, or goes on with one", Screen::Resume),
    terminal("new", "", "begins a new session", Screen::New),
    terminal("keys", "", "the keys you can use", Screen::Keys),
    terminal("exit", "", "leaves (Ctrl-D)", Screen::Exit),
];

/// Commands that a later version has.
pub(super) const LATER: [&str; 3] = ["every", "after", "subconscious"];

/// Other names that people try.
pub(super) const ALIASES: [(&str, &str); 5] =
    [("quit", "exit"), ("last", "show"), ("clear", "new"), ("?", "help"), ("usage", "cost")];
