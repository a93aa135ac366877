//! Decides about files.

use std::path::Path;
use std::sync::LazyLock;

use protocol::{PermissionMode, RuleEffect};

use super::{DefaultDecision, deny_control};
use crate::pattern::FoldedPath;
use crate::request::RequestPart;
use crate::{Policy, Rule, RuleSource, Verdict, VerdictBasis};

/// How a file is used.
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

/// Rules that ask in every mode. Git runs programs from its own folder and from the usual hook folders of projects, and
/// the user's own skills reach agents in every project.
const ASK_RULES: [&str; 6] = [
    "edit(.git)",
    "edit(.husky)",
    "edit(.githooks)",
    "edit(~/.claude/skills)",
    "edit(~/.copilot/skills)",
    "edit(~/.agents/skills)",
];

/// Rules that always apply.
pub(super) fn built_in_rules() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
        let rules = ASK_RULES.iter().map(|text| Rule::parse(RuleEffect::Ask, text, RuleSource::BuiltIn));
        rules.flatten().collect()
    });
    &RULES
}

impl Policy {
    /// Decides about a file that a tool opens. The tool keeps it inside the workspace.
    pub(super) fn judge_file(&self, tool: &str, path: &Path, how: FileUse) -> Verdict {
        let file = FoldedPath::new(path);
        self.judge_opened_file(tool, path, how.part(&file), self.default_by_mode(&how.part(&file)))
    }

    /// Decides about a file that the shell itself opens, which may be outside the workspace.
    pub(super) fn judge_redirect_file(&self, tool: &str, path: &Path, how: FileUse, cwd: &Path) -> Verdict {
        let file = FoldedPath::new(path);
        let by_mode = self.default_by_mode(&how.part(&file));
        let outside = self.mode != PermissionMode::AllowAll && !self.is_inside(path, cwd);
        let default = match by_mode.effect {
            RuleEffect::Allow | RuleEffect::Ask if outside => {
                DefaultDecision { effect: RuleEffect::Ask, basis: VerdictBasis::Outside }
            }
            RuleEffect::Allow | RuleEffect::Ask | RuleEffect::Deny => by_mode,
        };
        self.judge_opened_file(tool, path, how.part(&file), default)
    }

    /// Decides about a file whose name only the shell can determine.
    pub(super) fn judge_unknown_file(&self, tool: &str, written: &str, how: FileUse) -> Verdict {
        let part = match how {
            FileUse::Read => RequestPart::ReadUnknown,
            FileUse::Edit => RequestPart::EditUnknown,
        };
        let default = match self.default_by_mode(&part) {
            by_mode if self.mode == PermissionMode::AllowAll || by_mode.effect == RuleEffect::Deny => by_mode,
            _usual => DefaultDecision {
                effect: RuleEffect::Ask,
                basis: VerdictBasis::Unclear("the file is only known when it runs".into()),
            },
        };
        self.decide(tool, &part, written.to_owned(), default)
    }

    /// The path for display: relative to the project's folder, if it is inside.
    fn display_path(&self, path: &Path) -> String {
        match path.strip_prefix(&self.project_dir) {
            Ok(below) if below.as_os_str().is_empty() => ".".into(),
            Ok(below) => below.display().to_string(),
            Err(_elsewhere) => path.display().to_string(),
        }
    }

    fn judge_opened_file(&self, tool: &str, path: &Path, part: RequestPart<'_>, default: DefaultDecision) -> Verdict {
        let shown = self.display_path(path);
        if self.is_control(path) { deny_control(shown) } else { self.decide(tool, &part, shown, default) }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_built_in_rule_is_valid() {
        assert_eq!(super::built_in_rules().len(), super::ASK_RULES.len());
    }
}
