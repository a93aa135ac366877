//! Deaths on order, for tests of durability: `BOSUN_FAULT=before-commit:7` kills the process with SIGKILL before
//! the commit that holds event 7, `after-commit:7` after it and before anybody knows; `fail-commit:7` makes that
//! commit fail as a full disk would, and `panic-commit:7` makes its writer panic. `panic-at:7` panics where event 7 is
//! shown, which nothing contains.

use std::io;
use std::sync::Arc;

use runtime::Live;
use store::{NoProbe, Point, Probe};

use crate::failure::Failure;

/// The probe that the variable asks for.
pub(crate) fn probe(fault: Option<&str>) -> Result<Arc<dyn Probe>, Failure> {
    match fault.map(Fault::parse).transpose()? {
        Some(fault) => Ok(Arc::new(fault)),
        None => Ok(Arc::new(NoProbe)),
    }
}

/// Panics if the variable asks for that at this event.
pub(crate) fn shown(fault: Option<&str>, live: &Live) {
    let Some(Ok(Fault { deed: Deed::PanicAt, seq })) = fault.map(Fault::parse) else { return };
    match live {
        Live::Event(envelope) if envelope.seq >= seq => panic_on_order(),
        Live::Event(_) | Live::Text { .. } => {}
    }
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
    PanicCommit,
    PanicAt,
}

impl Fault {
    fn parse(text: &str) -> Result<Fault, Failure> {
        let unknown = || Failure::usage(format!("{}=`{text}` is not WHERE:EVENT", config::FAULT));
        let (place, seq) = text.split_once(':').ok_or_else(unknown)?;
        let seq = seq.parse().map_err(|_not_a_number| unknown())?;
        let deed = match place {
            "before-commit" => Deed::DieBefore,
            "after-commit" => Deed::DieAfter,
            "fail-commit" => Deed::Fail,
            "panic-commit" => Deed::PanicCommit,
            "panic-at" => Deed::PanicAt,
            _other => return Err(unknown()),
        };
        Ok(Fault { deed, seq })
    }
}

impl Probe for Fault {
    fn at(&self, point: Point) -> Result<(), io::Error> {
        match (self.deed, point) {
            (Deed::DieBefore, Point::BeforeCommit { last_seq }) if last_seq >= self.seq => host::machine::kill_self(),
            (Deed::DieAfter, Point::AfterCommit { last_seq }) if last_seq >= self.seq => host::machine::kill_self(),
            (Deed::Fail, Point::BeforeCommit { last_seq }) if last_seq >= self.seq => {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            (Deed::PanicCommit, Point::BeforeCommit { last_seq }) if last_seq >= self.seq => panic_on_order(),
            (
                Deed::DieBefore | Deed::DieAfter | Deed::Fail | Deed::PanicCommit | Deed::PanicAt,
                Point::BeforeCommit { .. } | Point::AfterCommit { .. },
            ) => Ok(()),
        }
    }
}

#[expect(clippy::panic, reason = "this is what was ordered")]
fn panic_on_order() -> ! {
    panic!("a panic on order")
}
