//! Texts that hold hooks, as they were found. Another crate knows what they mean.

use std::path::PathBuf;

/// A text that holds hooks: JSON, in either family's form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookText {
    /// The file it was found in.
    pub file: PathBuf,
    /// What else the text is.
    pub holder: HookHolder,
    /// The plugin's folder, if it is one's.
    pub plugin: Option<PathBuf>,
    /// The text.
    pub text: String,
}

/// What a text with hooks is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookHolder {
    /// A file of hooks.
    File,
    /// A file of settings, whose `hooks` they are.
    Settings,
    /// The head of an agent's file, of which this is what `hooks` says.
    Agent(String),
}
