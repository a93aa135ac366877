//! `bosun models`: what can be asked, where, and with which key.

mod closed;
mod probe;
mod table;
mod written;

use std::collections::BTreeMap;

use config::Access;
use futures_util::future::join_all;
use host::{Clock, SystemClock};
use store::Buckets;

use crate::args::ModelsArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::setup::Setup;
use crate::{print, setup};
pub(crate) use probe::Found;

pub(crate) async fn list(args: &ModelsArgs) -> Result<Exit, Failure> {
    let setup = Setup::read()?;
    let access = setup.here()?.config().access(&setup.env).map_err(setup::refused)?;
    let buckets = Buckets::open(&setup.home)?;
    if args.reopen {
        buckets.clear()?;
    }
    let closed = closed::all(&buckets, SystemClock.now())?;
    let found = look(&access).await;
    if args.json {
        print::json(&written::all(&access.providers, &found, &closed));
    } else {
        table::show(&access.providers, &found);
        closed::show(&closed);
    }
    Ok(Exit::Success)
}

/// What the servers on this machine serve. Nobody else is asked anything.
pub(crate) async fn look(access: &Access) -> BTreeMap<String, Found> {
    let places = &access.providers.places;
    let asked = access.local.iter().filter_map(|name| Some((name, &places.get(name)?.base_url)));
    let answers = asked.map(async |(name, url)| (name.clone(), probe::ask(name, url).await));
    join_all(answers).await.into_iter().collect()
}
