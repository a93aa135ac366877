//! Calls that wait for the user: asked all at once, stored, and decided one by one from any process.

use std::time::Duration;

use policy::RuleSource;
use protocol::api::{
    AskState, AskView, AsksDecideParams, AsksParams, AsksResult, DecideParams, Method, SessionCommand, SubscribeParams,
};
use protocol::{
    AskDecision, AskId, AskSubject, DecidedBy, Event, LimitKind, MailDelivery, PermissionMode, SessionId, TaskOutcome,
};
use rpc::{CallError, RpcClient};
use runtime::{InputRejection, SessionStart};
use serde_json::{Value, json};
use store::{SessionReader, post_command};
use testkit::session::{FakeClock, SessionDriver, SessionFixture, scenario};
use tokio::time::timeout;

use crate::secrets::{KEY, leaks};
use crate::support::{TIME_LIMIT, pass_time_limit, rules};

/// A model that makes this many shell calls in one answer, each of which writes its number to `witness`.
fn calls(count: usize) -> String {
    let calls: String = (0..count)
        .map(|n| format!("      - call: {{ id: c{n}, tool: shell, input: {{ command: echo {n} >> witness }} }}\n"))
        .collect();
    rules(&format!("  - when: {{ turn: 1 }}\n    answer:\n{calls}  - answer: [say: done]\n"))
}

/// A session in which this many calls wait.
async fn asking(stage: &SessionFixture, count: usize) -> SessionDriver {
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until_status("the asks", |status| status.asks == count).await;
    driver
}

fn waits_for_user(count: usize) -> SessionFixture {
    scenario().script(&calls(count)).ask_wait(None).ready()
}

fn open_asks(stage: &SessionFixture, id: SessionId) -> Vec<AskView> {
    SessionReader::open(stage.home(), id).unwrap().asks(false).unwrap()
}

fn all_asks(stage: &SessionFixture, id: SessionId) -> Vec<AskView> {
    SessionReader::open(stage.home(), id).unwrap().asks(true).unwrap()
}

fn allow(ask: &AskView) -> DecideParams {
    DecideParams { ask: ask.ask.id.clone(), decision: AskDecision::Allow { rules: Vec::new(), input: None } }
}

fn deny(ask: &AskView, message: &str) -> DecideParams {
    DecideParams { ask: ask.ask.id.clone(), decision: AskDecision::Deny { message: message.into() } }
}

fn post(stage: &SessionFixture, id: SessionId, decision: DecideParams) {
    post_command(stage.home(), id, &SessionCommand::Decide(decision), FakeClock::START).unwrap();
}

fn witness(stage: &SessionFixture) -> String {
    stage.file("witness").unwrap_or_default()
}

fn started(event: &Event) -> bool {
    matches!(event, Event::CallStarted { .. })
}

async fn resume(stage: &SessionFixture, id: SessionId) -> SessionDriver {
    let driver = stage.open(SessionStart::Resume(id)).await;
    driver.resume().await;
    driver
}

/// Waits until the call is answered.
async fn answered(driver: &mut SessionDriver, call: &str) {
    let wanted = |event: &Event| matches!(event, Event::CallAnswered { call: which, .. } if which.0 == call);
    driver.until(call, wanted).await;
}

#[tokio::test]
async fn twenty_asks_survive_their_owner_and_each_decision_releases_its_own_call() {
    let stage = waits_for_user(20);
    let id = asking(&stage, 20).await.crash().await.id();
    let asks = open_asks(&stage, id);
    assert_eq!(asks.len(), 20);
    let calls: Vec<&str> = asks.iter().map(|ask| ask.ask.call.0.as_str()).collect();
    assert_eq!(calls, (0..20).map(|n| format!("c{n}")).collect::<Vec<_>>(), "in the order of the message");
    post(&stage, id, allow(&asks[0]));

    // A decision that was made while no process owned the session is applied first.
    let mut driver = resume(&stage, id).await;
    answered(&mut driver, "c0").await;
    let status = driver.until_status("one decided", |status| status.asks == 19).await;
    assert_eq!((status.quiet, witness(&stage).as_str()), (false, "0\n"));

    // The calls of one message run in their order: a later one waits for those before it.
    driver.session().decide(allow(&asks[3])).await.unwrap();
    driver.session().decide(deny(&asks[1], "not that one")).await.unwrap();
    answered(&mut driver, "c1").await;
    assert_eq!(witness(&stage), "0\n");
    driver.session().decide(deny(&asks[2], "")).await.unwrap();
    answered(&mut driver, "c3").await;
    assert_eq!(witness(&stage), "0\n3\n");
    assert_eq!(open_asks(&stage, id), asks[4..]);

    for ask in &asks[4..] {
        driver.session().decide(deny(ask, "")).await.unwrap();
    }
    driver.rest().await;
    let messages = format!("{:?}", driver.model().requests().last().unwrap().messages);
    assert!(messages.contains("The user did not permit this call of `shell`, and says: not that one"), "{messages}");
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.count(started)), (Some(&TaskOutcome::Completed), 2));
    assert_eq!(witness(&stage), "0\n3\n");
}

#[tokio::test]
async fn an_owner_applies_its_own_time_limit_to_existing_asks() {
    let stage = waits_for_user(2);
    let id = asking(&stage, 2).await.leave().await.id();
    let asks = open_asks(&stage, id);
    post(&stage, id, allow(&asks[1]));
    stage.set_ask_wait(Some(Duration::ZERO));
    let mut driver = resume(&stage, id).await;
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), witness(&stage).as_str()), (Some(&TaskOutcome::Completed), "1\n"));
    let by: Vec<AskState> = all_asks(&stage, id).into_iter().map(|ask| ask.state).collect();
    assert!(matches!(by[0], AskState::Decided { by: DecidedBy::Deadline, .. }), "{by:?}");
    assert!(matches!(by[1], AskState::Decided { by: DecidedBy::User, .. }), "{by:?}");
}

#[tokio::test]
async fn calls_that_differ_in_one_byte_have_separate_asks() {
    let stage = waits_for_user(2);
    let mut driver = asking(&stage, 2).await;
    let asks = open_asks(&stage, driver.id());
    assert_ne!(asks[0].ask.id, asks[1].ask.id);
    driver.session().decide(allow(&asks[0])).await.unwrap();
    answered(&mut driver, "c0").await;
    let again = driver.session().decide(allow(&asks[0])).await.unwrap_err();
    assert!(again.to_string().contains("was decided, or its call has ended"), "{again}");
    // A shortened id is not accepted: only the command line completes ids.
    let half = AskId(asks[1].ask.id.short().to_owned());
    let decision = AskDecision::Allow { rules: Vec::new(), input: None };
    assert!(driver.session().decide(DecideParams { ask: half, decision }).await.is_err());
    assert_eq!((witness(&stage).as_str(), driver.session().status().borrow().asks), ("0\n", 1));
    driver.stop().await.unwrap();
    driver.rest().await;
    let states: Vec<AskState> = all_asks(&stage, driver.id()).into_iter().map(|ask| ask.state).collect();
    assert!(matches!(states[..], [AskState::Decided { by: DecidedBy::User, .. }, AskState::Withdrawn]), "{states:?}");
    driver.leave().await;
}

#[tokio::test]
async fn the_model_is_told_that_no_decision_was_made_in_time() {
    let stage = scenario().script(&calls(1)).ask_wait(Some(Duration::from_secs(60))).ready();
    let mut driver = asking(&stage, 1).await;
    assert_eq!(open_asks(&stage, driver.id())[0].ask.until_at, Some(FakeClock::START.plus(Duration::from_secs(60))));
    stage.clock().advance(Duration::from_secs(60));
    driver.rest().await;
    let messages = format!("{:?}", driver.model().requests().last().unwrap().messages);
    assert!(messages.contains("The user did not decide in time."), "{messages}");
    let run = driver.leave().await;
    assert_eq!((run.count(started), witness(&stage).as_str()), (0, ""));
}

#[tokio::test]
async fn a_decision_made_without_an_owner_comes_before_a_deadline_that_passed_meanwhile() {
    let stage = scenario().script(&calls(2)).ask_wait(Some(Duration::from_secs(60))).ready();
    let id = asking(&stage, 2).await.crash().await.id();
    let asks = open_asks(&stage, id);
    stage.clock().advance(Duration::from_secs(86_400));
    post(&stage, id, allow(&asks[1]));
    let mut driver = resume(&stage, id).await;
    driver.rest().await;
    driver.leave().await;
    assert_eq!(witness(&stage), "1\n");
    let by: Vec<AskState> = all_asks(&stage, id).into_iter().map(|ask| ask.state).collect();
    assert!(matches!(&by[0], AskState::Decided { by: DecidedBy::Deadline, .. }), "{by:?}");
}

#[tokio::test]
async fn an_open_ask_stays_open_under_an_owner_that_allows_everything() {
    let stage = waits_for_user(2);
    let driver = asking(&stage, 2).await;
    let asks = open_asks(&stage, driver.id());
    // The second call is denied but not yet answered, since it waits for the first.
    driver.session().decide(deny(&asks[1], "")).await.unwrap();
    let id = driver.crash().await.id();
    stage.set_mode(PermissionMode::AllowAll);
    let mut driver = resume(&stage, id).await;
    assert_eq!(driver.session().status().borrow().asks, 1);
    driver.session().decide(allow(&asks[0])).await.unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!((run.outcome(), witness(&stage).as_str()), (Some(&TaskOutcome::Completed), "0\n"));
}

#[tokio::test]
async fn an_owner_whose_policy_denies_the_call_withdraws_the_ask() {
    let stage = waits_for_user(1);
    let id = asking(&stage, 1).await.crash().await.id();
    stage.set_mode(PermissionMode::Plan);
    let mut driver = resume(&stage, id).await;
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
    assert_eq!(all_asks(&stage, id)[0].state, AskState::Withdrawn);
    assert_eq!(witness(&stage), "");
}

#[tokio::test]
async fn a_granted_rule_applies_under_the_next_owner_and_releases_no_open_ask() {
    let stage = waits_for_user(2);
    let mut driver = asking(&stage, 2).await;
    let asks = open_asks(&stage, driver.id());
    let with = |rule: &str| {
        let decision = AskDecision::Allow { rules: vec![rule.into()], input: None };
        DecideParams { ask: asks[0].ask.id.clone(), decision }
    };
    let refused = driver.session().decide(with(" ")).await;
    assert!(matches!(refused, Err(InputRejection::Rule(_))), "{refused:?}");
    assert_eq!(driver.session().status().borrow().asks, 2, "nothing was decided");

    driver.session().decide(with("shell(echo *)")).await.unwrap();
    answered(&mut driver, "c0").await;
    let granted = |driver: &SessionDriver| {
        let policy = driver.session().policy();
        policy.rules.iter().map(|rule| (rule.text.clone(), rule.source.clone())).collect::<Vec<_>>()
    };
    assert_eq!(granted(&driver), [("shell(echo *)".to_owned(), RuleSource::Session)]);
    assert_eq!((driver.session().status().borrow().asks, witness(&stage).as_str()), (1, "0\n"));

    let id = driver.crash().await.id();
    let mut driver = resume(&stage, id).await;
    assert_eq!(granted(&driver), [("shell(echo *)".to_owned(), RuleSource::Session)]);
    assert_eq!(open_asks(&stage, id), asks[1..]);
    driver.session().decide(deny(&asks[1], "")).await.unwrap();
    driver.rest().await;
    driver.leave().await;
    assert_eq!(witness(&stage), "0\n");
}

#[tokio::test]
async fn a_stored_decision_with_an_invalid_rule_is_dropped_and_decides_nothing() {
    let stage = waits_for_user(1);
    let driver = asking(&stage, 1).await;
    let ask = open_asks(&stage, driver.id()).remove(0);
    let id = driver.crash().await.id();
    let rules = vec![String::new()];
    post(&stage, id, DecideParams { ask: ask.ask.id.clone(), decision: AskDecision::Allow { rules, input: None } });
    let mut driver = resume(&stage, id).await;
    assert_eq!(SessionReader::open(stage.home(), id).unwrap().pending_commands().unwrap(), []);
    assert_eq!(open_asks(&stage, id), std::slice::from_ref(&ask));
    driver.session().decide(allow(&ask)).await.unwrap();
    driver.rest().await;
    driver.leave().await;
    assert_eq!(witness(&stage), "0\n");
}

#[tokio::test]
async fn interrupting_mail_withdraws_the_ask() {
    let stage = waits_for_user(2);
    let mut driver = asking(&stage, 2).await;
    let asks = open_asks(&stage, driver.id());
    driver.send("never mind", MailDelivery::Interrupt).await;
    driver.rest().await;
    let late = driver.session().decide(allow(&asks[0])).await.unwrap_err();
    assert!(late.to_string().contains("its call has ended"), "{late}");
    assert_eq!(driver.session().status().borrow().asks, 0);
    let run = driver.leave().await;
    assert_eq!((run.outcome(), witness(&stage).as_str()), (Some(&TaskOutcome::Completed), ""));
}

#[tokio::test]
async fn a_fork_has_no_open_asks_and_the_original_keeps_its_own() {
    let stage = waits_for_user(2);
    let driver = asking(&stage, 2).await;
    let fork = stage.open(SessionStart::Fork(driver.id())).await;
    assert_eq!(fork.session().status().borrow().asks, 0);
    assert_eq!(open_asks(&stage, fork.id()), []);
    let withdrawn = |ask: &AskView| ask.state == AskState::Withdrawn;
    assert!(all_asks(&stage, fork.id()).iter().all(withdrawn));
    assert_eq!(open_asks(&stage, driver.id()).len(), 2);
    fork.leave().await;
    driver.leave().await;
}

#[tokio::test]
async fn a_secret_in_an_ask_reaches_no_file() {
    let call = format!("      - call: {{ tool: shell, input: {{ command: 'touch {KEY}' }} }}\n");
    let script = rules(&format!("  - when: {{ turn: 1 }}\n    answer:\n{call}  - answer: [say: done]\n"));
    let stage = scenario().script(&script).ask_wait(None).secret(KEY).ready();
    let mut driver = asking(&stage, 1).await;
    let ask = open_asks(&stage, driver.id()).remove(0);
    let AskSubject::Permission { input, .. } = &ask.ask.subject else { panic!("{ask:?}") };
    assert_eq!(input, r#"{"command":"touch [redacted]"}"#);
    driver.session().decide(deny(&ask, &format!("not with {KEY}"))).await.unwrap();
    driver.rest().await;
    let run = driver.leave().await;
    assert!(run.transcript().contains("says: not with [redacted]"), "{}", run.transcript());
    assert_eq!(leaks(stage.home().root()), Vec::<String>::new());
}

#[tokio::test]
async fn a_long_denial_message_is_clipped_for_the_model() {
    let stage = waits_for_user(1);
    let mut driver = asking(&stage, 1).await;
    let ask = open_asks(&stage, driver.id()).remove(0);
    driver.session().decide(deny(&ask, &"no ".repeat(100_000))).await.unwrap();
    driver.rest().await;
    let messages = format!("{:?}", driver.model().requests().last().unwrap().messages);
    assert!(messages.len() < 20_000, "{} bytes", messages.len());
    driver.leave().await;
}

#[tokio::test]
async fn a_client_lists_and_decides_asks_and_sees_their_events() {
    let stage = waits_for_user(2);
    let mut driver = asking(&stage, 2).await;
    let (client, mut notifications) = RpcClient::connect(&stage.home().socket(driver.id())).await.unwrap();
    let list = async |all| -> Vec<AskView> {
        let params = AsksParams { all, ..AsksParams::default() };
        client.call::<AsksResult>(Method::AsksList, params).await.unwrap().asks
    };
    let asks = list(false).await;
    assert_eq!((asks.len(), asks[0].path.as_str(), asks[0].session), (2, "/root", driver.id()));
    let second = AsksParams { offset: 1, limit: Some(1), ..AsksParams::default() };
    let page: AsksResult = client.call(Method::AsksList, second).await.unwrap();
    assert_eq!((page.total, &*page.asks), (2, &asks[1..]));

    let refused = async |params: Value| -> (i64, Option<Value>) {
        match client.call::<Value>(Method::AsksDecide, params).await {
            Err(CallError::Refused(error)) => (error.code, error.data),
            other => panic!("{other:?}"),
        }
    };
    let id = &asks[0].ask.id;
    let unknown = json!({ "ask": "0123", "decision": { "type": "allow" } });
    assert_eq!(refused(unknown).await, (1, Some(json!({ "kind": "noAsk" }))));
    let unfit = json!({ "ask": id, "decision": { "type": "reply", "text": "yes" } });
    assert_eq!(refused(unfit).await, (1, Some(json!({ "kind": "invalid" }))));
    let no_rule = json!({ "ask": id, "decision": { "type": "allow", "rules": [""] } });
    assert_eq!(refused(no_rule).await, (1, Some(json!({ "kind": "noRule" }))));
    assert_eq!(refused(json!({ "ask": id })).await.0, -32602);

    for (ask, decision) in [(&asks[0], allow(&asks[0])), (&asks[1], deny(&asks[1], "no"))] {
        let _: Value = client.call(Method::AsksDecide, decision).await.unwrap();
        assert!(!list(false).await.contains(ask));
    }
    assert_eq!(list(true).await.len(), 2);
    driver.rest().await;
    let _: Value = client.call(Method::EventsSubscribe, SubscribeParams::after(0)).await.unwrap();
    let mut seen = Vec::new();
    while !seen.contains(&"activationEnded".to_owned()) {
        let notification = timeout(Duration::from_secs(20), notifications.next()).await.unwrap().unwrap();
        seen.extend(notification.params["type"].as_str().map(str::to_owned));
    }
    let count = |kind: &str| seen.iter().filter(|seen| *seen == kind).count();
    assert_eq!((count("askOpened"), count("askDecided"), count("callStarted")), (2, 2, 1));
    driver.leave().await;
}

#[tokio::test]
async fn a_run_whose_time_is_up_withdraws_its_asks() {
    let script = rules(
        "  - when: { prompt: 'your last answer' }
    answer: [say: stopped early]
  - answer:
      - call: { tool: shell, input: { command: touch evil } }
",
    );
    let stage = scenario().script(&script).ask_wait(None).timeout(TIME_LIMIT).ready();
    let mut driver = asking(&stage, 1).await;
    pass_time_limit().await;
    driver.rest().await;
    assert_eq!(all_asks(&stage, driver.id())[0].state, AskState::Withdrawn);
    let run = driver.leave().await;
    assert_eq!((run.outcome(), run.text()), (Some(&TaskOutcome::TimedOut { limit: LimitKind::Time }), "stopped early"));
    assert_eq!(stage.file("evil"), None);
}

#[tokio::test]
async fn a_decision_written_to_the_file_of_a_running_session_is_ignored() {
    let stage = waits_for_user(1);
    let driver = asking(&stage, 1).await;
    let id = driver.id();
    let ask = open_asks(&stage, id).remove(0);
    let posted = post_command(stage.home(), id, &SessionCommand::Decide(allow(&ask)), FakeClock::START);
    assert!(matches!(posted, Err(store::StoreError::Owned { .. })), "{posted:?}");
    driver.leave().await;

    // A decision in the file is ignored if a program of the session may have written it.
    post(&stage, id, allow(&ask));
    std::fs::write(stage.home().session_dir(id).join("programs"), "").unwrap();
    let driver = resume(&stage, id).await;
    assert_eq!((open_asks(&stage, id).len(), witness(&stage).as_str()), (1, ""));
    driver.leave().await;

    // A decision that is stored after the programs ended is the user's.
    post(&stage, id, deny(&ask, "forged"));
    std::fs::write(stage.home().session_dir(id).join("programs"), "").unwrap();
    post(&stage, id, allow(&ask));
    let mut driver = resume(&stage, id).await;
    driver.rest().await;
    driver.leave().await;
    assert_eq!(witness(&stage), "0\n");
}

#[tokio::test]
async fn no_turn_follows_a_denial_that_interrupts() {
    let stage = waits_for_user(1);
    let mut driver = asking(&stage, 1).await;
    let (client, _notifications) = RpcClient::connect(&stage.home().socket(driver.id())).await.unwrap();
    let decided = deny(&open_asks(&stage, driver.id())[0], "stop everything");
    let _: Value = client.call(Method::AsksDecide, AsksDecideParams { decided, interrupt: true }).await.unwrap();
    driver.rest().await;
    assert_eq!(driver.model().requests().len(), 1);
    let asks = all_asks(&stage, driver.id());
    assert!(matches!(asks[0].state, AskState::Decided { decision: AskDecision::Deny { .. }, .. }), "{asks:?}");
    driver.leave().await;
}
