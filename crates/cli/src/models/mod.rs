//! `bosun models`: lists providers, their models and their keys.

mod closed_models;
mod json_report;
mod probe;
mod table;

use std::collections::BTreeMap;

use config::ModelAccess;
use futures_util::future::join_all;
use host::{Clock, SystemClock};
use store::BucketStore;

use crate::args::ModelsArgs;
use crate::error::CliError;
use crate::exit::CommandExit;
use crate::setup::Setup;
use crate::{print, setup};
pub(crate) use probe::ProbeResult;

pub(crate) async fn list(args: &ModelsArgs) -> Result<CommandExit, CliError> {
    let setup = Setup::read()?;
    let access = setup.layers_here()?.config().access(&setup.env).map_err(setup::settings_failure)?;
    let buckets = BucketStore::open(&setup.home)?;
    if args.reopen {
        buckets.clear()?;
    }
    let closed = closed_models::list_closed(&buckets, SystemClock.now())?;
    let probes = probe_local_servers(&access).await;
    if args.json {
        print::json(&json_report::models_report(&access.providers, &probes, &closed));
    } else {
        table::print_table(&access.providers, &probes);
        closed_models::print_closed(&closed);
    }
    Ok(CommandExit::Success)
}

/// The models of the servers on this machine. No other host is contacted.
pub(crate) async fn probe_local_servers(access: &ModelAccess) -> BTreeMap<String, ProbeResult> {
    let by_name = &access.providers.by_name;
    let servers = access.local_servers.iter().filter_map(|name| Some((name, &by_name.get(name)?.base_url)));
    let answers = servers.map(async |(name, url)| (name.clone(), probe::probe_server(name, url).await));
    join_all(answers).await.into_iter().collect()
}
