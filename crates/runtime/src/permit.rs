//! The one check under every tool call: what the call would do, as paths really lead, against what calls may do. It is
//! made before the call runs, and again for each file at the moment it is opened.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{Act, Ground, Policy, Request, Seen, Verdict, allow_flags};
use protocol::{Call, PermissionMode, RuleEffect};
use tools::{Need, Reach, Tool, ToolError, Use};

use crate::agent::Desk;
use crate::controls::Controls;
use crate::links;
use crate::look::{Surroundings, look};
use crate::outfit::Outfit;
use crate::sites::Site;

/// Whether a call may run.
#[derive(Debug, Clone)]
pub(crate) struct Judgement {
    pub(crate) verdict: Verdict,
    /// What it may open, if it runs.
    pub(crate) reach: Arc<dyn Reach>,
}

/// Judges a call on its final input; refuses one that is not well formed. It looks at files, which may take long, so
/// it does that on a thread of its own.
pub(crate) async fn judge(
    desk: &Arc<Desk>,
    outfit: &Arc<Outfit>,
    tool: &Arc<dyn Tool>,
    call: &Call,
) -> Result<Judgement, ToolError> {
    let (desk, outfit, tool, call) = (Arc::clone(desk), Arc::clone(outfit), Arc::clone(tool), call.clone());
    tokio::task::spawn_blocking(move || judge_now(&desk, outfit, &*tool, &call)).await.map_err(ToolError::broken)?
}

fn judge_now(desk: &Arc<Desk>, outfit: Arc<Outfit>, tool: &dyn Tool, call: &Call) -> Result<Judgement, ToolError> {
    let needs = tool.needs(&call.input, &desk.settings.tools)?;
    let policy = outfit.site.policy(desk.policy());
    let acts = needs.into_iter().map(|need| act(&outfit.site, &policy, need));
    let mut acts = acts.collect::<Result<Vec<Act>, ToolError>>()?;
    let elsewhere: Vec<Act> = acts.iter().flat_map(redirected).collect();
    acts.extend(elsewhere);
    let named = acts.iter().filter_map(named).collect();
    let controls = controls(desk, &outfit.site);
    let verdict = check(desk, (&outfit, &outfit.site), |path| controls.hold(path), &call.tool, acts);
    let permitted = Permitted { desk: Arc::clone(desk), outfit, controls, tool: call.tool.clone(), named, verdict };
    Ok(Judgement { verdict: permitted.verdict.clone(), reach: Arc::new(permitted) })
}

/// Judges a command that the runtime runs at a site for a call of this tool.
pub(crate) async fn judge_command(
    desk: &Arc<Desk>,
    outfit: &Arc<Outfit>,
    site: &Arc<Site>,
    tool: &'static str,
    command: &str,
) -> Result<Verdict, ToolError> {
    let (desk, outfit, site) = (Arc::clone(desk), Arc::clone(outfit), Arc::clone(site));
    let need = Need::Shell(command.to_owned());
    let judge = move || {
        let act = act(&site, &site.policy(desk.policy()), need)?;
        let acts = redirected(&act).into_iter().chain([act]).collect();
        let controls = controls(&desk, &site);
        Ok(check(&desk, (&outfit, &site), |path| controls.hold(path), tool, acts))
    };
    tokio::task::spawn_blocking(judge).await.map_err(ToolError::broken)?
}

/// What a person who may allow the call is told, and the model if nobody does.
pub(crate) fn denied(tool: &str, verdict: &Verdict) -> String {
    let flags = allow_flags(&verdict.rules());
    let remedy = flags.map(|flags| format!(" The user can permit it with `{flags}`.")).unwrap_or_default();
    format!("`{tool}` was not permitted: {}.{remedy} Go on without it and tell the user.", verdict.reason())
}

/// Decides, on paths as they are now. What a file is counts as much as what it is called.
fn check(
    desk: &Desk,
    (outfit, site): (&Outfit, &Site),
    held: impl Fn(&Path) -> bool,
    tool: &str,
    acts: Vec<Act>,
) -> Verdict {
    let policy = site.policy(desk.policy());
    let reached = acts.iter().find_map(|act| match act {
        Act::Shell { command, cwd, seen: _ } => links::reached(command, cwd, &held, &policy),
        Act::Read(path) | Act::Edit(path) => held(path).then(|| path.clone()),
        Act::Fetch(_) | Act::Agent(_) | Act::Session | Act::Other => None,
    });
    match reached {
        Some(path) => controlled(&path),
        None => policy.check(&outfit.role, &Request { tool: tool.to_owned(), acts }),
    }
}

fn controlled(path: &Path) -> Verdict {
    let part = path.display().to_string();
    Verdict { effect: RuleEffect::Deny, ground: Ground::Controls, part, rule: None, others: Vec::new() }
}

/// What no call at this site may reach. Checkouts of agents are not looked through for second names of it.
fn controls(desk: &Desk, site: &Site) -> Controls {
    let (policy, home) = (site.policy(desk.policy()), &desk.settings.home);
    Controls::new(&policy.controls, &policy.spared, vec![home.checkouts_dir(), home.trash_dir()])
}

fn act(site: &Site, policy: &Policy, need: Need) -> Result<Act, ToolError> {
    let real = |path: &str| {
        let place = site.workspace.resolve(path).map_err(|error| ToolError::Refused(error.to_string()))?;
        Ok::<PathBuf, ToolError>(place.path().to_owned())
    };
    Ok(match need {
        Need::Read(path) => Act::Read(real(&path)?),
        Need::Edit(path) => Act::Edit(real(&path)?),
        Need::Shell(command) => {
            let (cwd, seen) = (site.cwd().to_owned(), seen(site, policy, &command));
            Act::Shell { command, cwd, seen }
        }
        Need::Fetch(address) => Act::Fetch(address),
        Need::Agent(name) => Act::Agent(name),
        Need::Session => Act::Session,
        Need::Other => Act::Other,
    })
}

/// What the file system tells of a command. Where everything is allowed nobody asks for it.
fn seen(site: &Site, policy: &Policy, command: &str) -> Seen {
    if policy.mode == PermissionMode::AllowAll {
        return Seen::default();
    }
    let path = site.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    look(command, site.cwd(), Surroundings { roots: &policy.roots, controls: &policy.controls, path })
}

/// What the redirections of a command really open.
fn redirected(act: &Act) -> Vec<Act> {
    match act {
        Act::Shell { command, cwd, seen: _ } => links::redirects(command, cwd),
        Act::Read(_) | Act::Edit(_) | Act::Fetch(_) | Act::Agent(_) | Act::Session | Act::Other => Vec::new(),
    }
}

fn named(act: &Act) -> Option<(PathBuf, Use)> {
    match act {
        Act::Read(path) => Some((path.clone(), Use::Read)),
        Act::Edit(path) => Some((path.clone(), Use::Edit)),
        Act::Shell { .. } | Act::Fetch(_) | Act::Agent(_) | Act::Session | Act::Other => None,
    }
}

/// What a call was permitted: the paths it had when it was judged, and besides them only what needs no permission.
#[derive(Debug)]
struct Permitted {
    desk: Arc<Desk>,
    outfit: Arc<Outfit>,
    controls: Controls,
    tool: String,
    named: Vec<(PathBuf, Use)>,
    /// What was decided about the call, by a person if it says so.
    verdict: Verdict,
}

impl Permitted {
    fn names(&self, path: &Path, how: Use) -> bool {
        self.named.iter().any(|(named, granted)| path == named && (*granted == how || *granted == Use::Edit))
    }

    /// Whether somebody who permitted the call to look through a folder knew that this file would be looked at: the
    /// file is asked about for the very reason that the folder was.
    fn covers(&self, path: &Path, how: Use, verdict: &Verdict) -> bool {
        let below = |(named, granted): &(PathBuf, Use)| *granted == Use::Read && path.starts_with(named);
        let same = (verdict.effect, &verdict.ground) == (RuleEffect::Ask, &self.verdict.ground);
        how == Use::Read && same && self.named.iter().any(below)
    }

    fn check_with(&self, path: &Path, how: Use, held: impl Fn(&Path) -> bool) -> Result<(), ToolError> {
        if self.names(path, how) && !held(path) {
            return Ok(());
        }
        let act = match how {
            Use::Read => Act::Read(path.to_owned()),
            Use::Edit => Act::Edit(path.to_owned()),
        };
        let verdict = check(&self.desk, (&self.outfit, &self.outfit.site), held, &self.tool, vec![act]);
        if verdict.effect == RuleEffect::Allow || self.covers(path, how, &verdict) {
            return Ok(());
        }
        Err(refused(path, &verdict))
    }
}

fn refused(path: &Path, verdict: &Verdict) -> ToolError {
    let reason = verdict.reason();
    ToolError::Refused(format!("{} is not what the call was permitted to open: {reason}", path.display()))
}

impl Reach for Permitted {
    fn check(&self, path: &Path, how: Use) -> Result<(), ToolError> {
        self.check_with(path, how, |path| self.controls.hold(path))
    }

    fn check_name(&self, path: &Path, how: Use) -> Result<(), ToolError> {
        self.check_with(path, how, |path| self.controls.hold_name(path))
    }

    fn check_opened(&self, path: &Path, file: &Metadata) -> Result<(), ToolError> {
        if self.controls.hold_file(file) { Err(refused(path, &controlled(path))) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_can_be_typed_as_it_is_told() {
        let rule = Some("shell(git commit -m 'a b')".to_owned());
        let ground = Ground::Mode(PermissionMode::Default);
        let told =
            denied("shell", &Verdict { effect: RuleEffect::Ask, ground, part: "git".into(), rule, others: Vec::new() });
        assert!(told.contains(r"`--allow 'shell(git commit -m '\''a b'\'')'`."), "{told}");
    }
}
