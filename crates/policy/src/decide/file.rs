//! Deciding about files.

use std::path::Path;
use std::sync::LazyLock;

use protocol::{PermissionMode, RuleEffect};

use super::{DefaultDecision, deny_control};
use crate::pattern::FoldedPath;
use crate::request::RequestPart;
use crate::{Policy, Rule, RuleSource, Verdict, VerdictBasis};

/// What a file is used for.
#[derive(Debug, Clone, Copy)]
pub(super) enum FileUse {
    Read,
    Edit,
}

impl FileUse {
    fn part<'a>(self, file: &'a FoldedPath<'a>) -> RequestPart<'a> {
        match self {
            FileUse::Read => RequestPart::Read(file),
            FileUse::Edit => RequestPart::Edit(file),
        }
    }
}

/// What is asked about in every mode but allow-all's: what git reads from its own folder, and where the hooks of projects
/// usually lie, it also runs, and the user's own skills are told to agents in every project.
const ASK_RULES: [&str; 6] = [
    "edit(.git)",
    "edit(.husky)",
    "edit(.githooks)",
    "edit(~/.claude/skills)",
    "edit(~/.copilot/skills)",
    "edit(~/.agents/skills)",
];

/// Rules that always hold.
pub(super) fn built_in() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let rules = ASK_RULES.iter().map(|text| Rule::parse(RuleEffect::Ask, text, RuleSource::BuiltIn));
        rules.flatten().collect()
    });
    &RULES
}

impl Policy {
    /// A file that a tool opens, which keeps it inside the workspace.
    pub(super) fn file(&self, tool: &str, path: &Path, how: FileUse) -> Verdict {
        let file = FoldedPath::new(path);
        self.opened_file(tool, path, how.part(&file), self.by_mode(&how.part(&file)))
    }

    /// A file that the shell itself opens, which nobody keeps inside the workspace.
    pub(super) fn redirect(&self, tool: &str, path: &Path, how: FileUse, cwd: &Path) -> Verdict {
        let file = FoldedPath::new(path);
        let usual = self.by_mode(&how.part(&file));
        let outside = self.mode != PermissionMode::AllowAll && !self.is_inside(path, cwd);
        let otherwise = match usual.effect {
            RuleEffect::Allow | RuleEffect::Ask if outside => {
                DefaultDecision { effect: RuleEffect::Ask, basis: VerdictBasis::Outside }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => usual,
        };
        self.opened_file(tool, path, how.part(&file), otherwise)
    }

    /// A file that only the shell knows.
    pub(super) fn unknown_file(&self, tool: &str, written: &str, how: FileUse) -> Verdict {
        let part = match how {
            FileUse::Read => RequestPart::ReadUnknown,
            FileUse::Edit => RequestPart::EditUnknown,
        };
        let otherwise = match self.by_mode(&part) {
            usual if self.mode == PermissionMode::AllowAll || usual.effect == RuleEffect::Deny => usual,
            _usual => DefaultDecision {
                effect: RuleEffect::Ask,
                basis: VerdictBasis::Unclear("which file it is only shows when it runs".into()),
            },
        };
        self.decide(tool, &part, written.to_owned(), otherwise)
    }

    /// The path as people know it: from the project's top, if it lies there.
    fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.top) {
            Ok(below) if below.as_os_str().is_empty() => ".".into(),
            Ok(below) => below.display().to_string(),
            Err(_elsewhere) => path.display().to_string(),
        }
    }

    fn opened_file(&self, tool: &str, path: &Path, part: RequestPart<'_>, otherwise: DefaultDecision) -> Verdict {
        let named = self.shown(path);
        if self.is_control(path) { deny_control(named) } else { self.decide(tool, &part, named, otherwise) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_of_our_own_is_well_formed() {
        assert_eq!(super::built_in().len(), super::ASK_RULES.len());
    }
}
