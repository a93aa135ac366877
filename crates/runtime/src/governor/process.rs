//! Names of those who hold requests, and whether they still live.

use std::sync::atomic::{AtomicU32, Ordering};

use host::ProcessIdentity;
use kernel::bucket::PermitHolder;

/// How many governors this process has had. Each has a name of its own, so that they take turns.
static GOVERNORS: AtomicU32 = AtomicU32::new(0);

/// A name for a governor of this process, that no other ever has.
pub(super) fn own_name() -> std::io::Result<PermitHolder> {
    let ProcessIdentity { boot, pid, started } = ProcessIdentity::current()?;
    let number = GOVERNORS.fetch_add(1, Ordering::Relaxed);
    Ok(PermitHolder(format!("{pid}:{started}:{boot}:{number}")))
}

/// Whether the process of this name still runs. A name that says nothing is nobody's.
pub(super) fn is_alive(holder: &PermitHolder) -> bool {
    owner(&holder.0).is_some_and(|owner| owner.is_alive())
}

fn owner(name: &str) -> Option<ProcessIdentity> {
    let mut parts = name.split(':');
    let (pid, started, boot) = (parts.next()?, parts.next()?, parts.next()?);
    Some(ProcessIdentity { boot: boot.into(), pid: pid.parse().ok()?, started: started.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_under_each_of_its_names() {
        let (one, two) = (own_name().unwrap(), own_name().unwrap());
        assert_ne!(one, two);
        assert!(is_alive(&one) && is_alive(&two));
    }

    #[test]
    fn names_of_nobody_are_dead() {
        let own = own_name().unwrap().0;
        let (pid, rest) = own.split_once(':').unwrap();
        for name in ["", "1", "x:y:z", &format!("{pid}:1:{rest}"), &format!("{pid}:{}", rest.replace('-', "+"))] {
            assert!(!is_alive(&PermitHolder(name.into())), "{name}");
        }
    }
}
