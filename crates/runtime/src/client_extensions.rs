//! What the program that drives a session brings along: tools that it runs itself, hooks that it answers, and words for
//! the session's own agent. Nothing of it is kept: whoever goes on with the session brings theirs.

use std::sync::Arc;

use protocol::HookSpec;
use tools::Tool;

/// What the program that drives a session brings along.
#[derive(Debug, Clone, Default)]
pub struct ClientExtensions {
    /// Tools that it runs. One of a name that is known already, ours or that of the first family of SDKs, takes its
    /// place.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Its hooks, besides those of the catalogue.
    pub hooks: Vec<HookSpec>,
    /// What answers those of them that are functions of the program.
    pub hook_driver: Option<Arc<dyn hooks::ClientHookCaller>>,
    /// What the session's own agent is told first.
    pub system: SystemText,
}

/// What the session's own agent is told first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SystemText {
    /// Our words.
    #[default]
    BuiltIn,
    /// Our words, and these after them.
    Appended(String),
    /// These words in place of ours.
    Replaced(String),
}

impl SystemText {
    /// The text, where ours is this.
    pub(crate) fn apply(&self, ours: String) -> String {
        match self {
            SystemText::BuiltIn => ours,
            SystemText::Appended(more) => format!("{ours}\n{}\n", more.trim()),
            SystemText::Replaced(theirs) => format!("{}\n", theirs.trim()),
        }
    }
}
