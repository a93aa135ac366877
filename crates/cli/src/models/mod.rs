//! `bosun models`: lists providers, their models and their keys.

mod closed;
mod json_report;
mod table;

use std::collections::BTreeMap;

use config::{ProbeResult, closed_models, probe_local_servers};
use host::{Clock, SystemClock};
use tui::print;

use crate::args::ModelsArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup;
use crate::setup::Setup;

pub(crate) async fn list(args: &ModelsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let access = setup.layers_here()?.config().access(&setup.env).map_err(setup::settings_failure)?;
    if args.reopen {
        runtime::reopen_models(&setup.home)?;
    }
    let closed = closed_models(&setup.home, SystemClock.now())?;
    let probes = probe_local_servers(&access).await;
    if args.json {
        print::json(&json_report::models_report(&access.providers, &probes, &closed));
    } else {
        table::print_table(&access.providers, &probes);
        closed::print_closed(&closed);
    }
    Ok(CommandExit::Success)
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
