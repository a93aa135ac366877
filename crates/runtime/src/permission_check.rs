//! The single permission check for tool calls: compares the acts of a call, with their paths resolved, to the policy.
//! It runs before the call, and again for each file when it is opened.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use policy::{FilesystemFacts, PermissionRequest, Policy, RequestedAct, Verdict, VerdictBasis, allow_flags};
use protocol::{PermissionMode, RuleEffect, ToolCallRequest};
use tools::{FileAccess, FileAccessGuard, RequiredPermission, Tool, ToolError};

use crate::agent::SessionContext;
use crate::command_inspection::{InspectionScope, inspect_command};
use crate::command_paths;
use crate::prepared_agent::PreparedAgent;
use crate::protected_files::ControlFiles;
use crate::task_workspaces::TaskWorkspace;

/// Whether a call may run.
#[derive(Debug, Clone)]
pub(crate) struct CallPermission {
    pub(crate) verdict: Verdict,
    /// Checks the files that it opens while it runs.
    pub(crate) file_guard: Arc<dyn FileAccessGuard>,
}

/// Judges a call by its final input; refuses one that is not well formed. It reads files, which may take long, so it
/// uses a separate thread.
pub(crate) async fn judge_call(
    context: &Arc<SessionContext>,
    prepared: &Arc<PreparedAgent>,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
) -> Result<CallPermission, ToolError> {
    let (context, prepared, tool, call) = (Arc::clone(context), Arc::clone(prepared), Arc::clone(tool), call.clone());
    tokio::task::spawn_blocking(move || judge_call_blocking(&context, prepared, &*tool, &call))
        .await
        .map_err(ToolError::broken)?
}

fn judge_call_blocking(
    context: &Arc<SessionContext>,
    prepared: Arc<PreparedAgent>,
    tool: &dyn Tool,
    call: &ToolCallRequest,
) -> Result<CallPermission, ToolError> {
    let needs = tool.required_permissions(&call.input, &context.settings.tools)?;
    let policy = prepared.task_workspace.policy(context.policy());
    let acts = needs.into_iter().map(|need| act(&prepared.task_workspace, &policy, need));
    let mut acts = acts.collect::<Result<Vec<RequestedAct>, ToolError>>()?;
    let elsewhere: Vec<RequestedAct> = acts.iter().flat_map(redirect_acts).collect();
    acts.extend(elsewhere);
    let named = acts.iter().filter_map(named_path).collect();
    let controls = controls(context, &prepared.task_workspace);
    let verdict =
        check(context, (&prepared, &prepared.task_workspace), |path| controls.contains(path), &call.tool, acts);
    let permitted = PermittedCall {
        context: Arc::clone(context),
        agent: prepared,
        controls,
        tool: call.tool.clone(),
        named_paths: named,
        verdict,
    };
    Ok(CallPermission { verdict: permitted.verdict.clone(), file_guard: Arc::new(permitted) })
}

/// Judges a command that the runtime runs in a workspace for a call of this tool.
pub(crate) async fn judge_command(
    context: &Arc<SessionContext>,
    prepared: &Arc<PreparedAgent>,
    site: &Arc<TaskWorkspace>,
    tool: &'static str,
    command: &str,
) -> Result<Verdict, ToolError> {
    let (context, prepared, site) = (Arc::clone(context), Arc::clone(prepared), Arc::clone(site));
    let need = RequiredPermission::Shell(command.to_owned());
    let judge = move || {
        let act = act(&site, &site.policy(context.policy()), need)?;
        let acts = redirect_acts(&act).into_iter().chain([act]).collect();
        let controls = controls(&context, &site);
        Ok(check(&context, (&prepared, &site), |path| controls.contains(path), tool, acts))
    };
    tokio::task::spawn_blocking(judge).await.map_err(ToolError::broken)?
}

/// The denial shown to the user, who may allow the call, and to the model if the user does not.
pub(crate) fn denial_text(tool: &str, verdict: &Verdict) -> String {
    let flags = allow_flags(&verdict.rules());
    let remedy = flags.map(|flags| format!(" The user can permit it with `{flags}`.")).unwrap_or_default();
    format!("`{tool}` was not permitted: {}.{remedy} Continue without it and tell the user.", verdict.reason())
}

/// Decides by the paths as they are now. A control file is recognised by its identity as well as by its name.
fn check(
    context: &SessionContext,
    (prepared, site): (&PreparedAgent, &TaskWorkspace),
    is_control: impl Fn(&Path) -> bool,
    tool: &str,
    acts: Vec<RequestedAct>,
) -> Verdict {
    let policy = site.policy(context.policy());
    let reached = acts.iter().find_map(|act| match act {
        RequestedAct::Shell { command, cwd, facts: _ } => {
            command_paths::find_reached_control(command, cwd, &is_control, &policy)
        }
        RequestedAct::Read(path) | RequestedAct::Edit(path) => is_control(path).then(|| path.clone()),
        RequestedAct::Fetch(_) | RequestedAct::Agent(_) | RequestedAct::Session | RequestedAct::Other => None,
    });
    match reached {
        Some(path) => control_file_verdict(&path),
        None => policy.check(&prepared.role, &PermissionRequest { tool: tool.to_owned(), acts }),
    }
}

fn control_file_verdict(path: &Path) -> Verdict {
    let part = path.display().to_string();
    Verdict { effect: RuleEffect::Deny, basis: VerdictBasis::Controls, part, rule: None, others: Vec::new() }
}

/// The files that no call in this workspace may reach. Agents' checkouts are not searched for hard links to them.
fn controls(context: &SessionContext, site: &TaskWorkspace) -> ControlFiles {
    let (policy, home) = (site.policy(context.policy()), &context.settings.home);
    ControlFiles::new(&policy.controls, &policy.exempt, vec![home.checkouts_dir(), home.trash_dir()])
}

fn act(site: &TaskWorkspace, policy: &Policy, need: RequiredPermission) -> Result<RequestedAct, ToolError> {
    let real = |path: &str| {
        let place = site.workspace.resolve(path).map_err(|error| ToolError::Refused(error.to_string()))?;
        Ok::<PathBuf, ToolError>(place.path().to_owned())
    };
    Ok(match need {
        RequiredPermission::Read(path) => RequestedAct::Read(real(&path)?),
        RequiredPermission::Edit(path) => RequestedAct::Edit(real(&path)?),
        RequiredPermission::Shell(command) => {
            let (cwd, facts) = (site.cwd().to_owned(), inspect(site, policy, &command));
            RequestedAct::Shell { command, cwd, facts }
        }
        RequiredPermission::Fetch(address) => RequestedAct::Fetch(address),
        RequiredPermission::Agent(name) => RequestedAct::Agent(name),
        RequiredPermission::Session => RequestedAct::Session,
        RequiredPermission::Other => RequestedAct::Other,
    })
}

/// The file system facts of a command; not needed where everything is allowed.
fn inspect(site: &TaskWorkspace, policy: &Policy, command: &str) -> FilesystemFacts {
    if policy.mode == PermissionMode::AllowAll {
        return FilesystemFacts::default();
    }
    let path = site.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    inspect_command(command, site.cwd(), InspectionScope { roots: &policy.roots, controls: &policy.controls, path })
}

/// The files that the redirections of a command really open.
fn redirect_acts(act: &RequestedAct) -> Vec<RequestedAct> {
    match act {
        RequestedAct::Shell { command, cwd, facts: _ } => command_paths::resolved_redirects(command, cwd),
        RequestedAct::Read(_)
        | RequestedAct::Edit(_)
        | RequestedAct::Fetch(_)
        | RequestedAct::Agent(_)
        | RequestedAct::Session
        | RequestedAct::Other => Vec::new(),
    }
}

fn named_path(act: &RequestedAct) -> Option<(PathBuf, FileAccess)> {
    match act {
        RequestedAct::Read(path) => Some((path.clone(), FileAccess::Read)),
        RequestedAct::Edit(path) => Some((path.clone(), FileAccess::Edit)),
        RequestedAct::Shell { .. }
        | RequestedAct::Fetch(_)
        | RequestedAct::Agent(_)
        | RequestedAct::Session
        | RequestedAct::Other => None,
    }
}

/// The permission of a call: the paths that it named when it was judged, and files that need no permission.
#[derive(Debug)]
struct PermittedCall {
    context: Arc<SessionContext>,
    agent: Arc<PreparedAgent>,
    controls: ControlFiles,
    tool: String,
    named_paths: Vec<(PathBuf, FileAccess)>,
    /// The verdict on the call; if it is `Ask`, the user has permitted the call.
    verdict: Verdict,
}

impl PermittedCall {
    fn names(&self, path: &Path, how: FileAccess) -> bool {
        self.named_paths
            .iter()
            .any(|(named, granted)| path == named && (*granted == how || *granted == FileAccess::Edit))
    }

    /// Whether the user's permission to search a folder covers this file: the file needs permission for the same reason
    /// as the folder.
    fn covers(&self, path: &Path, how: FileAccess, verdict: &Verdict) -> bool {
        let below = |(named, granted): &(PathBuf, FileAccess)| *granted == FileAccess::Read && path.starts_with(named);
        let same = (verdict.effect, &verdict.basis) == (RuleEffect::Ask, &self.verdict.basis);
        how == FileAccess::Read && same && self.named_paths.iter().any(below)
    }

    fn check_with(&self, path: &Path, how: FileAccess, is_control: impl Fn(&Path) -> bool) -> Result<(), ToolError> {
        if self.names(path, how) && !is_control(path) {
            return Ok(());
        }
        let act = match how {
            FileAccess::Read => RequestedAct::Read(path.to_owned()),
            FileAccess::Edit => RequestedAct::Edit(path.to_owned()),
        };
        let verdict =
            check(&self.context, (&self.agent, &self.agent.task_workspace), is_control, &self.tool, vec![act]);
        if verdict.effect == RuleEffect::Allow || self.covers(path, how, &verdict) {
            return Ok(());
        }
        Err(refused_path(path, &verdict))
    }
}

fn refused_path(path: &Path, verdict: &Verdict) -> ToolError {
    let reason = verdict.reason();
    ToolError::Refused(format!("{} is not permitted for this call: {reason}", path.display()))
}

impl FileAccessGuard for PermittedCall {
    fn check(&self, path: &Path, how: FileAccess) -> Result<(), ToolError> {
        self.check_with(path, how, |path| self.controls.contains(path))
    }

    fn check_name(&self, path: &Path, how: FileAccess) -> Result<(), ToolError> {
        self.check_with(path, how, |path| self.controls.contains_path(path))
    }

    fn check_opened(&self, path: &Path, file: &Metadata) -> Result<(), ToolError> {
        if self.controls.contains_file(file) { Err(refused_path(path, &control_file_verdict(path))) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remedy_can_be_typed_as_it_is_told() {
        let rule = Some("shell(git commit -m 'a b')".to_owned());
        let ground = VerdictBasis::Mode(PermissionMode::Default);
        let told = denial_text(
            "shell",
            &Verdict { effect: RuleEffect::Ask, basis: ground, part: "git".into(), rule, others: Vec::new() },
        );
        assert!(told.contains(r"`--allow 'shell(git commit -m '\''a b'\'')'`."), "{told}");
    }
}
