//! `session.permissions.*`: what calls may do without asking, and what was asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use protocol::api::{
    AddTrustParams, AsksParams, AsksResult, Method, ProjectTrust, RuleChange, RulesParams, SettingsParams, TrustState,
    TrustedProjects,
};
use protocol::{AskSubject, RuleEffect};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::{answers, unhandled};
use crate::copilot::client_features::FolderPlace;
use crate::copilot::client_state::ClientStateError;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::events::permission_request;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::permission_rules::{ClientRule, MAX_RULES};

/// The file with the approvals of locations.
const LOCATIONS_FILE: &str = "locations.json";

/// How many asks are requested at once.
const ASKS_PER_REQUEST: u32 = 1_000;

pub(super) async fn call(
    connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.permissions.handlePendingPermissionRequest"
        | "session.permissions.setApproveAll"
        | "session.permissions.setMode" => return answers::call(connection, session, method, params).await,
        "session.permissions.getMode" => {
            let mode = if session.approves_all.load(Ordering::Acquire) { "allow-all" } else { "manual" };
            return Ok(json!({ "mode": mode }));
        }
        "session.permissions.pendingRequests" => return pending_requests(session).await,
        "session.permissions.configure" => configure(session, &params).await?,
        "session.permissions.modifyRules" => modify_rules(session, &params).await?,
        "session.permissions.resetSessionApprovals" => {
            session.set_approves_all(false);
            let none = RuleChange::Replace { effect: RuleEffect::Allow, rules: Vec::new() };
            change_rules(session, vec![none]).await?;
        }
        "session.permissions.urls.setUnrestrictedMode" => {
            let rule = "fetch".to_owned();
            let change = match params["enabled"] == true {
                true => RuleChange::Add { effect: RuleEffect::Allow, rule },
                false => RuleChange::Remove { effect: RuleEffect::Allow, rule },
            };
            change_rules(session, vec![change]).await?;
        }
        // Every client receives every request, and Bosun itself runs the hooks that tell people about it.
        "session.permissions.setRequired" | "session.permissions.notifyPromptShown" => {}
        "session.permissions.paths.list" => return Ok(list_folders(session)),
        "session.permissions.paths.add" => add_folder(session, &params["path"], FolderPlace::Last)?,
        "session.permissions.paths.updatePrimary" => add_folder(session, &params["path"], FolderPlace::Primary)?,
        "session.permissions.paths.isPathWithinAllowedDirectories" => {
            let path = absolute_path(&params["path"])?;
            return Ok(json!({ "allowed": is_inside(&path, &session.features.folders()) }));
        }
        "session.permissions.paths.isPathWithinWorkspace" => {
            let (path, folders) = (absolute_path(&params["path"])?, session.features.folders());
            return Ok(json!({ "allowed": is_inside(&path, folders.get(..1).unwrap_or_default()) }));
        }
        "session.permissions.locations.resolve" => return Ok(location(&params)?.view()),
        "session.permissions.locations.addToolApproval" => add_approval(connection, &params)?,
        "session.permissions.locations.apply" => return apply_location(connection, session, &params).await,
        "session.permissions.folderTrust.isTrusted" => {
            let trusted = is_trusted(connection, &absolute_path(&params["path"])?).await?;
            return Ok(json!({ "trusted": trusted }));
        }
        "session.permissions.folderTrust.addTrusted" => trust(connection, &absolute_path(&params["path"])?).await?,
        other => return Err(unhandled(other)),
    }
    Ok(json!({ "success": true }))
}

/// The requests that wait for a decision.
async fn pending_requests(session: &HostedSession) -> Result<Value, ErrorObject> {
    let query = AsksParams { limit: Some(ASKS_PER_REQUEST.into()), ..AsksParams::default() };
    let open: AsksResult = session.call(Method::AsksList, query).await?;
    let items = open.asks.into_iter().filter_map(|row| match &row.ask.subject {
        AskSubject::Permission { tool, input, reason, rules } => {
            let request = permission_request(&row.ask.call, tool, input, reason, !rules.is_empty());
            Some(json!({ "requestId": row.ask.id.to_string(), "request": request }))
        }
        AskSubject::Question { .. } | AskSubject::Plan { .. } => None,
    });
    Ok(json!({ "items": items.collect::<Vec<_>>() }))
}

async fn configure(session: &HostedSession, params: &Value) -> Result<(), ErrorObject> {
    let (paths, urls) = (&params["paths"], &params["urls"]);
    if paths["unrestricted"] == true {
        return Err(ErrorObject::internal(OUTSIDE));
    }
    if params["additionalContentExclusionPolicies"].as_array().is_some_and(|policies| !policies.is_empty()) {
        return Err(ErrorObject::internal(
            "content exclusion policies are not supported: add rules that deny the paths",
        ));
    }
    let mut changes = Vec::new();
    if let Some(approves) = params["approveAllReadPermissionRequests"].as_bool() {
        changes.push(toggled("read", approves));
    }
    if !params["rules"].is_null() {
        for (effect, list) in [(RuleEffect::Allow, "approved"), (RuleEffect::Deny, "denied")] {
            changes.extend(added(effect, &ClientRule::read_list(&params["rules"][list])?)?);
        }
    }
    if let Some(unrestricted) = urls["unrestricted"].as_bool() {
        changes.push(toggled("fetch", unrestricted));
    }
    let allowed = urls["initialAllowed"].as_array().map(Vec::as_slice).unwrap_or_default();
    let allowed = allowed.iter().take(MAX_RULES).filter_map(Value::as_str);
    for url in allowed {
        match added(RuleEffect::Allow, &[ClientRule::of_url(url)]) {
            Ok(more) => changes.extend(more),
            // Calls to it need a decision.
            Err(error) => {
                let warning = json!({ "warningType": "permissions", "message": error.message });
                session.emit("session.warning", warning);
            }
        }
    }
    let added_folders = paths["additionalDirectories"].as_array().map(Vec::as_slice).unwrap_or_default();
    for folder in added_folders {
        add_folder(session, folder, FolderPlace::Last)?;
    }
    if !paths["workspacePath"].is_null() {
        add_folder(session, &paths["workspacePath"], FolderPlace::Primary)?;
    }
    change_rules(session, changes).await?;
    if let Some(approves) = params["approveAllToolPermissionRequests"].as_bool() {
        session.set_approves_all(approves);
    }
    Ok(())
}

fn toggled(rule: &str, is_allowed: bool) -> RuleChange {
    let (effect, rule) = (RuleEffect::Allow, rule.to_owned());
    if is_allowed { RuleChange::Add { effect, rule } } else { RuleChange::Remove { effect, rule } }
}

async fn modify_rules(session: &HostedSession, params: &Value) -> Result<(), ErrorObject> {
    let mut changes = Vec::new();
    if params["removeAll"] == true {
        changes.push(RuleChange::Replace { effect: RuleEffect::Allow, rules: Vec::new() });
    }
    for rule in ClientRule::read_list(&params["remove"])? {
        let texts = rule.texts(RuleEffect::Allow)?.into_iter();
        changes.extend(texts.map(|rule| RuleChange::Remove { effect: RuleEffect::Allow, rule }));
    }
    changes.extend(added(RuleEffect::Allow, &ClientRule::read_list(&params["add"])?)?);
    change_rules(session, changes).await
}

fn added(effect: RuleEffect, rules: &[ClientRule]) -> Result<Vec<RuleChange>, ErrorObject> {
    let mut changes = Vec::new();
    for rule in rules {
        changes.extend(rule.texts(effect)?.into_iter().map(|rule| RuleChange::Add { effect, rule }));
    }
    Ok(changes)
}

async fn change_rules(session: &HostedSession, changes: Vec<RuleChange>) -> Result<(), ErrorObject> {
    if changes.is_empty() {
        return Ok(());
    }
    session.call::<Value>(Method::RulesSet, RulesParams { changes }).await.map(drop)
}

/// Why a folder cannot be added to a running session.
const OUTSIDE: &str =
    "a running session keeps its folders: resume it with the folder among its `additionalDirectories`";

fn list_folders(session: &HostedSession) -> Value {
    let folders = session.features.folders();
    json!({ "primary": folders.first(), "directories": folders })
}

/// Adds a folder inside those that the session was opened with.
fn add_folder(session: &HostedSession, path: &Value, place: FolderPlace) -> Result<(), ErrorObject> {
    let folder = absolute_path(path)?;
    if !is_inside(&folder, &session.features.folders()) {
        return Err(ErrorObject::internal(OUTSIDE));
    }
    session.features.add_folder(&folder, place);
    Ok(())
}

/// An absolute path without links, as far as it exists.
fn absolute_path(path: &Value) -> Result<PathBuf, ErrorObject> {
    let path = path.as_str().map(Path::new).filter(|path| path.is_absolute());
    let path = path.ok_or_else(|| ErrorObject::bad_params("`path` is missing or not an absolute path"))?;
    let existing = path.ancestors().find_map(|path| Some((path, path.canonicalize().ok()?)));
    let Some((existing, real)) = existing else { return Ok(path.to_owned()) };
    let missing = path.strip_prefix(existing).unwrap_or(Path::new(""));
    if missing.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(ErrorObject::bad_params("`path` leads through a folder that does not exist"));
    }
    Ok(real.join(missing).components().collect())
}

fn is_inside(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| path.starts_with(folder))
}

/// A place whose approvals are stored: a repository, or a folder outside of one.
struct Location {
    key: String,
    kind: &'static str,
}

impl Location {
    fn view(&self) -> Value {
        json!({ "locationKey": self.key, "locationType": self.kind })
    }
}

fn location(params: &Value) -> Result<Location, ErrorObject> {
    let folder = absolute_path(&params["workingDirectory"])?;
    let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
    let (folder, kind) = repository.map_or((folder.as_path(), "dir"), |repository| (repository, "repo"));
    Ok(Location { key: folder.display().to_string(), kind })
}

/// The approvals of each location, as clients gave them.
type LocationApprovals = BTreeMap<String, Vec<Value>>;

fn add_approval(connection: &CopilotConnection, params: &Value) -> Result<(), ErrorObject> {
    let (key, approval) = (required_text(params, "locationKey")?.to_owned(), params["approval"].clone());
    ClientRule::of_approval(&approval)?;
    let state = &connection.server().state;
    let added = state.change(LOCATIONS_FILE, |locations: &mut LocationApprovals| -> Result<(), ClientStateError> {
        let approvals = locations.entry(key).or_default();
        if !approvals.contains(&approval) {
            approvals.push(approval);
        }
        Ok(())
    });
    added.map_err(ErrorObject::internal)
}

/// Applies what was approved for a location to the session.
async fn apply_location(
    connection: &CopilotConnection,
    session: &HostedSession,
    params: &Value,
) -> Result<Value, ErrorObject> {
    let location = location(params)?;
    let locations: LocationApprovals = connection.server().state.read(LOCATIONS_FILE).map_err(ErrorObject::internal)?;
    let mut rules = Vec::new();
    for approval in locations.get(&location.key).into_iter().flatten() {
        rules.extend(ClientRule::of_approval(approval)?);
    }
    change_rules(session, added(RuleEffect::Allow, &rules)?).await?;
    let mut applied = location.view();
    applied["changed"] = (!rules.is_empty()).into();
    applied["appliedRuleCount"] = rules.len().into();
    applied["appliedDirectoryCount"] = 0.into();
    applied["appliedRules"] = rules.iter().map(ClientRule::view).collect();
    Ok(applied)
}

/// Whether the user trusts a folder with its current files, or with none.
async fn is_trusted(connection: &CopilotConnection, folder: &Path) -> Result<bool, ErrorObject> {
    let project = project(connection, folder).await?;
    match project.trust {
        TrustState::Trusted => Ok(true),
        TrustState::Changed | TrustState::Untrusted | TrustState::Unknown => Ok(false),
        TrustState::NothingToTrust => {
            let trusted: TrustedProjects = connection.server().ask_settings(Method::TrustList, json!({})).await?;
            Ok(trusted.projects.iter().any(|trusted| trusted.top == project.top))
        }
    }
}

async fn trust(connection: &CopilotConnection, folder: &Path) -> Result<(), ErrorObject> {
    let ProjectTrust { digest, .. } = project(connection, folder).await?;
    let params = AddTrustParams { cwd: folder.display().to_string(), digest };
    connection.server().ask_settings::<ProjectTrust>(Method::TrustAdd, params).await.map(drop)
}

async fn project(connection: &CopilotConnection, folder: &Path) -> Result<ProjectTrust, ErrorObject> {
    let params = SettingsParams { cwd: Some(folder.display().to_string()) };
    connection.server().ask_settings(Method::TrustGet, params).await
}
