//! The single permission check for tool calls: compares the acts of a call, with their paths resolved, to the policy.
//! It runs before the call, and again for each file when it is opened.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host::{PathError, Workspace};
use policy::{AgentRole, FilesystemFacts, PermissionRequest, Policy, RequestedAct, Verdict, VerdictBasis, allow_flags};
use protocol::{PermissionMode, RuleEffect, ToolCallRequest, tool_name};
use tools::{FileAccess, FileAccessGuard, RequiredPermission, Tool, ToolError};

use crate::command_inspection::{InspectionScope, inspect_command};
use crate::command_paths;
use crate::prepared_agent::PreparedAgent;
use crate::protected_files::ControlFiles;
use crate::session_context::Workplace;
use crate::settings::OutsideFiles;
use crate::task_workspaces::TaskWorkspace;

/// Whether a call may run.
#[derive(Debug, Clone)]
pub(crate) struct CallPermission {
    pub(crate) verdict: Verdict,
    /// Checks the files that it opens while it runs.
    pub(crate) file_guard: Arc<dyn FileAccessGuard>,
}

/// Judges a call by its final input; refuses malformed input. Judging reads files, which may take long, so it runs on a
/// separate thread.
pub(crate) async fn judge_call(
    workplace: &Arc<Workplace>,
    prepared: &Arc<PreparedAgent>,
    tool: &Arc<dyn Tool>,
    call: &ToolCallRequest,
) -> Result<CallPermission, ToolError> {
    let (workplace, prepared, tool, call) =
        (Arc::clone(workplace), Arc::clone(prepared), Arc::clone(tool), call.clone());
    tokio::task::spawn_blocking(move || judge_call_blocking(&workplace, prepared, &*tool, &call))
        .await
        .map_err(ToolError::failed)?
}

fn judge_call_blocking(
    workplace: &Arc<Workplace>,
    prepared: Arc<PreparedAgent>,
    tool: &dyn Tool,
    call: &ToolCallRequest,
) -> Result<CallPermission, ToolError> {
    let needs = tool.required_permissions(&call.input, &workplace.facts.tools)?;
    let policy = prepared.task_workspace.policy(workplace.policy());
    let mut paths = CallPaths::new(&prepared.task_workspace);
    let acts = needs.into_iter().map(|need| requested_act(&mut paths, &policy, need));
    let mut acts = acts.collect::<Result<Vec<RequestedAct>, ToolError>>()?;
    let CallPaths { workspace, outside, .. } = paths;
    let redirected: Vec<RequestedAct> = acts.iter().flat_map(redirect_acts).collect();
    acts.extend(redirected);
    let named = acts.iter().filter_map(named_path).collect();
    let controls = control_files(workplace, &prepared.task_workspace);
    let judged = tools::judged_name(&call.tool, &call.input).unwrap_or_else(|| call.tool.clone());
    let asked = ask_outside(&policy, &prepared, &judged, &acts, &outside);
    let verdict = check(&policy, &prepared, |path| controls.contains(path), &judged, acts);
    let verdict = asked.filter(|_| verdict.effect == RuleEffect::Allow).unwrap_or(verdict);
    let permitted = PermittedCall {
        workplace: Arc::clone(workplace),
        agent: prepared,
        workspace: (!outside.is_empty()).then_some(workspace),
        controls,
        tool: call.tool.clone(),
        named_paths: named,
        verdict,
    };
    Ok(CallPermission { verdict: permitted.verdict.clone(), file_guard: Arc::new(permitted) })
}

/// Judges a command that the runtime runs in a workspace for a call of this tool. Nobody waits to be asked about it, so one
/// that only reads is allowed even if agents must ask about reading.
pub(crate) async fn judge_command(
    workplace: &Arc<Workplace>,
    prepared: &Arc<PreparedAgent>,
    task_workspace: &Arc<TaskWorkspace>,
    tool: &'static str,
    command: &str,
) -> Result<Verdict, ToolError> {
    let (workplace, prepared, task_workspace) =
        (Arc::clone(workplace), Arc::clone(prepared), Arc::clone(task_workspace));
    let need = RequiredPermission::Shell(command.to_owned());
    let judge = move || {
        let policy = task_workspace.policy(workplace.policy());
        let policy = Policy { asks_reads: false, ..Policy::clone(&policy) };
        let act = requested_act(&mut CallPaths::new(&task_workspace), &policy, need)?;
        let acts = redirect_acts(&act).into_iter().chain([act]).collect();
        let controls = control_files(&workplace, &task_workspace);
        Ok(check(&policy, &prepared, |path| controls.contains(path), tool, acts))
    };
    tokio::task::spawn_blocking(judge).await.map_err(ToolError::failed)?
}

/// The denial for the model, which cannot allow the call.
pub(crate) fn denial_text(tool: &str, verdict: &Verdict) -> String {
    protocol::denial_text(tool, &verdict.reason(), allow_flags(&verdict.suggested_rules()).as_deref())
}

/// Decides by the paths as they are now. A control file is recognised by its identity as well as by its name.
fn check(
    policy: &Policy,
    prepared: &PreparedAgent,
    is_control: impl Fn(&Path) -> bool,
    tool: &str,
    acts: Vec<RequestedAct>,
) -> Verdict {
    let reached = acts.iter().find_map(|act| match act {
        RequestedAct::Shell { command, cwd, facts: _ } => {
            command_paths::find_reached_control(command, cwd, &is_control, policy)
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
    Verdict { effect: RuleEffect::Deny, basis: VerdictBasis::Controls, part, suggested_rule: None, others: Vec::new() }
}

/// Whether files may be restored when the user goes back. The user decides about that, so the mode does not matter, but
/// deny rules and the protection of control files do.
pub(crate) struct RestorePermissions {
    policy: Arc<Policy>,
    controls: ControlFiles,
}

impl RestorePermissions {
    pub(crate) fn new(workplace: &Workplace, task_workspace: &TaskWorkspace) -> RestorePermissions {
        let policy = task_workspace.policy(workplace.policy());
        RestorePermissions { policy, controls: control_files(workplace, task_workspace) }
    }

    /// Whether this file may be restored.
    pub(crate) fn permit(&self, path: &Path) -> bool {
        if self.controls.contains(path) {
            return false;
        }
        let acts = vec![RequestedAct::Edit(path.to_owned())];
        let request = PermissionRequest { tool: tool_name::EDIT.to_owned(), acts };
        let verdict = self.policy.check(&AgentRole::default(), &request);
        verdict.effect != RuleEffect::Deny || matches!(verdict.basis, VerdictBasis::Mode(_))
    }
}

/// The files that no call in this workspace may reach. Agents' checkouts are not searched for hard links to them.
fn control_files(workplace: &Workplace, task_workspace: &TaskWorkspace) -> ControlFiles {
    let (policy, home) = (task_workspace.policy(workplace.policy()), &workplace.facts.home);
    ControlFiles::new(&policy.control_paths, &policy.exempt_folders, vec![home.checkouts_dir(), home.trash_dir()])
}

/// Resolves the paths of a call, and collects those outside the workspace.
struct CallPaths<'a> {
    task_workspace: &'a TaskWorkspace,
    /// The workspace, with the folders of the paths outside it.
    workspace: Arc<Workspace>,
    outside: Vec<PathBuf>,
}

impl<'a> CallPaths<'a> {
    fn new(task_workspace: &'a TaskWorkspace) -> CallPaths<'a> {
        CallPaths { task_workspace, workspace: Arc::clone(&task_workspace.workspace), outside: Vec::new() }
    }

    fn resolve(&mut self, path: &str) -> Result<PathBuf, ToolError> {
        let refused = |error: PathError| ToolError::Refused(error.to_string());
        match (self.task_workspace.workspace.resolve(path), self.task_workspace.outside_files()) {
            (Ok(place), _) => Ok(place.path().to_owned()),
            (Err(PathError::Outside { .. }), OutsideFiles::Asked) => {
                self.workspace = Arc::new(self.workspace.with_folder_of(path).map_err(refused)?);
                let place = self.workspace.resolve(path).map_err(refused)?.path().to_owned();
                self.outside.push(place.clone());
                Ok(place)
            }
            (Err(error), OutsideFiles::Asked | OutsideFiles::Refused) => Err(refused(error)),
        }
    }
}

/// The user must decide about a file outside the workspace unless a rule does, or the mode allows every call.
fn ask_outside(
    policy: &Policy,
    prepared: &PreparedAgent,
    tool: &str,
    acts: &[RequestedAct],
    outside: &[PathBuf],
) -> Option<Verdict> {
    let is_outside = |act: &&RequestedAct| named_path(act).is_some_and(|(path, _)| outside.contains(&path));
    acts.iter().filter(is_outside).find_map(|act| {
        let request = PermissionRequest { tool: tool.to_owned(), acts: vec![act.clone()] };
        let verdict = policy.check(&prepared.role, &request);
        let is_by_mode = matches!(verdict.basis, VerdictBasis::Mode(mode) if mode != PermissionMode::AllowAll);
        let basis = VerdictBasis::Outside;
        is_by_mode.then_some(Verdict { effect: RuleEffect::Ask, basis, suggested_rule: None, ..verdict })
    })
}

fn requested_act(
    paths: &mut CallPaths<'_>,
    policy: &Policy,
    need: RequiredPermission,
) -> Result<RequestedAct, ToolError> {
    let task_workspace = paths.task_workspace;
    Ok(match need {
        RequiredPermission::Read(path) => RequestedAct::Read(paths.resolve(&path)?),
        RequiredPermission::Edit(path) => RequestedAct::Edit(paths.resolve(&path)?),
        RequiredPermission::Shell(command) => {
            let (cwd, facts) = (task_workspace.cwd().to_owned(), inspect(task_workspace, policy, &command));
            RequestedAct::Shell { command, cwd, facts }
        }
        RequiredPermission::Fetch(address) => RequestedAct::Fetch(address),
        RequiredPermission::Agent(name) => RequestedAct::Agent(name),
        RequiredPermission::Session => RequestedAct::Session,
        RequiredPermission::Other => RequestedAct::Other,
    })
}

/// The file system facts of a command; not needed where everything is allowed.
fn inspect(task_workspace: &TaskWorkspace, policy: &Policy, command: &str) -> FilesystemFacts {
    if policy.mode == PermissionMode::AllowAll {
        return FilesystemFacts::default();
    }
    let path = task_workspace.env.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    inspect_command(
        command,
        task_workspace.cwd(),
        InspectionScope { roots: &policy.work_folders, controls: &policy.control_paths, path },
    )
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
    workplace: Arc<Workplace>,
    agent: Arc<PreparedAgent>,
    /// The workspace with the folders of files outside it that the call names, if it names any.
    workspace: Option<Arc<Workspace>>,
    controls: ControlFiles,
    tool: String,
    named_paths: Vec<(PathBuf, FileAccess)>,
    /// The verdict on the call; if it is `Ask`, the user has permitted the call.
    verdict: Verdict,
}

impl PermittedCall {
    fn names(&self, path: &Path, access: FileAccess) -> bool {
        self.named_paths
            .iter()
            .any(|(named, granted)| path == named && (*granted == access || *granted == FileAccess::Edit))
    }

    /// Whether the user's permission to search a folder covers this file: the file needs permission for the same reason
    /// as the folder.
    fn covers(&self, path: &Path, access: FileAccess, verdict: &Verdict) -> bool {
        let is_in_named_folder =
            |(named, granted): &(PathBuf, FileAccess)| *granted == FileAccess::Read && path.starts_with(named);
        let has_same_reason = (verdict.effect, &verdict.basis) == (RuleEffect::Ask, &self.verdict.basis);
        access == FileAccess::Read && has_same_reason && self.named_paths.iter().any(is_in_named_folder)
    }

    fn check_with(&self, path: &Path, access: FileAccess, is_control: impl Fn(&Path) -> bool) -> Result<(), ToolError> {
        if self.names(path, access) && !is_control(path) {
            return Ok(());
        }
        let act = match access {
            FileAccess::Read => RequestedAct::Read(path.to_owned()),
            FileAccess::Edit => RequestedAct::Edit(path.to_owned()),
        };
        let policy = self.agent.task_workspace.policy(self.workplace.policy());
        let verdict = check(&policy, &self.agent, is_control, &self.tool, vec![act]);
        if verdict.effect == RuleEffect::Allow || self.covers(path, access, &verdict) {
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
    fn workspace(&self) -> Option<Arc<Workspace>> {
        self.workspace.clone()
    }

    fn check(&self, path: &Path, access: FileAccess) -> Result<(), ToolError> {
        self.check_with(path, access, |path| self.controls.contains(path))
    }

    fn check_name(&self, path: &Path, access: FileAccess) -> Result<(), ToolError> {
        self.check_with(path, access, |path| self.controls.contains_path(path))
    }

    fn check_opened(&self, path: &Path, file: &Metadata) -> Result<(), ToolError> {
        if self.controls.contains_file(file) { Err(refused_path(path, &control_file_verdict(path))) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suggested_flag_can_be_typed_as_shown() {
        let rule = Some("shell(git commit -m 'a b')".to_owned());
        let basis = VerdictBasis::Mode(PermissionMode::Default);
        let text = denial_text(
            "shell",
            &Verdict { effect: RuleEffect::Ask, basis, part: "git".into(), suggested_rule: rule, others: Vec::new() },
        );
        assert!(text.contains(r"`--allow 'shell(git commit -m '\''a b'\'')'`."), "{text}");
        assert_eq!(protocol::denial_reason(&text), "no permission rule matches `git` (mode: default)");
    }
}
