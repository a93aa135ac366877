//! Merging, as a fleet asks for it.

use protocol::{FleetTerms, Isolation, Todo, TodoId};
use tools::BoxFuture;

use super::session::Merging;
use crate::fleet::{Done, Ground, Harvest, Harvested};

impl Ground for Merging {
    fn reuse<'a>(&'a self, todo: &'a TodoId, work: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(Merging::reuse(self, todo, work))
    }

    fn place<'a>(&'a self, terms: &'a FleetTerms, todo: &'a Todo) -> BoxFuture<'a, Result<Option<Isolation>, String>> {
        Box::pin(Merging::place(self, terms, todo))
    }
}

impl Harvest for Merging {
    fn gather<'a>(&'a self, terms: &'a FleetTerms, done: &'a [Done]) -> BoxFuture<'a, Harvested> {
        Box::pin(async move {
            if !terms.isolated {
                return Harvested::Whole;
            }
            let short = match Merging::gather(self, terms, done).await {
                Ok(summary) => summary.short(),
                // Nobody can tell which work is in the result, so none is taken for merged.
                Err(why) => {
                    done.iter().map(|done| (done.todo.id.clone(), format!("it was not merged: {why}"))).collect()
                }
            };
            if short.is_empty() { Harvested::Whole } else { Harvested::Short(short) }
        })
    }
}
