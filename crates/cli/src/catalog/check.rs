//! `bosun catalog check`: problems with file, line and remedy.

use config::{AgentConfig, DefinitionProblem, LoadedCatalog, Severity};
use protocol::api::CatalogProblems;
use serde::Serialize;
use tui::print;

use crate::exit::CommandExit;

/// Problems as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CatalogCheckOutput<'a> {
    agents: u64,
    skills: u64,
    commands: u64,
    problems: &'a [DefinitionProblem],
    /// Other warnings.
    notices: &'a [String],
}

pub(super) fn check(catalog: &LoadedCatalog, agents: &AgentConfig, json: bool, strict: bool) -> CommandExit {
    let problems = &catalog.listing.problems;
    let CatalogProblems { agents, skills, commands, notices, .. } = config::catalog_problems(catalog, agents);
    if json {
        print::json(&CatalogCheckOutput { agents, skills, commands, problems, notices: &notices });
    } else {
        for problem in problems {
            let line = format!("{}: {problem}", problem.severity.as_str());
            print::output(print::sanitize(&line).replace(['\n', '\t'], " "));
        }
        notices.iter().for_each(|notice| print::output(print::sanitize(&format!("warning: {notice}"))));
        if problems.is_empty() && notices.is_empty() {
            let count = |number: u64, noun| print::pluralize(usize::try_from(number).unwrap_or(usize::MAX), noun);
            print::output(format_args!("{} and {}, no problems", count(agents, "agent"), count(skills, "skill")));
        }
    }
    let is_error = |problem: &DefinitionProblem| problem.severity == Severity::Error;
    if problems.iter().any(is_error) || (strict && !(problems.is_empty() && notices.is_empty())) {
        CommandExit::Failed
    } else {
        CommandExit::Success
    }
}
