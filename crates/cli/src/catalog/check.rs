//! `bosun catalog check`: problems with file, line and remedy.

use config::{AgentConfig, DefinitionProblem, LoadedCatalog, Severity};
use host::{Clock, SystemClock};
use protocol::api::{CatalogProblems, DefinitionProblemView, ProblemSeverity};
use serde::Serialize;
use tui::print;

use crate::exit::CommandExit;

/// Problems as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CatalogCheckOutput<'a> {
    agents: usize,
    skills: usize,
    commands: usize,
    problems: &'a [DefinitionProblem],
    /// Other warnings.
    notices: &'a [String],
}

pub(super) fn check(catalog: &LoadedCatalog, agents: &AgentConfig, json: bool, strict: bool) -> CommandExit {
    let listing = &catalog.listing;
    let notices = other_warnings(catalog, agents);
    let (problems, counts) = (&listing.problems, (listing.effective().count(), listing.effective_skills().count()));
    if json {
        let commands = listing.effective_slash_commands().count();
        print::json(&CatalogCheckOutput { agents: counts.0, skills: counts.1, commands, problems, notices: &notices });
    } else {
        for problem in problems {
            let line = format!("{}: {problem}", problem.severity.as_str());
            print::output(print::sanitize(&line).replace(['\n', '\t'], " "));
        }
        notices.iter().for_each(|notice| print::output(print::sanitize(&format!("warning: {notice}"))));
        if problems.is_empty() && notices.is_empty() {
            let (agents, skills) = (print::pluralize(counts.0, "agent"), print::pluralize(counts.1, "skill"));
            print::output(format_args!("{agents} and {skills}, no problems"));
        }
    }
    let is_error = |problem: &DefinitionProblem| problem.severity == Severity::Error;
    if problems.iter().any(is_error) || (strict && !(problems.is_empty() && notices.is_empty())) {
        CommandExit::Failed
    } else {
        CommandExit::Success
    }
}

/// The problems as other clients see them.
pub(super) fn view(catalog: &LoadedCatalog, agents: &AgentConfig) -> CatalogProblems {
    let listing = &catalog.listing;
    CatalogProblems {
        agents: listing.effective().count() as u64,
        skills: listing.effective_skills().count() as u64,
        commands: listing.effective_slash_commands().count() as u64,
        problems: listing.problems.iter().map(problem_view).collect(),
        notices: other_warnings(catalog, agents),
    }
}

/// Warnings that are about no definition.
fn other_warnings(catalog: &LoadedCatalog, agents: &AgentConfig) -> Vec<String> {
    let remote = catalog.listing.remote.problem(SystemClock.now()).map(|(_, message)| message);
    let overflow = catalog.description_overflow(agents).map(|overflow| overflow.to_string());
    remote.into_iter().chain(overflow).collect()
}

fn problem_view(problem: &DefinitionProblem) -> DefinitionProblemView {
    DefinitionProblemView {
        file: problem.file.display().to_string(),
        line: problem.at.map(|at| at.line),
        column: problem.at.map(|at| at.column),
        severity: match problem.severity {
            Severity::Error => ProblemSeverity::Error,
            Severity::Warning => ProblemSeverity::Warning,
            Severity::Untrusted => ProblemSeverity::Untrusted,
        },
        message: problem.message.clone(),
        remedy: problem.remedy.clone(),
    }
}
