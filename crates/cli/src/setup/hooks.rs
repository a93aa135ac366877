//! From texts that hold hooks to hooks.

use config::{HookHolder, HookText, Problem, Severity, Spot};
use hooks::Place;
use protocol::HookSpec;

/// What a text says, and what is wrong with it.
pub(super) fn read(text: &HookText) -> (Vec<HookSpec>, Vec<Problem>) {
    let place = text.plugin.as_ref().map_or(Place::Folder, |root| Place::Plugin { root: root.clone() });
    let file = text.file.display().to_string();
    let (specs, problems) = match &text.holder {
        HookHolder::File | HookHolder::Settings => hooks::read(&text.text, &file, &place),
        HookHolder::Agent(_) => match serde_json::from_str(&text.text) {
            Ok(value) => hooks::read_value(&value, &file, &place),
            // It was made from what was read.
            Err(_no_json) => hooks::read(&text.text, &file, &place),
        },
    };
    (specs, problems.into_iter().map(|problem| told(text, problem)).collect())
}

/// Whether a text says that no hooks are to run, wherever they are written.
pub(super) fn disables_all(text: &HookText) -> bool {
    hooks::disables_all(&text.text)
}

fn told(text: &HookText, problem: hooks::Problem) -> Problem {
    let spot = |at: hooks::Position| {
        let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        Spot { line: number(at.line), column: number(at.column) }
    };
    Problem {
        file: text.file.clone(),
        at: problem.at.map(spot),
        severity: Severity::Warning,
        words: problem.message,
        remedy: problem.remedy,
    }
}
