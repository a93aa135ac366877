//! Streams of events: complete and in order, whatever happens to the owner and to the reader.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bosun_client::{EventStream, FollowOptions, SessionHandle, SessionMessage};
use protocol::{MailDelivery, SessionId, TaskState};
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
        let from = session.view().unwrap().events;
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

#[tokio::test]
async fn clients_in_the_owners_process_share_its_events() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let session = driver.session().handle().clone();
    let mut streams = [0, 0].map(|after| session.follow(after, FollowOptions::default()));
    assert_eq!(streams[0].status().unwrap().root, Some(TaskState::Idle), "known before any message is read");
    let begun = session.view().unwrap().events;
    for stream in &mut streams {
        read(stream, begun, usize::MAX).await;
    }
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let last = driver.leave().await.events().last().unwrap().seq;
    let mut live = [Vec::new(), Vec::new()];
    for (stream, live) in streams.iter_mut().zip(&mut live) {
        let mut is_over = false;
        while let Some(message) = stream.next().await.unwrap() {
            match message {
                SessionMessage::Event(event) => live.push(event),
                SessionMessage::Status(status) => {
                    assert!(status.seq <= stream.last_seq(), "a status comes after the events that led to it");
                    is_over = status.phase().is_over();
                }
                SessionMessage::Text { .. } => {}
            }
        }
        assert!(is_over, "the last status is that of a session at rest");
    }
    assert_eq!(live[0].iter().map(|event| event.seq).collect::<Vec<_>>(), (begun + 1..=last).collect::<Vec<_>>());
    assert!(live[0].iter().zip(&live[1]).all(|(one, other)| Arc::ptr_eq(one, other)), "nothing is copied");
}

#[tokio::test]
async fn futures_that_are_dropped_lose_no_event_of_this_process() {
    let stage = scenario().script(crate::SAYS_DONE).ready();
    for polls in [1, 2, usize::MAX] {
        let mut driver = stage.open(SessionStart::New).await;
        for pause in [Duration::ZERO, Duration::from_millis(1)] {
            let options = FollowOptions { pause, ..FollowOptions::default() };
            let mut stream = driver.session().handle().follow(0, options);
            driver.send("go", MailDelivery::FollowUp).await;
            driver.rest().await;
            let last = driver.session().view().unwrap().events;
            let reading = tokio::time::timeout(Duration::from_secs(20), read(&mut stream, last, polls));
            assert_eq!(reading.await.unwrap(), (1..=last).collect::<Vec<_>>(), "dropped after {polls} polls");
        }
        driver.leave().await;
    }
}
