//! The function that decides about calls.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use protocol::{PermissionMode, RuleEffect, tool_name};
use url::Host;

use crate::address::{is_local_name, is_public, normalize_host};
use crate::pattern::{HostPattern, PatternBase};
use crate::{AgentRole, Explanation, PermissionRequest, RequestedAct, Rule, Verdict, VerdictBasis};

/// What calls may do: a mode, rules, and controls that are out of reach in every mode.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The mode, which decides calls that no rule matches.
    pub mode: PermissionMode,
    /// Whether reading is asked too, in modes that allow it.
    pub asks_reads: bool,
    /// Every rule. Their order does not matter.
    pub rules: Vec<Rule>,
    /// The base of relative patterns: the project's folder.
    pub project_dir: PathBuf,
    /// Folders that calls may work in, besides a command's working folder.
    pub work_folders: Vec<PathBuf>,
    /// The user's home folder, for `~` in patterns.
    pub user_home: Option<PathBuf>,
    /// Folders and files that control Bosun: no call may read or change them.
    pub control_paths: Vec<PathBuf>,
    /// Folders inside controls that calls may work in anyway: checkouts.
    pub exempt_folders: Vec<PathBuf>,
}

impl Policy {
    /// Decides whether a call of an agent with this role may run.
    pub fn check(&self, role: &AgentRole, request: &PermissionRequest) -> Verdict {
        self.explain(role, request).verdict
    }

    /// Decides, and returns the verdict on every part of the call.
    pub fn explain(&self, role: &AgentRole, request: &PermissionRequest) -> Explanation {
        Explanation::from_parts(self.judge_request(role, request))
    }

    /// Explains the refusal of a call, in `cwd`, that names a file outside the workspace: file tools refuse it before
    /// the policy decides. Returns `None` for a call that stays inside.
    pub fn explain_outside(&self, request: &PermissionRequest, cwd: &Path) -> Option<Explanation> {
        let refused = |path: &Path| !self.is_inside(path, cwd) && !self.is_control(path);
        let path = request.acts.iter().find_map(|act| match act {
            RequestedAct::Read(path) | RequestedAct::Edit(path) => refused(path).then_some(path),
            RequestedAct::Shell { .. }
            | RequestedAct::Fetch(_)
            | RequestedAct::Agent(_)
            | RequestedAct::Session
            | RequestedAct::Other => None,
        })?;
        let (effect, part) = (RuleEffect::Deny, path.display().to_string());
        Some(Explanation::from_parts(vec![Verdict {
            effect,
            basis: VerdictBasis::Outside,
            part,
            suggested_rule: None,
            others: Vec::new(),
        }]))
    }

    /// Adds a rule.
    #[must_use]
    pub fn with_rule(mut self, rule: Rule) -> Policy {
        self.rules.push(rule);
        self
    }

    /// Whether a fetch from this host may connect to this machine, to which the host name resolved. A machine that is
    /// not public must be named: by a rule for its address, or by one for a local host name. A rule for a public name
    /// is not enough, since the owner of the name controls where it leads.
    pub fn may_connect(&self, host: &str, machine: SocketAddr) -> bool {
        let host_patterns = |effect: RuleEffect| {
            self.rules.iter().filter(move |rule| rule.effect == effect).filter_map(|rule| rule.pattern().host())
        };
        let names_machine = |pattern: &HostPattern| pattern.names_address(machine.ip(), machine.port());
        if host_patterns(RuleEffect::Deny).any(names_machine) {
            return false;
        }
        let host = Host::parse(host).map(normalize_host).ok();
        let local_host = host.filter(|host| matches!(host, Host::Domain(name) if is_local_name(name)));
        let names_local_host =
            |pattern: &HostPattern| local_host.as_ref().is_some_and(|host| pattern.names_host(host, machine.port()));
        is_public(machine.ip())
            || host_patterns(RuleEffect::Allow).any(|pattern| names_machine(pattern) || names_local_host(pattern))
    }

    fn judge_request(&self, role: &AgentRole, request: &PermissionRequest) -> Vec<Verdict> {
        let tool = request.tool.as_str();
        // A command needs the shell tool, even if another tool runs it.
        let shell =
            request.acts.iter().any(|act| matches!(act, RequestedAct::Shell { .. })).then_some(tool_name::SHELL);
        if let Some(missing) = [tool].into_iter().chain(shell).find(|tool| !role.permits(tool)) {
            let part = missing.to_owned();
            return vec![Verdict {
                effect: RuleEffect::Deny,
                basis: VerdictBasis::AgentRole,
                part,
                suggested_rule: None,
                others: Vec::new(),
            }];
        }
        match role.mode.filter(|mode| mode.is_narrower(self.mode)) {
            Some(mode) => Policy { mode, ..self.clone() }.judge_acts(request),
            None => self.judge_acts(request),
        }
    }

    fn judge_acts(&self, request: &PermissionRequest) -> Vec<Verdict> {
        let tool = request.tool.as_str();
        let parts: Vec<Verdict> = request.acts.iter().flat_map(|act| self.judge_act(tool, act)).collect();
        if parts.is_empty() { self.judge_act(tool, &RequestedAct::Other) } else { parts }
    }

    pub(crate) fn pattern_base(&self) -> PatternBase<'_> {
        PatternBase::new(&self.project_dir, self.user_home.as_deref())
    }

    /// Whether a path is in a folder that calls may work in, for a command that starts in `cwd`.
    pub(crate) fn is_inside(&self, path: &Path, cwd: &Path) -> bool {
        path.starts_with(cwd) || self.work_folders.iter().any(|root| path.starts_with(root))
    }
}
