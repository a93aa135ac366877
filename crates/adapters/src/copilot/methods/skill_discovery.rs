//! `skills.*` and `agents.getDiscoveryPaths`: skills independent of any session, and where they are looked for. Skills that
//! clients switch off are so in the sessions that they open.

use std::collections::BTreeSet;
use std::path::PathBuf;

use protocol::DefinitionSource;
use protocol::api::{
    CatalogFolderKind, CatalogFolderView, CatalogFoldersResult, FindSkillsParams, Method, SettingsParams, SkillView,
    SkillsResult,
};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::skills::skill_json;
use super::unhandled;
use crate::copilot::client_state::{ClientState, ClientStateError};
use crate::copilot::connection::CopilotConnection;

/// The file with the names of the skills that clients have switched off.
const FILE: &str = "disabled-skills.json";

/// Maximum skills that are switched off.
const MAX_DISABLED: usize = 1_000;

/// Maximum projects that one call may name.
const MAX_PROJECTS: usize = 32;

/// The skills that clients have switched off.
type DisabledSkills = BTreeSet<String>;

/// The names of the skills that clients have switched off.
pub(crate) fn disabled_skills(state: &ClientState) -> Result<BTreeSet<String>, ClientStateError> {
    state.read(FILE)
}

pub(super) async fn call(connection: &CopilotConnection, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    match method {
        "skills.discover" => discover(connection, params).await,
        "skills.getDiscoveryPaths" => paths(connection, params, CatalogFolderKind::Skills).await,
        "agents.getDiscoveryPaths" => paths(connection, params, CatalogFolderKind::Agents).await,
        "skills.config.setDisabledSkills" => {
            let names = params["disabledSkills"].as_array();
            let names = names.ok_or_else(|| ErrorObject::bad_params("`disabledSkills` is not a list"))?;
            let wanted: DisabledSkills = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            change(connection, |disabled| *disabled = wanted)
        }
        "skills.config.setSkillDisabled" => {
            let name = required_text(params, "name")?.to_owned();
            let is_disabled = params["disabled"] == true;
            change(connection, |disabled| match is_disabled {
                true => drop(disabled.insert(name)),
                false => drop(disabled.remove(&name)),
            })
        }
        other => Err(unhandled(other)),
    }
}

fn change(connection: &CopilotConnection, edit: impl FnOnce(&mut DisabledSkills)) -> Result<Value, ErrorObject> {
    let changed = connection.server().state.change(FILE, |disabled: &mut DisabledSkills| {
        edit(disabled);
        match disabled.len() > MAX_DISABLED {
            true => Err(SkillConfigError::TooMany),
            false => Ok(()),
        }
    });
    changed.map(|()| Value::Null).map_err(ErrorObject::internal)
}

/// Why the skills are not switched.
#[derive(Debug, thiserror::Error)]
enum SkillConfigError {
    #[error("more than {MAX_DISABLED} skills cannot be switched off")]
    TooMany,
    #[error(transparent)]
    State(#[from] ClientStateError),
}

/// The projects of a call; none stands for the folder of this process.
fn projects(params: &Value) -> Result<Vec<Option<String>>, ErrorObject> {
    let named = params["projectPaths"].as_array().map(Vec::as_slice).unwrap_or_default();
    if named.len() > MAX_PROJECTS {
        return Err(ErrorObject::bad_params(format!("`projectPaths` has more than {MAX_PROJECTS} folders")));
    }
    Ok(named.iter().filter_map(Value::as_str).map(|path| Some(path.to_owned())).collect())
}

async fn discover(connection: &CopilotConnection, params: &Value) -> Result<Value, ErrorObject> {
    let skill_dirs: Vec<PathBuf> = params["skillDirectories"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .collect();
    let (projects, of_host) = (projects(params)?, params["excludeHostSkills"] != true);
    let disabled = disabled_skills(&connection.server().state).map_err(ErrorObject::internal)?;
    let is_any_project_named = !projects.is_empty();
    let mut found: Vec<Value> = Vec::new();
    for cwd in if is_any_project_named { projects } else { vec![None] } {
        let wanted = FindSkillsParams { cwd: cwd.clone(), skill_dirs: skill_dirs.clone() };
        let SkillsResult { skills } = connection.server().ask_settings(Method::CatalogSkills, wanted).await?;
        for skill in skills {
            let is_of_project = matches!(skill.source, DefinitionSource::Project { .. });
            let is_wanted = if is_of_project { is_any_project_named } else { of_host };
            if is_wanted && !found.iter().any(|known| known["path"] == skill.file.as_str()) {
                found.push(discovered(skill, &disabled, cwd.as_deref().filter(|_| is_of_project)));
            }
        }
    }
    Ok(json!({ "skills": found }))
}

fn discovered(skill: SkillView, disabled: &DisabledSkills, project: Option<&str>) -> Value {
    let enabled = !disabled.contains(&skill.name);
    let mut view = skill_json(&SkillView { enabled, ..skill });
    if let Some(project) = project {
        view["projectPath"] = project.into();
    }
    view
}

/// The folders in which definitions are looked for. The first of each owner is the one to create definitions in.
async fn paths(
    connection: &CopilotConnection,
    params: &Value,
    wanted: CatalogFolderKind,
) -> Result<Value, ErrorObject> {
    let host_key = if wanted == CatalogFolderKind::Skills { "excludeHostSkills" } else { "excludeHostAgents" };
    let mut paths: Vec<Value> = Vec::new();
    let folders_of = async |cwd: Option<String>| -> Result<Vec<CatalogFolderView>, ErrorObject> {
        let params = SettingsParams { cwd };
        let CatalogFoldersResult { folders } = connection.server().ask_settings(Method::CatalogFolders, params).await?;
        Ok(folders.into_iter().filter(|folder| folder.holds == wanted).collect())
    };
    for project in projects(params)? {
        let folders = folders_of(project.clone()).await?.into_iter().filter(|folder| folder.of_project);
        for (place, folder) in folders.enumerate() {
            paths.push(json!({
                "path": folder.path,
                "scope": "project",
                "preferredForCreation": place == 0,
                "projectPath": project,
            }));
        }
    }
    if params[host_key] != true {
        let folders = folders_of(None).await?.into_iter().filter(|folder| !folder.of_project);
        for (place, folder) in folders.enumerate() {
            let scope = if folder.path.contains("/.agents/") { "personal-agents" } else { "personal-copilot" };
            paths.push(json!({ "path": folder.path, "scope": scope, "preferredForCreation": place == 0 }));
        }
    }
    Ok(json!({ "paths": paths }))
}
