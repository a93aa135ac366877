//! Waits with a deadline, and does not miss data that arrived while the process was suspended.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

/// How long after a missed deadline data is still read, in case the process was suspended.
const GRACE: Duration = Duration::from_millis(100);

/// Waits for `work` until the deadline, and `GRACE` longer: if the process was suspended until after the deadline, the
/// answer may have arrived but not been read.
pub(crate) async fn until<T>(deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    match timeout_at(deadline, work.as_mut()).await {
        Ok(done) => Some(done),
        Err(_) => timeout(GRACE, work).await.ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn data_that_has_arrived_is_returned_after_the_deadline() {
        let past = Instant::now();
        tokio::time::advance(Duration::from_secs(3600)).await;
        assert_eq!(until(past, async { 1 }).await, Some(1));
        let soon = async {
            tokio::task::yield_now().await;
            2
        };
        assert_eq!(until(past, soon).await, Some(2));
        assert_eq!(until(past, std::future::pending::<()>()).await, None);
    }
}
