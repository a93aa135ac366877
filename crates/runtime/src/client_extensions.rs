//! Extensions from the program that drives a session: tools that it runs itself, hooks that it answers, and system
//! prompt text for the root. They are not stored: a program that resumes the session supplies its own.

use std::sync::Arc;

use protocol::HookSpec;
use tools::{Tool, ToolCatalog};

/// Extensions from the program that drives a session.
#[derive(Debug, Clone, Default)]
pub struct ClientExtensions {
    /// Tools that the program runs. Each replaces the tool that has this name in Bosun or in the Copilot SDK.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Tools of the program that come and go while the session runs.
    pub catalog: Option<Arc<dyn ToolCatalog>>,
    /// The program's hooks, in addition to those of the catalogue.
    pub hooks: Vec<HookSpec>,
    /// Calls the hooks that are functions of the program.
    pub hook_driver: Option<Arc<dyn hooks::ClientHookCaller>>,
    /// The root's system prompt.
    pub system_text: SystemText,
}

/// How the program changes the root's system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SystemText {
    /// The built-in text.
    #[default]
    BuiltIn,
    /// The built-in text, followed by this one.
    Appended(String),
    /// This text instead of the built-in one.
    Replaced(String),
}

impl SystemText {
    /// Applies the change to the built-in text.
    pub(crate) fn apply(&self, built_in: String) -> String {
        match self {
            SystemText::BuiltIn => built_in,
            SystemText::Appended(text) => format!("{built_in}\n{}\n", text.trim()),
            SystemText::Replaced(text) => format!("{}\n", text.trim()),
        }
    }
}
