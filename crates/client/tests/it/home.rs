//! The API's methods that belong to no session, answered from the files in Bosun's home.

use std::time::Duration;

use bosun_client::{ClientError, SessionHandle, answer_home, call_home};
use protocol::api::{AnswerSource, METHODS, Method, RefusalKind, RunPhase, SessionWaitEnd, SessionWaitResult, calls};
use protocol::{Event, MailDelivery, SessionId};
use rpc::ErrorObject;
use serde_json::{Value, json};
use testkit::session::{SessionFixture, SessionStart, scenario};

const LIMIT: Duration = Duration::from_secs(20);

const HELLO: &str = "version: 1\nrules:\n  - answer: [{ say: Hello. }]\n";

/// A session that has said hello and rests.
async fn resting_session() -> (SessionFixture, SessionId) {
    let fixture = scenario().script(HELLO).ready();
    let mut driver = fixture.open(SessionStart::New).await;
    driver.send("hello", MailDelivery::FollowUp).await;
    driver.until("an answer", |event| matches!(event, Event::ActivationEnded { .. })).await;
    let id = driver.leave().await.id();
    (fixture, id)
}

fn kind(error: ClientError) -> Option<RefusalKind> {
    ErrorObject::from(error).refusal_kind()
}

/// With parameters that are not valid, the answer of a method that is answered is an error about the parameters.
#[tokio::test]
async fn methods_of_the_home_are_answered_without_a_session_and_no_others() {
    let (fixture, _id) = resting_session().await;
    for spec in METHODS {
        let answer = answer_home(fixture.home(), spec.method, json!(7));
        let is_elsewhere = matches!(answer, Err(ClientError::WrongScope(_)));
        assert_eq!(!is_elsewhere, spec.source == AnswerSource::Home, "{}: {answer:?}", spec.name);
    }
}

#[tokio::test]
async fn sessions_are_listed_and_found() {
    let (fixture, id) = resting_session().await;
    let home = fixture.home();
    let page = call_home(home, Method::SessionsList, json!({})).await.unwrap();
    assert_eq!((&page["total"], &page["sessions"][0]["id"]), (&json!(1), &json!(id)));
    let cwd = page["sessions"][0]["cwd"].clone();
    let latest = call_home(home, Method::SessionsLatest, json!({ "cwd": cwd })).await.unwrap();
    let found = call_home(home, Method::SessionsFind, json!({ "prefix": id.to_string()[..12] })).await.unwrap();
    assert_eq!((&latest["session"], &found["session"]), (&json!(id), &json!(id)));
    let task = SessionHandle::new(home, id).call_value(Method::TasksList, json!({}), LIMIT).await.unwrap();
    let task = task["tasks"][0]["id"].as_str().unwrap();
    let of_task = call_home(home, Method::TasksFind, json!({ "prefix": task })).await.unwrap();
    assert_eq!(of_task["sessions"], json!([id]));
    let missing = call_home(home, Method::SessionsFind, json!({ "prefix": "ses-x" })).await.unwrap_err();
    assert_eq!(kind(missing), Some(RefusalKind::NoSession));
}

#[tokio::test]
async fn usage_of_all_sessions_is_that_of_the_one_session() {
    let (fixture, id) = resting_session().await;
    let all = call_home(fixture.home(), Method::UsageGet, json!({ "by": "session" })).await.unwrap();
    let one = call_home(fixture.home(), Method::UsageGet, json!({ "by": "session", "session": id })).await.unwrap();
    assert_eq!((&all["total"], &all["lines"][0]["session"]), (&one["total"], &json!(id)));
    assert_eq!(all["total"]["turns"], 1);
}

#[tokio::test]
async fn items_of_a_list_are_added_changed_and_exported() {
    let (fixture, id) = resting_session().await;
    let home = fixture.home();
    for list in [format!("session:{id}"), "project:/work".to_owned(), "team:red".to_owned()] {
        let call = async |method, params: Value| {
            let mut params = params;
            params["list"] = list.clone().into();
            call_home(home, method, params).await
        };
        let first = call(Method::ListsAdd, json!({ "subject": "first" })).await.unwrap();
        let second = call(Method::ListsAdd, json!({ "subject": "second", "blockedBy": [first["id"]] })).await.unwrap();
        let done = json!({ "item": second["id"], "status": "completed" });
        let blocked = call(Method::ListsUpdate, done.clone()).await.unwrap_err();
        assert_eq!(kind(blocked), Some(RefusalKind::State), "{list}");
        let stale = json!({ "item": first["id"], "version": 9, "subject": "other" });
        assert_eq!(kind(call(Method::ListsUpdate, stale).await.unwrap_err()), Some(RefusalKind::State), "{list}");
        call(Method::ListsUpdate, json!({ "item": first["id"], "status": "completed" })).await.unwrap();
        call(Method::ListsUpdate, done).await.unwrap();
        let export = call(Method::ListsExport, json!({})).await.unwrap();
        let again = call(Method::ListsImport, json!({ "text": export["text"] })).await.unwrap();
        assert_eq!(again["unchanged"].as_array().unwrap().len(), 2, "{list}");
        let archived = call(Method::ListsArchive, json!({})).await.unwrap();
        assert_eq!(archived["items"].as_array().unwrap().len(), 2, "{list}");
        let left = call(Method::ListsItems, json!({})).await.unwrap();
        assert_eq!(left["items"], json!([]), "{list}");
        let missing = call(Method::ListsGet, json!({ "item": "77" })).await.unwrap_err();
        assert_eq!(kind(missing), Some(RefusalKind::NoItem), "{list}");
    }
}

#[tokio::test]
async fn a_session_that_no_process_runs_is_quiet() {
    let (fixture, id) = resting_session().await;
    let session = SessionHandle::new(fixture.home(), id);
    let waited = session.call::<calls::SessionWait>(&Default::default(), LIMIT).await.unwrap();
    let events = session.view().unwrap().events;
    assert_eq!(waited, SessionWaitResult { end: SessionWaitEnd::Quiet, phase: RunPhase::Quiet, seq: events });
    let log = session.call_value(Method::EventsList, json!({ "after": events - 1 }), LIMIT).await.unwrap();
    assert_eq!(log["events"][0]["seq"], events);
    let export = session.call_value(Method::SessionExport, json!({ "format": "markdown" }), LIMIT).await.unwrap();
    assert!(export["text"].as_str().unwrap().contains("Hello."), "{export}");
}
