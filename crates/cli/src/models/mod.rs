//! `bosun models`: lists providers, their models and their keys.

mod closed_models;
mod json_report;
mod probe;
mod start_command;
mod table;

use std::collections::BTreeMap;
use std::path::Path;

use config::ModelAccess;
use futures_util::future::join_all;
use host::{Clock, SystemClock};
use protocol::SessionOptions;
use protocol::api::ModelsResult;
use tui::print;

use crate::args::ModelsArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup;
use crate::setup::Setup;
pub(crate) use probe::ProbeResult;
pub(crate) use start_command::start_command;

pub(crate) async fn list(args: &ModelsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let access = setup.layers_here()?.config().access(&setup.env).map_err(setup::settings_failure)?;
    if args.reopen {
        runtime::reopen_models(&setup.home)?;
    }
    let closed = closed_models::list_closed(&setup.home, SystemClock.now())?;
    let probes = probe_local_servers(&access).await;
    if args.json {
        print::json(&json_report::models_report(&access.providers, &probes, &closed));
    } else {
        table::print_table(&access.providers, &probes);
        closed_models::print_closed(&closed);
    }
    Ok(CommandExit::Success)
}

/// The providers and models of a folder, for other clients.
pub(crate) async fn view(setup: &Setup, cwd: &Path) -> Result<ModelsResult, CliError> {
    let layers = setup.sources().layers(&SessionOptions::default(), None, cwd)?;
    let access = layers.config().access(&setup.env).map_err(setup::settings_failure)?;
    let closed = closed_models::list_closed(&setup.home, SystemClock.now())?;
    let probes = probe_local_servers(&access).await;
    Ok(json_report::models_view(&access.providers, &probes, closed))
}

/// Replaces the hint about an unknown model if a server on this machine has it.
pub(crate) async fn suggest_local_model(failure: CliError) -> CliError {
    let served = match failure.unknown_model() {
        Some(name) => find_local_model(name).await,
        None => None,
    };
    match served {
        Some(spec) => failure.with_hint(format!("did you mean --model {spec}? it runs on this machine")),
        None => failure,
    }
}

async fn find_local_model(name: &str) -> Option<String> {
    let setup = Setup::read().ok()?;
    let access = setup.layers_here().ok()?.config().access(&setup.env).ok()?;
    served_model(&probe_local_servers(&access).await, name)
}

/// The full name of a model that one of these servers has. Ollama lists the version `latest`, which users leave out.
fn served_model(probes: &BTreeMap<String, ProbeResult>, name: &str) -> Option<String> {
    probes.iter().find_map(|(provider, probe)| match probe {
        ProbeResult::Running(models) => models
            .iter()
            .find(|served| served.strip_suffix(":latest").unwrap_or(served) == name)
            .map(|served| format!("{provider}/{served}")),
        ProbeResult::NotRunning | ProbeResult::OtherServer => None,
    })
}

/// The models of the servers on this machine. No other host is contacted.
pub(crate) async fn probe_local_servers(access: &ModelAccess) -> BTreeMap<String, ProbeResult> {
    let by_name = &access.providers.by_name;
    let servers = access.local_servers.iter().filter_map(|name| Some((name, &by_name.get(name)?.base_url)));
    let answers = servers.map(async |(name, url)| (name.clone(), probe::probe_server(name, url).await));
    join_all(answers).await.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_alone_is_found_at_the_server_that_has_it() {
        let models = ["llama3:latest", "qwen3:8b"].map(str::to_owned).to_vec();
        let probes = [("llamacpp", ProbeResult::NotRunning), ("ollama", ProbeResult::Running(models))];
        let probes = probes.map(|(name, probe)| (name.to_owned(), probe)).into();
        assert_eq!(served_model(&probes, "qwen3:8b").as_deref(), Some("ollama/qwen3:8b"));
        assert_eq!(served_model(&probes, "llama3").as_deref(), Some("ollama/llama3:latest"));
        assert_eq!(served_model(&probes, "qwen3"), None);
    }
}
