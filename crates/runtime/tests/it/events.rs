//! Subscribers: each sees every event once, in order, however slow it is.

use std::time::Duration;

use futures_util::future::join_all;
use protocol::{Envelope, Event, MailDelivery};
use runtime::{BusMessage, SessionStart, Subscription};
use testkit::session::scenario;
use tokio::time::timeout;

use crate::support::{relay, rules, script, silent_model};

/// Reads events until the one with this number.
async fn read(subscription: &mut Subscription, last: u64) -> Vec<Envelope> {
    let mut seen = Vec::new();
    while seen.last().is_none_or(|envelope: &Envelope| envelope.seq < last) {
        let live = timeout(Duration::from_secs(20), subscription.next()).await.unwrap().unwrap().unwrap();
        if let BusMessage::Event(envelope) = live {
            seen.push((*envelope).clone());
        }
    }
    seen
}

#[tokio::test]
async fn a_subscriber_that_is_5000_events_behind_misses_none() {
    const MAIL: usize = 5000;
    let mut driver = scenario().model(silent_model()).ready().open(SessionStart::New).await;
    let (mut slow, mut other) = (driver.session().subscribe(0), driver.session().subscribe(0));
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(1).await;
    let mails = (0..MAIL).map(|n| driver.session().send(n.to_string(), MailDelivery::FollowUp));
    assert!(join_all(mails).await.iter().all(Result::is_ok));
    let last = driver.session().view().unwrap().events;
    let seen = read(&mut slow, last).await;
    let numbers: Vec<u64> = seen.iter().map(|envelope| envelope.seq).collect();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    assert_eq!(read(&mut other, last).await, seen);
    let mail = seen.iter().filter(|envelope| matches!(envelope.entry.event, Event::MailAdmitted { .. })).count();
    assert_eq!(mail, MAIL + 1);

    // The slow subscriber has caught up, and one that starts in the middle sees only later events.
    let mut late = driver.session().subscribe(last - 3);
    driver.interrupt().await;
    driver.rest().await;
    let next = read(&mut slow, last + 1).await;
    assert_eq!(next[0].seq, last + 1);
    assert_eq!(read(&mut late, last + 1).await[0].seq, last - 2);
    driver.stop().await.unwrap();
    driver.leave().await;
}

#[tokio::test]
async fn text_is_sent_as_it_arrives_before_the_event_that_holds_it() {
    let answers = rules(
        "  - answer:
      - drip: { every: 1ms, size: 4 }
      - say: Eight by four.
",
    );
    let mut driver = scenario().script(&answers).ready().open(SessionStart::New).await;
    let mut subscription = driver.session().subscribe(0);
    driver.send("go", MailDelivery::FollowUp).await;
    let mut text = String::new();
    let whole = loop {
        match subscription.next().await.unwrap().unwrap() {
            BusMessage::Text { text: more, .. } => text.push_str(&more),
            BusMessage::Event(envelope) => match &envelope.entry.event {
                Event::TurnAnswered { .. } => break envelope,
                _other => {}
            },
        }
    };
    assert_eq!(text, "Eight by four.");
    assert!(format!("{whole:?}").contains("Eight by four."));
    driver.rest().await;
    driver.leave().await;
}

#[tokio::test]
async fn a_subscription_ends_when_the_owner_has_left() {
    let stage = scenario().model(relay([script(&rules("  - answer: [say: hi]\n"))])).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let mut subscription = driver.session().subscribe(0);
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let last = driver.leave().await.events().len() as u64;
    assert_eq!(read(&mut subscription, last).await.len() as u64, last);
    let end = timeout(Duration::from_secs(5), async { while subscription.next().await.unwrap().is_some() {} });
    end.await.unwrap();
}
