//! Streams of events: complete and in order, whatever happens to the owner and to the reader.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bosun_client::{EventStream, FollowOptions, SessionHandle, SessionMessage};
use protocol::{MailDelivery, SessionId};
use testkit::session::{SessionFixture, SessionStart, scenario};

/// Far longer than an owner needs to take the session over.
const SURVIVE: FollowOptions = FollowOptions { pause: Duration::ZERO, new_owner_wait: Duration::from_secs(20) };

/// One activation of the session in an owner that then leaves; returns the number of its last event.
async fn play(stage: &SessionFixture, start: SessionStart, text: &str) -> (SessionId, u64) {
    let mut driver = stage.open(start).await;
    driver.resume().await;
    driver.send(text, MailDelivery::FollowUp).await;
    driver.rest().await;
    let run = driver.leave().await;
    (run.id(), run.events().last().unwrap().seq)
}

/// Reads events up to a number, or to the end of the stream; each future is dropped after at most `polls` polls.
async fn read(stream: &mut EventStream, upto: u64, polls: usize) -> Vec<u64> {
    let mut seen = Vec::new();
    while seen.last() != Some(&upto) {
        let message = {
            let mut next = pin!(stream.next());
            let mut polled = 0;
            poll_fn(|context| match next.as_mut().poll(context) {
                Poll::Ready(message) => Poll::Ready(Some(message)),
                Poll::Pending if polled + 1 >= polls => Poll::Ready(None),
                Poll::Pending => {
                    polled += 1;
                    Poll::Pending
                }
            })
            .await
        };
        match message {
            Some(Ok(Some(SessionMessage::Event(event)))) => seen.push(event.seq),
            Some(Ok(Some(SessionMessage::Text { .. } | SessionMessage::Status(_)))) => {}
            Some(Ok(None)) => break,
            Some(Err(error)) => panic!("{error}"),
            // The future was dropped; let the session and the connection go on.
            None => tokio::time::sleep(Duration::from_micros(300)).await,
        }
    }
    seen
}

#[tokio::test]
async fn a_session_that_rests_returns_its_stored_events_and_ends() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let (id, last) = play(&stage, SessionStart::New, "go").await;
    let session = SessionHandle::new(stage.home(), id);
    let mut stream = session.follow(0, FollowOptions::default());
    assert_eq!(read(&mut stream, u64::MAX, usize::MAX).await, (1..=last).collect::<Vec<_>>());
    assert_eq!(stream.last_seq(), last);
    let mut rest = session.follow(last - 2, FollowOptions::default());
    assert_eq!(read(&mut rest, u64::MAX, usize::MAX).await, [last - 1, last]);
}

#[tokio::test]
async fn a_stream_ends_with_the_owner_unless_it_waits_for_the_next() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut stream = SessionHandle::new(stage.home(), driver.id()).follow(0, FollowOptions::default());
    let owning = async {
        driver.send("go", MailDelivery::FollowUp).await;
        driver.rest().await;
        driver.leave().await.events().last().unwrap().seq
    };
    let (seen, last) = tokio::join!(read(&mut stream, u64::MAX, usize::MAX), owning);
    assert_eq!(seen, (1..=last).collect::<Vec<_>>());
}

#[tokio::test]
async fn no_event_is_lost_or_repeated_when_owners_change() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let (id, _last) = play(&stage, SessionStart::New, "go").await;
    let session = SessionHandle::new(stage.home(), id);
    // Futures that are dropped at every await they reach, or soon after.
    for polls in [2, 3, 5, 8, usize::MAX] {
        let from = session.stored().unwrap().view().unwrap().events;
        let mut stream = session.follow(from, SURVIVE);
        let last = std::cell::Cell::new(u64::MAX);
        let owning = async {
            play(&stage, SessionStart::Resume(id), "again").await;
            // An owner that dies instead of leaving.
            let mut driver = stage.open(SessionStart::Resume(id)).await;
            driver.resume().await;
            driver.send("and die", MailDelivery::FollowUp).await;
            driver.rest().await;
            driver.crash().await;
            last.set(play(&stage, SessionStart::Resume(id), "at last").await.1);
        };
        let reading = async {
            let mut seen = Vec::new();
            while seen.last() != Some(&last.get()) {
                let next = seen.last().copied().unwrap_or(from) + 1;
                // The last owner may have left without the reader knowing that there is no more to come.
                let read = tokio::time::timeout(Duration::from_millis(100), read(&mut stream, next, polls)).await;
                seen.extend(read.unwrap_or_default());
            }
            seen
        };
        let both = async { tokio::join!(reading, owning) };
        let (seen, ()) = tokio::time::timeout(Duration::from_secs(60), both).await.unwrap();
        assert_eq!(seen, (from + 1..=last.get()).collect::<Vec<_>>(), "dropped after {polls} polls");
    }
}
