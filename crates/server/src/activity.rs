//! Whether a host has anything to do: sessions that it holds, opens or adopts.

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Counts what a host does, and decides who comes first: the next session, or the end of the host.
#[derive(Debug)]
pub(crate) struct HostActivity {
    count: watch::Sender<usize>,
    closing: CancellationToken,
}

/// Something that the host does; it counts until it is dropped.
#[derive(Debug)]
pub(crate) struct ActivityGuard(watch::Sender<usize>);

impl Drop for ActivityGuard {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl HostActivity {
    pub(crate) fn new() -> HostActivity {
        HostActivity { count: watch::Sender::new(0), closing: CancellationToken::new() }
    }

    /// Begins something new; none if the host closes.
    pub(crate) fn begin(&self) -> Option<ActivityGuard> {
        // The closure runs under the lock of the channel, as in `close_if_idle`.
        let begun = self.count.send_if_modified(|count| {
            let is_open = !self.closing.is_cancelled();
            *count += usize::from(is_open);
            is_open
        });
        begun.then(|| ActivityGuard(self.count.clone()))
    }

    /// Closes the host if it does nothing; returns whether it closes.
    pub(crate) fn close_if_idle(&self) -> bool {
        self.count.send_if_modified(|count| {
            if *count == 0 {
                self.closing.cancel();
            }
            false
        });
        self.closing.is_cancelled()
    }

    /// How much the host does, as it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    /// Cancelled when the host closes.
    pub(crate) fn closing(&self) -> &CancellationToken {
        &self.closing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_closes_only_while_it_does_nothing_and_then_begins_nothing() {
        let activity = HostActivity::new();
        let guard = activity.begin().unwrap();
        assert!(!activity.close_if_idle());
        let second = activity.begin().unwrap();
        drop(guard);
        assert!(!activity.close_if_idle());
        drop(second);
        assert!(activity.close_if_idle());
        assert!(activity.begin().is_none());
    }
}
