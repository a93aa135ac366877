//! Answers the API's methods whose source is the user's settings.

use std::path::PathBuf;

use host::{Clock, SystemClock};
use protocol::api::{
    AddTrustParams, CheckoutParams, DefinitionParams, ExplainParams, ImportSettingsParams, Method, Nothing,
    RemoveTrustResult, SettingsFiles, SettingsParams,
};
use protocol::{Refusal, SessionOptions};
use rpc::{ErrorObject, read_params};
use serde::Serialize;
use serde_json::Value;

use super::error::SettingsMethodError;
use super::import::import_result;
use super::{CollectNote, explanation_view};
use crate::assemble::{SettingsSources, working_folder};
use crate::config::Config;
use crate::doctor;
use crate::project::Project;

/// Answers a method whose source is the user's settings. `user` are the settings that are no project's.
pub async fn answer_settings_method(
    sources: SettingsSources<'_>,
    user: &Config,
    method: Method,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        Method::UsageToday => to_json(sources.usage_today(user, SystemClock.now())),
        Method::SettingsGet => to_json(sources.settings_view(&SessionOptions::default(), &folder_of(params)?)),
        Method::SettingsFiles => {
            let files = sources.settings_files(&folder_of(params)?);
            to_json(Ok(SettingsFiles { files }))
        }
        Method::SettingsAddRule => to_json(sources.add_rule(read_params(params)?)),
        Method::SettingsImport => {
            let ImportSettingsParams { cwd, product, write } = read_params(params)?;
            let (findings, errors) = sources.import(&folder(cwd)?, product.into(), write)?;
            to_json(Ok(import_result(findings, write, errors)))
        }
        Method::PermissionsExplain => {
            let ExplainParams { cwd, call, argument } = read_params(params)?;
            let call: Vec<String> = std::iter::once(call).chain(argument).collect();
            let explained = sources.explain(&SessionOptions::default(), &call, &folder(cwd)?);
            to_json(explained.map(|(tool, explanation)| explanation_view(&tool, &explanation)))
        }
        Method::TrustGet => to_json(sources.project_trust(&Project::find(&folder_of(params)?))),
        Method::TrustAdd => {
            let AddTrustParams { cwd, digest } = read_params(params)?;
            to_json(sources.trust_project(&Project::find(&folder(Some(cwd))?), &digest))
        }
        Method::TrustRemove => {
            let was_trusted = sources.distrust_project(&Project::find(&folder_of(params)?));
            to_json(was_trusted.map(|was_trusted| RemoveTrustResult { was_trusted }))
        }
        Method::TrustList => to_json(sources.trusted_projects()),
        Method::CatalogList => to_json(sources.catalog(&folder_of(params)?)),
        Method::CatalogSkills => to_json(sources.skills(read_params(params)?)),
        Method::CatalogFolders => to_json(sources.catalog_folders(&folder_of(params)?)),
        Method::CatalogGet => {
            let DefinitionParams { cwd, name } = read_params(params)?;
            to_json(sources.definition(&name, &folder(cwd)?))
        }
        Method::CatalogCheck => to_json(sources.catalog_problems(&folder_of(params)?)),
        Method::ModelsList => to_json(sources.models(&folder_of(params)?).await),
        Method::ModelsReopen => {
            to_json(runtime::reopen_models(sources.home).map(|()| Nothing {}).map_err(SettingsMethodError::from))
        }
        Method::McpList => to_json(sources.list_mcp_servers(read_params(params)?)),
        Method::McpAdd => to_json(sources.add_mcp_server(read_params(params)?)),
        Method::McpRemove => to_json(sources.remove_mcp_server(read_params(params)?)),
        Method::McpTest => to_json(sources.test_mcp_server(read_params(params)?).await),
        Method::McpLogs => to_json(sources.read_mcp_log(&read_params(params)?)),
        Method::CheckoutsList => to_json(Ok(sources.checkouts())),
        Method::CheckoutsDiscard => {
            let CheckoutParams { prefix } = read_params(params)?;
            to_json(sources.discard_checkout(&prefix))
        }
        Method::CheckoutsRestore => {
            let CheckoutParams { prefix } = read_params(params)?;
            to_json(sources.restore_checkout(&prefix))
        }
        Method::DoctorCheck => to_json(Ok(doctor::check_installation(sources.env).await)),
        Method::HomeCollect => {
            let note = |note| match note {
                CollectNote::Removed(id, _description) => tracing::info!(%id, "a session was removed"),
                CollectNote::Failed(error) => tracing::warn!(%error, "something could not be removed"),
            };
            to_json(sources.collect(user, read_params(params)?, &note).await)
        }
        elsewhere => Err(ErrorObject::unknown_method(elsewhere.name())),
    }
}

fn folder_of(params: Value) -> Result<PathBuf, ErrorObject> {
    let SettingsParams { cwd } = read_params(params)?;
    folder(cwd)
}

fn folder(cwd: Option<String>) -> Result<PathBuf, ErrorObject> {
    Ok(absolute_folder(cwd)?)
}

/// The folder that a client names, or that of this process.
pub(super) fn absolute_folder(cwd: Option<String>) -> Result<PathBuf, SettingsMethodError> {
    let cwd = cwd.map(PathBuf::from);
    if let Some(cwd) = cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        let relative = Refusal::new(format!("`{}` is not an absolute path", cwd.display()));
        return Err(relative.with_hint("write the full path").into());
    }
    Ok(working_folder(cwd.as_deref())?)
}

fn to_json(answer: Result<impl Serialize, SettingsMethodError>) -> Result<Value, ErrorObject> {
    serde_json::to_value(answer?).map_err(ErrorObject::internal)
}
