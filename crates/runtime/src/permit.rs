//! The one check under every tool call: what the call would do, as paths really lead, against what calls may do.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Act, Request, Role, Verdict};
use protocol::{Call, RuleEffect};
use tools::{Need, Reach, Tool, ToolError, Use};

use crate::agent::Desk;

/// Whether a call may run.
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// What it may open, if it runs.
    pub(crate) reach: Arc<dyn Reach>,
}

/// Judges a call on its final input; refuses one that is not well formed.
pub(crate) fn judge(desk: &Desk, tool: &dyn Tool, call: &Call) -> Result<Judgement, ToolError> {
    let needs = tool.needs(&call.input, &desk.settings.tools)?;
    let acts = needs.into_iter().map(|need| act(desk, need)).collect::<Result<Vec<Act>, ToolError>>()?;
    let named: Vec<(PathBuf, Use)> = acts.iter().filter_map(named).collect();
    let verdict = desk.policy().check(&Role::default(), &Request { tool: call.tool.clone(), acts });
    Ok(Judgement { verdict, reach: Arc::new(Named { named }) })
}

/// What a person who may allow the call is told, and the model if nobody does.
pub(crate) fn denied(tool: &str, verdict: &Verdict) -> String {
    let remedy = match (&verdict.rule, verdict.effect) {
        (Some(rule), RuleEffect::Ask) => format!(" The user can permit it with `--allow '{rule}'`."),
        (Some(_) | None, _) => String::new(),
    };
    format!("`{tool}` was not permitted: {}. Go on without it and tell the user.{remedy}", verdict.reason())
}

fn act(desk: &Desk, need: Need) -> Result<Act, ToolError> {
    let real = |path: &str| {
        let place = desk.workspace.resolve(path).map_err(|error| ToolError::Refused(error.to_string()))?;
        Ok::<PathBuf, ToolError>(place.path().to_owned())
    };
    Ok(match need {
        Need::Read(path) => Act::Read(real(&path)?),
        Need::Edit(path) => Act::Edit(real(&path)?),
        Need::Shell(command) => Act::Shell { command, cwd: desk.workspace.cwd().to_owned() },
        Need::Fetch(address) => Act::Fetch(address),
        Need::Session => Act::Session,
    })
}

fn named(act: &Act) -> Option<(PathBuf, Use)> {
    match act {
        Act::Read(path) => Some((path.clone(), Use::Read)),
        Act::Edit(path) => Some((path.clone(), Use::Edit)),
        Act::Shell { .. } | Act::Fetch(_) | Act::Session | Act::Other => None,
    }
}

/// What a call named when it was judged.
#[derive(Debug)]
struct Named {
    named: Vec<(PathBuf, Use)>,
}

impl Reach for Named {
    fn check(&self, path: &Path, how: Use) -> Result<(), ToolError> {
        let covers = |(named, granted): &(PathBuf, Use)| match (granted, how) {
            (Use::Edit, _) => path == named,
            (Use::Read, Use::Read) => path.starts_with(named),
            (Use::Read, Use::Edit) => false,
        };
        if self.named.iter().any(covers) {
            return Ok(());
        }
        let shown = path.display();
        Err(ToolError::Refused(format!(
            "{shown} is not what the call was permitted to open: the path leads elsewhere now"
        )))
    }
}
