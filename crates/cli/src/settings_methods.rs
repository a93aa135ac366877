//! The API's answers that depend on the user's settings and environment. The commands print the same answers.

use std::path::{Path, PathBuf};

use config::{Project, RuleAddition, RuleLine};
use host::{Clock, SystemClock};
use protocol::api::{
    AddRuleParams, AddRuleResult, AddTrustParams, CheckoutParams, DefinitionParams, ExplainParams,
    ImportSettingsParams, Method, Nothing, RefusalKind, RemoveTrustResult, SettingsFiles, SettingsParams,
    UserSettingsScope,
};
use protocol::{Refusal, SessionOptions};
use rpc::{ErrorObject, read_params};
use serde::Serialize;
use serde_json::Value;

use crate::args::RuleScope;
use crate::cost::DailySpending;
use crate::error::CliError;
use crate::gc::CollectNote;
use crate::setup::{Setup, settings_failure, working_folder};
use crate::{catalog, checkouts, doctor, explain, gc, import, mcp_servers, models, settings, trust};

/// Answers a method whose source is the user's settings.
pub(crate) async fn answer(setup: &Setup, method: Method, params: Value) -> Result<Value, ErrorObject> {
    match method {
        Method::UsageToday => {
            let today = DailySpending::read(&setup.home, setup.config.day_budget, SystemClock.now());
            to_json(today.map_err(CliError::from).map(DailySpending::view))
        }
        Method::SettingsGet => to_json(settings::show::view(setup, &SessionOptions::default(), &folder_of(params)?)),
        Method::SettingsFiles => {
            let cwd = folder_of(params)?;
            to_json(Ok(SettingsFiles { files: settings::files::candidates(setup, &cwd) }))
        }
        Method::SettingsAddRule => to_json(add_rule(setup, read_params(params)?)),
        Method::SettingsImport => {
            let ImportSettingsParams { cwd, product, write } = read_params(params)?;
            to_json(import::view(setup, &folder(cwd)?, product, write))
        }
        Method::PermissionsExplain => {
            let ExplainParams { cwd, call, argument } = read_params(params)?;
            let call: Vec<String> = std::iter::once(call).chain(argument).collect();
            to_json(explain::view(setup, &call, &folder(cwd)?))
        }
        Method::TrustGet => to_json(trust::view(setup, &Project::find(&folder_of(params)?))),
        Method::TrustAdd => {
            let AddTrustParams { cwd, digest } = read_params(params)?;
            to_json(trust::add(setup, &Project::find(&folder(Some(cwd))?), digest))
        }
        Method::TrustRemove => {
            let was_trusted = trust::remove(setup, &Project::find(&folder_of(params)?));
            to_json(was_trusted.map(|was_trusted| RemoveTrustResult { was_trusted }))
        }
        Method::TrustList => to_json(trust::trusted_projects(setup)),
        Method::CatalogList => to_json(catalog::view(setup, &folder_of(params)?)),
        Method::CatalogGet => {
            let DefinitionParams { cwd, name } = read_params(params)?;
            to_json(catalog::definition(setup, &name, &folder(cwd)?))
        }
        Method::CatalogCheck => to_json(catalog::problems(setup, &folder_of(params)?)),
        Method::ModelsList => to_json(models::view(setup, &folder_of(params)?).await),
        Method::ModelsReopen => {
            to_json(runtime::reopen_models(&setup.home).map(|()| Nothing {}).map_err(CliError::from))
        }
        Method::McpList | Method::McpAdd | Method::McpRemove | Method::McpTest | Method::McpLogs => {
            mcp_servers::methods::answer(setup, method, params).await
        }
        Method::CheckoutsList => to_json(Ok(checkouts::view(setup))),
        Method::CheckoutsDiscard => {
            let CheckoutParams { prefix } = read_params(params)?;
            to_json(checkouts::discard(setup, &prefix))
        }
        Method::CheckoutsRestore => {
            let CheckoutParams { prefix } = read_params(params)?;
            to_json(checkouts::restore(setup, &prefix))
        }
        Method::DoctorCheck => to_json(Ok(doctor::view().await)),
        Method::HomeCollect => {
            let note = |note| match note {
                CollectNote::Removed(id, _description) => tracing::info!(%id, "a session was removed"),
                CollectNote::Failed(error) => tracing::warn!(%error, "something could not be removed"),
            };
            to_json(gc::collect(setup, read_params(params)?, &note).await)
        }
        elsewhere => Err(ErrorObject::unknown_method(elsewhere.name())),
    }
}

fn add_rule(setup: &Setup, params: AddRuleParams) -> Result<AddRuleResult, CliError> {
    let AddRuleParams { cwd, scope, effect, rule } = params;
    let rule = RuleLine::parse(&rule).map_err(settings_failure)?;
    let scope = match scope {
        UserSettingsScope::Local => RuleScope::Local,
        UserSettingsScope::User => RuleScope::User,
    };
    let (path, added) = settings::rule::add(setup, &absolute_folder(cwd)?, scope, effect, &rule)?;
    Ok(AddRuleResult { path: path.display().to_string(), already_present: added == RuleAddition::AlreadyPresent })
}

fn folder_of(params: Value) -> Result<PathBuf, ErrorObject> {
    let SettingsParams { cwd } = read_params(params)?;
    folder(cwd)
}

fn folder(cwd: Option<String>) -> Result<PathBuf, ErrorObject> {
    absolute_folder(cwd).map_err(refusal)
}

/// The folder that a client names, or that of this process.
pub(crate) fn absolute_folder(cwd: Option<String>) -> Result<PathBuf, CliError> {
    match cwd.as_deref().map(Path::new) {
        Some(cwd) if !cwd.is_absolute() => {
            Err(CliError::usage(format!("`{}` is not an absolute path", cwd.display()))
                .with_hint("write the full path"))
        }
        cwd => working_folder(cwd),
    }
}

/// The answer as JSON.
pub(crate) fn to_json(answer: Result<impl Serialize, CliError>) -> Result<Value, ErrorObject> {
    serde_json::to_value(answer.map_err(refusal)?).map_err(ErrorObject::internal)
}

fn refusal(failure: CliError) -> ErrorObject {
    let (message, hint) = failure.into_message_and_hint();
    ErrorObject::refused_with(RefusalKind::Invalid, Refusal { message, hint })
}
