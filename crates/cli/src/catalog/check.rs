//! Everything that is wrong, with file, line and remedy.

use config::{AgentConfig, Problem, Severity};
use serde::Serialize;

use crate::exit::Exit;
use crate::print;
use crate::setup::{Found, remote_words};

/// What is wrong, as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a> {
    agents: usize,
    skills: usize,
    commands: usize,
    problems: &'a [Problem],
    /// Other things that a person should know.
    notices: &'a [String],
}

pub(super) fn check(found: &Found, agents: &AgentConfig, json: bool, strict: bool) -> Exit {
    let gathered = &found.gathered;
    let remote = remote_words(&gathered.remote).map(|(_, words)| words);
    let pressure = found.pressure(agents).map(|pressure| pressure.to_string());
    let notices: Vec<String> = remote.into_iter().chain(pressure).collect();
    let (problems, counts) = (&gathered.problems, (gathered.effective().count(), gathered.effective_skills().count()));
    if json {
        let commands = gathered.effective_slashes().count();
        print::json(&Written { agents: counts.0, skills: counts.1, commands, problems, notices: &notices });
    } else {
        for problem in problems {
            let line = format!("{}: {problem}", problem.severity.word());
            print::answer(print::plain(&line).replace(['\n', '\t'], " "));
        }
        notices.iter().for_each(|notice| print::answer(print::plain(&format!("warning: {notice}"))));
        if problems.is_empty() && notices.is_empty() {
            let (agents, skills) = (print::count(counts.0, "agent"), print::count(counts.1, "skill"));
            print::answer(format_args!("{agents} and {skills}, and nothing is wrong"));
        }
    }
    let is_error = |problem: &Problem| problem.severity == Severity::Error;
    if problems.iter().any(is_error) || (strict && !(problems.is_empty() && notices.is_empty())) {
        Exit::Failed
    } else {
        Exit::Success
    }
}
