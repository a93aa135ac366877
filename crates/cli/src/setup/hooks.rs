//! From texts that hold hooks to hooks.

use config::{HookText, Problem, Severity};
use protocol::HookSpec;

/// What a text says, and what is wrong with it.
pub(super) fn read(text: &HookText) -> (Vec<HookSpec>, Vec<Problem>) {
    let problem = Problem {
        file: text.file.clone(),
        at: None,
        severity: Severity::Warning,
        words: "its hooks are not run by this version".into(),
        remedy: "nothing else of it is lost".into(),
    };
    (Vec::new(), vec![problem])
}
