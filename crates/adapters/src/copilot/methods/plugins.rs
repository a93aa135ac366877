//! `plugins.*` and `session.plugins.*`: plugins that clients install from folders of this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::api::{CatalogView, Method, SettingsParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::{optional_text, required_text};
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;
use crate::copilot::plugins::{
    InstalledPlugin, MarketplaceManifest, PluginError, PluginStore, PluginUpdate, RemovedMarketplace,
};
use crate::copilot::server::CopilotServer;

/// The marketplace that is always there: the user's own plugins in Bosun's home, which every session has.
const OWN_MARKETPLACE: &str = "bosun";

/// What clients are told when they install a plugin without a marketplace.
const DEPRECATION: &str = "Installing a plugin from a folder is deprecated: install it from a marketplace instead.";

/// Answers a method about the plugins of all sessions. Files are copied, so it runs on a thread for blocking work.
pub(super) async fn call(
    connection: &Arc<CopilotConnection>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    if method == "plugins.builtin.set" {
        let folders = texts(&params, "paths")?.into_iter().map(PathBuf::from).collect();
        connection.server().set_builtin_plugins(folders);
        return Ok(Value::Null);
    }
    let (server, method) = (Arc::clone(connection.server()), method.to_owned());
    let working = tokio::task::spawn_blocking(move || answer(&server, &method, &params));
    working.await.map_err(ErrorObject::internal)?
}

fn answer(server: &CopilotServer, method: &str, params: &Value) -> Result<Value, ErrorObject> {
    let store = PluginStore(&server.state);
    let failed = |error: PluginError| ErrorObject::internal(error);
    match method {
        "plugins.list" => {
            let plugins = store.plugins().map_err(failed)?;
            Ok(json!({ "plugins": plugins.iter().map(view).collect::<Vec<_>>() }))
        }
        "plugins.install" => install(&store, params),
        "plugins.uninstall" => {
            let (name, source) = (required_text(params, "name")?, optional_text(params, "directSourceId"));
            store.uninstall(name, source).map(|()| Value::Null).map_err(failed)
        }
        "plugins.update" => {
            let update = store.update(required_text(params, "name")?).map_err(failed)?;
            Ok(update_view(&update))
        }
        "plugins.updateAll" => update_all(&store).map_err(failed),
        "plugins.enable" | "plugins.disable" => {
            let names = texts(params, "names")?;
            store.set_enabled(&names, method == "plugins.enable").map(|()| Value::Null).map_err(failed)
        }
        "plugins.marketplaces.list" => {
            let own = server.sessions.home().root().join("plugins");
            let own = json!({ "name": OWN_MARKETPLACE, "source": own, "isDefault": true });
            let others = store.marketplaces().map_err(failed)?;
            let others = others.into_iter().map(|(name, folder)| json!({ "name": name, "source": folder }));
            Ok(json!({ "marketplaces": std::iter::once(own).chain(others).collect::<Vec<_>>() }))
        }
        "plugins.marketplaces.add" => {
            let name = store.add_marketplace(&source_folder(params)?).map_err(failed)?;
            Ok(json!({ "name": name }))
        }
        "plugins.marketplaces.remove" => {
            let forced = params["force"] == true;
            Ok(match store.remove_marketplace(required_text(params, "name")?, forced).map_err(failed)? {
                RemovedMarketplace::Removed => json!({ "removed": true }),
                RemovedMarketplace::InUse(plugins) => json!({ "removed": false, "dependentPlugins": plugins }),
            })
        }
        "plugins.marketplaces.browse" => browse(server, &store, required_text(params, "name")?),
        "plugins.marketplaces.refresh" => refresh(&store, optional_text(params, "name")).map_err(failed),
        other => Err(unhandled(other)),
    }
}

/// Installs `NAME@MARKETPLACE`, or the plugin in a folder.
fn install(store: &PluginStore<'_>, params: &Value) -> Result<Value, ErrorObject> {
    let source = required_text(params, "source")?;
    let listed = source.split_once('@').filter(|(name, _)| !name.contains('/'));
    let (installed, warning) = match listed {
        Some((name, marketplace)) => (store.install_listed(name, marketplace), None),
        None => (store.install_folder(&source_folder(params)?), Some(DEPRECATION)),
    };
    let (plugin, skills) = installed.map_err(ErrorObject::internal)?;
    let mut answer = json!({ "plugin": view(&plugin), "skillsInstalled": skills });
    if let Some(warning) = warning {
        answer["deprecationWarning"] = warning.into();
    }
    Ok(answer)
}

fn update_all(store: &PluginStore<'_>) -> Result<Value, PluginError> {
    let mut results = Vec::new();
    for InstalledPlugin { name, marketplace, .. } in store.plugins()? {
        let spec = if marketplace.is_empty() { name.clone() } else { format!("{name}@{marketplace}") };
        let mut result = match store.update(&spec) {
            Ok(update) => update_view(&update),
            Err(error) => json!({ "error": error.to_string() }),
        };
        result["success"] = result["error"].is_null().into();
        (result["name"], result["marketplace"]) = (name.into(), marketplace.into());
        results.push(result);
    }
    Ok(json!({ "results": results }))
}

fn browse(server: &CopilotServer, store: &PluginStore<'_>, name: &str) -> Result<Value, ErrorObject> {
    if name == OWN_MARKETPLACE {
        let plugins = std::fs::read_dir(server.sessions.home().root().join("plugins"));
        let folders = plugins.into_iter().flatten().flatten().filter(|entry| entry.path().is_dir());
        let plugins = folders.map(|entry| json!({ "name": entry.file_name().to_string_lossy() }));
        return Ok(json!({ "plugins": plugins.collect::<Vec<_>>() }));
    }
    let (MarketplaceManifest { plugins, .. }, _folder) = store.manifest(name).map_err(ErrorObject::internal)?;
    let plugins = plugins.into_iter().map(|plugin| match plugin.description {
        Some(description) => json!({ "name": plugin.name, "description": description }),
        None => json!({ "name": plugin.name }),
    });
    Ok(json!({ "plugins": plugins.collect::<Vec<_>>() }))
}

/// Reads the manifests of all marketplaces or of one again.
fn refresh(store: &PluginStore<'_>, name: Option<&str>) -> Result<Value, PluginError> {
    let names = match name {
        Some(name) => vec![name.to_owned()],
        None => store.marketplaces()?.into_keys().collect(),
    };
    let read = |name: String| match store.manifest(&name) {
        Ok(_manifest) => json!({ "name": name, "success": true }),
        Err(error) => json!({ "name": name, "success": false, "error": error.to_string() }),
    };
    Ok(json!({ "results": names.into_iter().map(read).collect::<Vec<_>>() }))
}

fn view(plugin: &InstalledPlugin) -> Value {
    let InstalledPlugin { name, marketplace, version, enabled, .. } = plugin;
    let mut view = json!({ "name": name, "marketplace": marketplace, "enabled": enabled });
    if let Some(version) = version {
        view["version"] = version.as_str().into();
    }
    if let Some(id) = plugin.direct_source_id() {
        view["directSourceId"] = id.into();
    }
    view
}

fn update_view(PluginUpdate { plugin, previous_version, skills }: &PluginUpdate) -> Value {
    let mut view = json!({ "skillsInstalled": skills });
    for (key, version) in [("previousVersion", previous_version), ("newVersion", &plugin.version)] {
        if let Some(version) = version {
            view[key] = version.as_str().into();
        }
    }
    view
}

/// The folder that a client names as a source.
fn source_folder(params: &Value) -> Result<PathBuf, ErrorObject> {
    let source = required_text(params, "source")?;
    let path = optional_text(params, "workingDirectory").map_or(PathBuf::new(), PathBuf::from).join(source);
    let folder = path.canonicalize().ok().filter(|path| path.is_dir());
    folder.ok_or_else(|| ErrorObject::internal(PluginError::Source(source.to_owned())))
}

fn texts(params: &Value, name: &str) -> Result<Vec<String>, ErrorObject> {
    let list = params[name].as_array().ok_or_else(|| ErrorObject::bad_params(format!("`{name}` is not a list")))?;
    Ok(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Answers a method about the plugins of one session.
pub(super) async fn session_call(
    connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
) -> Result<Value, ErrorObject> {
    match method {
        "session.plugins.list" => list(connection, session).await,
        "session.plugins.reload" if !session.features.has_plugins() => Ok(Value::Null),
        "session.plugins.reload" => {
            let why = "plugins are read when a session is opened: resume the session to read them again";
            Err(ErrorObject::internal(why))
        }
        other => Err(unhandled(other)),
    }
}

/// The installed plugins, and those of the session's folder.
async fn list(connection: &CopilotConnection, session: &HostedSession) -> Result<Value, ErrorObject> {
    let installed = PluginStore(&connection.server().state).plugins().map_err(ErrorObject::internal)?;
    let mut plugins: Vec<Value> = installed.iter().map(view).collect();
    let cwd = session.features.folders().first().map(|folder: &PathBuf| folder.display().to_string());
    let catalog = connection.server().ask_settings(Method::CatalogList, SettingsParams { cwd }).await;
    if let Ok(CatalogView { plugins: own, .. }) = catalog {
        plugins.extend(own.iter().map(|plugin| {
            let is_own = Path::new(&plugin.folder).starts_with(connection.server().sessions.home().root());
            let marketplace = if is_own { OWN_MARKETPLACE } else { "" };
            let mut view = json!({ "name": plugin.name, "marketplace": marketplace, "enabled": true });
            if let Some(version) = &plugin.version {
                view["version"] = version.as_str().into();
            }
            view
        }));
    }
    Ok(json!({ "plugins": plugins }))
}
