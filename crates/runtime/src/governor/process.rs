//! Names of processes that hold permits, and whether they are alive.

use std::sync::atomic::{AtomicU32, Ordering};

use host::ProcessIdentity;
use kernel::bucket::PermitHolder;

/// How many governors this process has had. Each has its own name and so its own place in the queue for permits.
static GOVERNORS: AtomicU32 = AtomicU32::new(0);

/// A unique name for a governor of this process.
pub(super) fn new_holder_name() -> std::io::Result<PermitHolder> {
    let ProcessIdentity { boot, pid, start_ticks: started } = ProcessIdentity::current()?;
    let number = GOVERNORS.fetch_add(1, Ordering::Relaxed);
    Ok(PermitHolder(format!("{pid}:{started}:{boot}:{number}")))
}

/// Whether the process in the holder's name still runs. A name that cannot be parsed counts as dead.
pub(super) fn is_alive(holder: &PermitHolder) -> bool {
    parse_holder_name(&holder.0).is_some_and(|process| process.is_alive())
}

fn parse_holder_name(name: &str) -> Option<ProcessIdentity> {
    let mut parts = name.split(':');
    let (pid, started, boot) = (parts.next()?, parts.next()?, parts.next()?);
    Some(ProcessIdentity { boot: boot.into(), pid: pid.parse().ok()?, start_ticks: started.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_under_each_of_its_names() {
        let (one, two) = (new_holder_name().unwrap(), new_holder_name().unwrap());
        assert_ne!(one, two);
        assert!(is_alive(&one) && is_alive(&two));
    }

    #[test]
    fn names_without_a_process_are_dead() {
        let own = new_holder_name().unwrap().0;
        let (pid, rest) = own.split_once(':').unwrap();
        for name in ["", "1", "x:y:z", &format!("{pid}:1:{rest}"), &format!("{pid}:{}", rest.replace('-', "+"))] {
            assert!(!is_alive(&PermitHolder(name.into())), "{name}");
        }
    }
}
