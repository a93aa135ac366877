//! Merging, as a fleet asks for it.

use protocol::{FleetTerms, Isolation, Todo};
use tools::BoxFuture;

use super::session::Merging;
use crate::fleet::{Done, Ground, Harvest, Harvested};
use crate::recall::Landing;

impl Ground for Merging {
    fn place<'a>(&'a self, terms: &'a FleetTerms, todo: &'a Todo) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        Box::pin(Merging::place(self, terms, todo))
    }
}

impl Harvest for Merging {
    fn gather<'a>(&'a self, terms: &'a FleetTerms, done: &'a [Done]) -> BoxFuture<'a, Harvested> {
        Box::pin(async move {
            if !terms.isolated {
                return Harvested::in_place();
            }
            match Merging::gather(self, terms, done).await {
                Ok(summary) => Harvested { landing: summary.taken.landing(), short: summary.short() },
                // Nobody can tell which work is in the result, so none is taken for merged.
                Err(why) => {
                    let why = format!("it was not merged: {why}");
                    let short = done.iter().map(|done| (done.todo.id.clone(), why.clone())).collect();
                    Harvested { landing: Landing::Apart, short }
                }
            }
        })
    }
}
