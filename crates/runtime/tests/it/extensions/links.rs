//! The API inside the process: events come in order, and a status only after the events that led to it.

use std::time::Duration;

use protocol::api::{Method, SendParams, StatusView, SubscribeParams};
use protocol::{Envelope, Event, MailDelivery};
use rpc::{Notifications, RpcClient};
use runtime::SessionStart;
use serde_json::Value;
use testkit::session::scenario;
use tokio::time::timeout;

use crate::support::rules;

fn message(text: &str) -> SendParams {
    SendParams { task: None, text: text.into(), images: Vec::new(), delivery: MailDelivery::FollowUp, display: None }
}

/// Follows a session until it is quiet after `turns` activations of the root.
async fn follow(client: &RpcClient, notifications: &mut Notifications, after: u64, turns: usize) -> Vec<Envelope> {
    let _: Value = client.call(Method::EventsSubscribe, SubscribeParams::after(after)).await.unwrap();
    let (mut seen, mut ended) = (Vec::<Envelope>::new(), 0);
    loop {
        let next = timeout(Duration::from_secs(20), notifications.next()).await.unwrap().unwrap();
        match next.method.as_str() {
            "event" => {
                let envelope: Envelope = serde_json::from_value(next.params).unwrap();
                assert_eq!(envelope.seq, seen.last().map_or(after, |last| last.seq) + 1, "no gap");
                ended += usize::from(matches!(envelope.entry.event, Event::ActivationEnded { .. }));
                seen.push(envelope);
            }
            "status" => {
                let status: StatusView = serde_json::from_value(next.params).unwrap();
                let last = seen.last().map_or(after, |last| last.seq);
                assert!(status.seq <= last, "a state of {} after event {last}", status.seq);
                if status.quiet && ended == turns {
                    return seen;
                }
            }
            _text => {}
        }
    }
}

#[tokio::test]
async fn a_client_inside_the_process_gets_a_status_only_after_its_events() {
    let driver =
        scenario().script(&rules("  - answer: [say: \"<${prompt}>\"]\n")).ready().open(SessionStart::New).await;
    let (client, mut notifications) = driver.session().connect().await.unwrap();
    let _: Value = client.call(Method::SessionSend, message("one")).await.unwrap();
    let first = follow(&client, &mut notifications, 0, 1).await;

    // A client that connects later gets the same events, and the following ones.
    let (other, mut other_notifications) = driver.session().connect().await.unwrap();
    let _: Value = other.call(Method::SessionSend, message("two")).await.unwrap();
    let second = follow(&other, &mut other_notifications, 0, 2).await;
    assert_eq!(second[..first.len()], first);
    let rest = follow(&other, &mut other_notifications, first.len() as u64, 1).await;
    assert_eq!(rest, second[first.len()..]);
    drop((client, other));
    let run = driver.leave().await;
    assert_eq!(run.text(), "<two>");
    assert_eq!(second, run.events()[..second.len()]);
}
