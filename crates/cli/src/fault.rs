//! Deaths on order, for tests of durability: `BOSUN_FAULT=before-commit:7` kills the process with SIGKILL before
//! the commit that holds event 7, `after-commit:7` after it and before anybody knows; `fail-commit:7` makes that
//! commit fail as a full disk would.

use std::io;
use std::sync::Arc;

use store::{NoProbe, Point, Probe};

use crate::failure::Failure;

/// The probe that the variable asks for.
pub(crate) fn probe(fault: Option<&str>) -> Result<Arc<dyn Probe>, Failure> {
    let Some(fault) = fault else { return Ok(Arc::new(NoProbe)) };
    let unknown = || Failure::usage(format!("{}=`{fault}` is not WHERE:EVENT", config::FAULT));
    let (place, seq) = fault.split_once(':').ok_or_else(unknown)?;
    let seq = seq.parse().map_err(|_not_a_number| unknown())?;
    let deed = match place {
        "before-commit" => Deed::DieBefore,
        "after-commit" => Deed::DieAfter,
        "fail-commit" => Deed::Fail,
        _other => return Err(unknown()),
    };
    Ok(Arc::new(Fault { deed, seq }))
}

#[derive(Debug)]
struct Fault {
    deed: Deed,
    seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    DieBefore,
    DieAfter,
    Fail,
}

impl Probe for Fault {
    fn at(&self, point: Point) -> Result<(), io::Error> {
        match (self.deed, point) {
            (Deed::DieBefore, Point::BeforeCommit { last_seq }) if last_seq >= self.seq => host::machine::kill_self(),
            (Deed::DieAfter, Point::AfterCommit { last_seq }) if last_seq >= self.seq => host::machine::kill_self(),
            (Deed::Fail, Point::BeforeCommit { last_seq }) if last_seq >= self.seq => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            (Deed::DieBefore | Deed::DieAfter | Deed::Fail, Point::BeforeCommit { .. } | Point::AfterCommit { .. }) => {
                Ok(())
            }
        }
    }
}
