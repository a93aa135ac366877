//! The API over the session's real socket.

use std::time::{Duration, Instant};

use protocol::api::{
    MailState, Method, OutputResult, SendParams, SendResult, SessionView, SubscribeParams, TaskParams, TaskRecord,
    TasksPage, TasksParams, TodoView, TodosPage,
};
use protocol::{
    Envelope, Event, HookEvent, MailDelivery, Principal, TaskId, TaskOutcome, TaskState, TaskType, TodoStatus,
};
use rpc::{CallError, Notifications, RpcClient};
use runtime::SessionStart;
use serde_json::{Value, json};
use testkit::session::{SessionDriver, scenario};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use crate::hooks::command_hook;
use crate::support::{UNTIL_GO, relay, rules, script, silent_model, until_file};

async fn connect(driver: &SessionDriver) -> (RpcClient, Notifications) {
    RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap()
}

fn message(text: &str, delivery: MailDelivery) -> SendParams {
    SendParams { task: None, text: text.into(), images: Vec::new(), delivery, display: None }
}

async fn event(notifications: &mut Notifications) -> Envelope {
    loop {
        let next = timeout(Duration::from_secs(20), notifications.next()).await.unwrap().unwrap();
        if next.method == "event" {
            return serde_json::from_value(next.params).unwrap();
        }
    }
}

#[tokio::test]
async fn a_client_sees_the_session_sends_to_it_and_follows_its_events() {
    let stage = scenario().script(&rules("  - answer: [say: \"heard: ${prompt}\"]\n")).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let (client, mut notifications) = connect(&driver).await;
    let view: SessionView = client.call(Method::SessionGet, json!({})).await.unwrap();
    assert_eq!((view.id, view.state, view.turns), (driver.id(), TaskState::Idle, 0));
    assert_eq!(view.owner_pid, Some(std::process::id()));

    let _: Value = client.call(Method::EventsSubscribe, SubscribeParams::after(1)).await.unwrap();
    let receipt: SendResult = client.call(Method::SessionSend, message("hello", MailDelivery::Steer)).await.unwrap();
    let mut seen = vec![event(&mut notifications).await];
    while !matches!(seen.last().unwrap().entry.event, Event::ActivationEnded { .. }) {
        seen.push(event(&mut notifications).await);
    }
    let admitted =
        |envelope: &Envelope| matches!(envelope.entry.event, Event::MailAdmitted { mail, .. } if mail == receipt.mail);
    assert!(seen.iter().any(admitted), "the receipt names the mail");
    let numbers: Vec<u64> = seen.iter().map(|envelope| envelope.seq).collect();
    assert_eq!(numbers, (2..numbers.len() as u64 + 2).collect::<Vec<_>>());
    driver.rest().await;
    let view: SessionView = client.call(Method::SessionGet, json!({})).await.unwrap();
    assert_eq!((view.title.as_str(), view.turns, view.last_outcome), ("hello", 1, Some(TaskOutcome::Completed)));
    let run = driver.leave().await;
    assert_eq!(seen, run.events()[1..]);
}

#[tokio::test]
async fn a_subscription_with_a_pause_sends_events_together_and_loses_none() {
    let mut driver = scenario().script(&rules("  - answer: [say: heard]\n")).ready().open(SessionStart::New).await;
    let (client, mut notifications) = connect(&driver).await;
    let (pause, began) = (Duration::from_millis(400), Instant::now());
    let wanted = SubscribeParams { after: 0, pause_ms: 400 };
    let _: Value = client.call(Method::EventsSubscribe, wanted).await.unwrap();
    // Existing events arrive at once, and then the pause begins.
    let mut seen = vec![event(&mut notifications).await, event(&mut notifications).await];
    let _: SendResult = client.call(Method::SessionSend, message("hello", MailDelivery::Steer)).await.unwrap();
    driver.rest().await;
    seen.push(event(&mut notifications).await);
    assert!(began.elapsed() >= pause, "{:?}", began.elapsed());
    while !matches!(seen.last().unwrap().entry.event, Event::ActivationEnded { .. }) {
        seen.push(event(&mut notifications).await);
    }
    assert_eq!(seen, driver.leave().await.events());
}

#[tokio::test]
async fn tasks_are_listed_in_pages() {
    let starts: String = (0..5)
        .map(|_| format!("      - call: {{ tool: shell, input: {{ background: true, command: '{UNTIL_GO}' }} }}\n"))
        .collect();
    let answers = rules(&format!("  - when: {{ turn: 1 }}\n    answer:\n{starts}  - answer: [say: started]\n"));
    let mut driver = scenario().script(&answers).allow_all().ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("an answer", |event| matches!(event, Event::ActivationEnded { .. })).await;
    let (client, _notifications) = connect(&driver).await;
    let mut paths = Vec::new();
    for offset in [0, 4, 8] {
        let params = TasksParams { offset, limit: Some(4), ..TasksParams::default() };
        let page: TasksPage = client.call(Method::TasksList, params).await.unwrap();
        assert_eq!(page.total, 6);
        paths.push(page.tasks.into_iter().map(|task| task.path).collect::<Vec<_>>());
    }
    assert_eq!(paths[0], ["/root", "/root/until", "/root/until-2", "/root/until-3"]);
    assert_eq!(paths[1], ["/root/until-4", "/root/until-5"]);
    assert_eq!(paths[2], Vec::<String>::new());
    let _: Value = client.call(Method::SessionStop, json!({})).await.unwrap();
    driver.rest().await;
    let states: Vec<&str> = driver.tasks().iter().skip(1).map(|task| task.state.as_str()).collect();
    assert_eq!(states, ["cancelled"; 5]);
    driver.leave().await;
}

/// A root that starts an agent in the background.
const DELEGATES: &str = "
  - when: { agent: worker }
    answer: [say: forty-two]
    usage: { input: 70, output: 7 }
  - when: { turn: 1 }
    answer:
      - call: { tool: task, input: { description: counts, prompt: count, agent_type: worker, name: counter, mode: background } }
  - answer: [say: done]
";

#[tokio::test]
async fn a_client_reads_whole_records_and_tells_refusals_apart() {
    let mut driver = scenario().script(&rules(DELEGATES)).ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.rest().await;
    let (client, _notifications) = connect(&driver).await;
    let list = async |params: TasksParams| -> Vec<TaskId> {
        let page: TasksPage = client.call(Method::TasksList, params).await.unwrap();
        assert_eq!(page.total, page.tasks.len() as u64);
        page.tasks.into_iter().map(|task| task.id).collect()
    };
    let agents = TasksParams { kind: Some(TaskType::Agent), ..TasksParams::default() };
    let [task] = list(agents.clone()).await[..] else { panic!("one agent") };
    for (state, below, found) in
        [("idle", "/root/counter", 1), ("idle", "/root", 2), ("running", "/root", 0), ("idle", "/root/count", 0)]
    {
        let wanted = TasksParams { state: Some(state.into()), below: Some(below.into()), ..TasksParams::default() };
        assert_eq!(list(wanted).await.len(), found, "{state} {below}");
    }
    let record: TaskRecord = client.call(Method::TasksGet, TaskParams { task }).await.unwrap();
    assert_eq!((record.task.path.as_str(), record.task.prompt.as_deref()), ("/root/counter", Some("count")));
    assert_eq!((record.task.depth, record.task.turns, record.task.usage.input), (1, 1, 70));
    assert_eq!((record.turns.len(), record.turns[0].usage.output, record.turns[0].ended_at.is_some()), (1, 7, true));
    assert_eq!((record.mail.len(), record.mail[0].state, record.task.unread), (1, MailState::Delivered, 0));
    let output: OutputResult = client.call(Method::TasksOutput, TaskParams { task }).await.unwrap();
    assert_eq!(output.output, "forty-two");

    let refused = async |method: Method, params: Value| -> Value {
        match client.call::<Value>(method, params).await {
            Err(CallError::Refused(error)) => error.data.unwrap()["kind"].clone(),
            other => panic!("{other:?}"),
        }
    };
    let unknown_task = json!({ "task": "task-0000000000000000000000000000ffff" });
    for method in [Method::TasksGet, Method::TasksOutput, Method::TasksForget, Method::TasksPromote] {
        assert_eq!(refused(method, unknown_task.clone()).await, "noTask", "{method:?}");
    }
    assert_eq!(refused(Method::TasksForget, json!({ "task": task })).await, "notEnded");
    assert_eq!(refused(Method::TasksPromote, json!({ "task": task })).await, "notAwaited");
    assert_eq!(refused(Method::TasksList, json!({ "state": "levitating" })).await, "invalid");
    let _: Value = client.call(Method::TasksStop, json!({ "task": task, "how": "abort" })).await.unwrap();
    assert_eq!(refused(Method::SessionSend, json!({ "task": task, "text": "x", "delivery": "steer" })).await, "ended");
    let _: Value = client.call(Method::TasksForget, json!({ "task": task })).await.unwrap();
    assert_eq!(list(agents.clone()).await, []);
    assert_eq!(list(TasksParams { all: true, ..agents }).await, [task]);
    driver.leave().await;
}

#[tokio::test]
async fn a_client_interrupts_a_turn_and_the_session_stays() {
    let stage = scenario().model(relay([silent_model(), script(&rules("  - answer: [say: back]\n"))])).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let (client, _notifications) = connect(&driver).await;
    let _: Value = client.call(Method::SessionSend, message("go", MailDelivery::FollowUp)).await.unwrap();
    driver.asked(1).await;
    let _: Value = client.call(Method::SessionInterrupt, json!({})).await.unwrap();
    driver.rest().await;
    let _: Value = client.call(Method::SessionSend, message("again", MailDelivery::FollowUp)).await.unwrap();
    driver.rest().await;
    assert_eq!(driver.leave().await.outcome(), Some(&TaskOutcome::Completed));
}

#[tokio::test]
async fn an_impossible_request_is_refused_with_the_reason() {
    let driver = scenario().ready().open(SessionStart::New).await;
    let (client, _notifications) = connect(&driver).await;
    let unknown_task = TaskId::new("0000000000000000000000000000ffff".parse().unwrap());
    let params = SendParams { task: Some(unknown_task), ..message("hi", MailDelivery::Steer) };
    let refused = client.call::<Value>(Method::SessionSend, params).await;
    assert!(matches!(&refused, Err(CallError::Refused(error)) if error.message.contains("no task")), "{refused:?}");
    let refused = client.call::<Value>(Method::SessionSend, json!({ "text": 7 })).await;
    assert!(matches!(refused, Err(CallError::Refused(_))), "{refused:?}");
    driver.leave().await;
}

#[tokio::test]
async fn an_unknown_method_is_an_error_and_the_connection_lives() {
    let driver = scenario().ready().open(SessionStart::New).await;
    let stream = rpc::local::connect(&driver.session().home().socket(driver.id())).await.unwrap();
    let (input, mut output) = stream.into_split();
    let mut answers = BufReader::new(input).lines();
    for (id, method) in [(1, "session.fly"), (2, "session.get")] {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {} });
        output.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    }
    let mut answer = async || -> Value { serde_json::from_str(&answers.next_line().await.unwrap().unwrap()).unwrap() };
    let (unknown, known) = (answer().await, answer().await);
    assert_eq!((&unknown["id"], &unknown["error"]["code"]), (&json!(1), &json!(-32601)), "{unknown}");
    assert_eq!(known["result"]["id"], json!(driver.id().to_string()), "{known}");
    driver.leave().await;
}

#[tokio::test]
async fn todos_are_added_changed_and_listed_and_errors_are_explained() {
    let mut driver = scenario().ready().open(SessionStart::New).await;
    let (client, _notifications) = connect(&driver).await;
    let added: TodoView =
        client.call(Method::TodosAdd, json!({ "title": "Write it", "files": ["a.rs"] })).await.unwrap();
    assert_eq!((&*added.id.0, added.ready, &*added.files), ("write-it", true, &["a.rs".to_owned()][..]));
    let after = json!({ "id": "ship", "title": "Ship it", "dependsOn": ["write-it"] });
    let added: TodoView = client.call(Method::TodosAdd, after).await.unwrap();
    assert!(!added.ready);
    driver.until("the change", |event| matches!(event, Event::TodosChanged { by: Principal::User, .. })).await;
    let done: TodoView = client.call(Method::TodosUpdate, json!({ "id": "write-it", "status": "done" })).await.unwrap();
    assert_eq!(done.status, TodoStatus::Done);
    let page: TodosPage = client.call(Method::TodosList, json!({ "ready": true })).await.unwrap();
    assert_eq!((page.total, &*page.todos[0].id.0), (1, "ship"));
    let mistakes = [
        (Method::TodosAdd, json!({ "title": "" }), "the title is empty"),
        (Method::TodosUpdate, json!({ "id": "write-it", "dependsOn": ["ship"] }), "write-it → ship → write-it"),
        (Method::TodosUpdate, json!({ "id": "none", "status": "done" }), "no todo `none`"),
    ];
    for (method, params, problem) in mistakes {
        let error = client.call::<Value>(method, params).await.unwrap_err();
        let CallError::Refused(refused) = &error else { panic!("{error:?}") };
        assert!(refused.message.contains(problem) && refused.data == Some(json!({ "kind": "invalid" })), "{refused:?}");
    }
    driver.leave().await;
}

#[tokio::test]
async fn a_slow_prompt_hook_does_not_delay_other_clients() {
    let slow = command_hook(HookEvent::UserPromptSubmitted, &format!("touch asked; {UNTIL_GO}"));
    let stage = scenario().script(&rules("  - answer: [say: heard]\n")).hook(slow).ready();
    let mut driver = stage.open(SessionStart::New).await;
    let ((one, _first), (two, _second)) = (connect(&driver).await, connect(&driver).await);
    let sent = one.call::<SendResult>(Method::SessionSend, message("hello", MailDelivery::FollowUp));
    let other = async {
        until_file(&stage.path("asked")).await;
        two.call::<Value>(Method::ModeSet, json!({ "mode": "plan" })).await.unwrap();
        std::fs::write(stage.path("go"), "").unwrap();
    };
    let both = timeout(Duration::from_secs(20), async { tokio::join!(sent, other) });
    both.await.expect("the hook holds up the other client").0.unwrap();
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), "heard");
}
