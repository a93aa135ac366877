//! Messages to agents, and reading and listing agents.

use std::sync::Arc;
use std::time::Duration;

use model::ModelMessage;
use protocol::{Event, MailDelivery, TaskOutcome, TaskState, ToolResultStatus};
use runtime::{SessionFeatures, SessionStart};
use serde_json::json;
use testkit::session::scenario;

use super::played::{answer, calls, input_texts, played, requests_of, says, with_fields, worker_input};

#[tokio::test]
async fn a_message_wakes_an_idle_agent_with_its_conversation() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root", 2) => calls([("w", "write_agent", json!({ "to": ["kid"], "message": "and then?" }))]),
        ("/root", 3) => calls([("wait", "wait", json!({ "on": ["kid"] }))]),
        ("/root", _) => says("done"),
        (_, turn) => says(format!("answer {turn}")),
    });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    let result = &answer(&run, "w").text;
    assert!(result.starts_with("/root/kid: accepted as mail-2, now "), "{result}");
    let requests = requests_of(&run, "/root/kid");
    let last = requests.last().unwrap();
    assert_eq!(requests.len(), 2, "{}", run.transcript());
    assert_eq!(last.messages[0], ModelMessage::user("do kid"));
    assert_eq!(last.messages[2], ModelMessage::user("and then?"), "a parent's message is not quoted");
    assert!(answer(&run, "wait").text.contains("> /root/kid: idle"), "{}", answer(&run, "wait").text);
    let results: Vec<String> = input_texts(requests_of(&run, "/root").last().unwrap());
    assert_eq!(results.iter().filter(|text| text.contains("answer 2")).count(), 1, "{results:?}");
    assert_eq!(run.tasks()[1].state, TaskState::Idle);
}

#[tokio::test]
async fn a_recipient_named_many_times_gets_a_message_once() {
    let often = vec!["kid"; 1_000];
    let model = played(move |request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root", 2) => calls([("w", "write_agent", json!({ "to": often, "message": "and then?" }))]),
        (path, _) => says(format!("{path} is done")),
    });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    assert_eq!(answer(&run, "w").text.lines().count(), 1, "{}", answer(&run, "w").text);
    let kid = run.tasks()[1].id;
    let admitted = run.events().iter().filter(|envelope| envelope.entry.task == kid);
    let admitted = admitted.filter(|envelope| matches!(envelope.entry.event, Event::MailAdmitted { .. }));
    assert_eq!(admitted.count(), 2);
}

#[tokio::test]
async fn a_finished_agent_takes_no_messages() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root", 2) => calls([
            ("w", "write_agent", json!({ "to": ["kid"], "message": "and then?" })),
            ("e", "write_agent", json!({ "to": ["kid"], "message": " " })),
            ("n", "write_agent", json!({ "to": [], "message": "x" })),
            ("s", "write_agent", json!({ "to": ["siblings"], "message": "x" })),
            ("d", "write_agent", json!({ "to": ["kid"], "message": "x", "delivery": "shout" })),
            ("p", "write_agent", json!({ "to": ["parent"], "message": "x" })),
        ]),
        (path, _) => says(format!("{path} is done")),
    });
    let features = SessionFeatures { multi_turn: false, ..SessionFeatures::default() };
    let run = scenario().model(Arc::new(model)).features(features).prompt("go").run().await;
    let result = |id: &str| answer(&run, id).text.clone();
    let id = run.tasks()[1].id;
    assert_eq!(result("w"), format!("/root/kid: not accepted: task {id} has ended"));
    assert_eq!(["e", "n", "s", "d", "p"].map(|id| answer(&run, id).status), [ToolResultStatus::Refused; 5]);
    assert_eq!(run.tasks()[1].state, TaskState::Finished { outcome: TaskOutcome::Completed });
    assert_eq!(requests_of(&run, "/root/kid").len(), 1);
}

#[tokio::test]
async fn agents_write_to_their_parent_siblings_and_children() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls(["a", "b"].map(|name| (name, "task", worker_input(name)))),
        ("/root", 2) => calls([
            ("all", "write_agent", json!({ "to": ["children"], "message": "to you all" })),
            (
                "two",
                "write_agent",
                json!({ "to": ["a", "/root/b"], "message": "to you both", "delivery": "follow_up" }),
            ),
            ("wait", "wait", json!({})),
        ]),
        ("/root/a", 1) => calls([
            ("up", "write_agent", json!({ "to": ["parent"], "message": "up" })),
            ("side", "write_agent", json!({ "to": ["siblings"], "message": "aside" })),
        ]),
        (path, _) => says(format!("{path} is done")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root/b" && request.turn == 1);
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let side = |event: &Event| matches!(event, Event::CallAnswered { call, .. } if call.0 == "side");
    driver.until("a message to a sibling", side).await;
    gate.add_permits(9);
    driver.rest().await;
    let run = driver.leave().await;
    assert!(answer(&run, "up").text.starts_with("/root: accepted as mail-"), "{}", run.transcript());
    assert!(answer(&run, "side").text.starts_with("/root/b: accepted as mail-"));
    assert_eq!(answer(&run, "all").text.lines().count(), 2);
    assert_eq!(answer(&run, "two").text.lines().count(), 2);
    let all = |path: &str| input_texts(requests_of(&run, path).last().unwrap()).join("\n");
    assert!(all("/root").contains("Message from /root/a ") && all("/root").contains("> up"), "{}", all("/root"));
    assert!(all("/root/b").contains("> aside"));
    for path in ["/root/a", "/root/b"] {
        let heard = all(path);
        assert_eq!((heard.matches("to you all").count(), heard.matches("to you both").count()), (1, 1), "{heard}");
    }
}

#[tokio::test]
async fn agents_are_found_by_id_name_and_path_and_others_are_not() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", worker_input("kid"))]),
        ("/root", 2) => {
            let heard = input_texts(request).join("\n");
            let id = heard.split_once("task-").unwrap().1[..32].to_owned();
            calls([
                ("name", "read_agent", json!({ "agent": "kid" })),
                ("path", "read_agent", json!({ "agent": "/root/kid" })),
                ("deep", "read_agent", json!({ "agent": "kid/leaf" })),
                ("leaf", "read_agent", json!({ "agent": "leaf" })),
                ("id", "read_agent", json!({ "agent": format!("task-{id}") })),
                ("short", "read_agent", json!({ "agent": &id[..31] })),
                ("root", "read_agent", json!({ "agent": "/root" })),
                ("none", "read_agent", json!({ "agent": "nobody" })),
                ("list", "list_agents", json!({})),
            ])
        }
        ("/root/kid", 1) => {
            calls([("i", "report_intent", json!({ "intent": "to count" })), ("u", "task", worker_input("leaf"))])
        }
        (path, _) => says(format!("{path} is done")),
    });
    let run = scenario().model(Arc::new(model)).prompt("go").run().await;
    for (id, path) in [("name", "/root/kid"), ("path", "/root/kid"), ("id", "/root/kid"), ("deep", "/root/kid/leaf")] {
        let answer = answer(&run, id);
        assert!(answer.text.starts_with(&format!("{path} (task-")), "{id}: {}", answer.text);
        assert!(answer.text.contains(&format!("> {path} is done")), "{id}: {}", answer.text);
    }
    assert!(answer(&run, "leaf").text.starts_with("/root/kid/leaf (task-"));
    assert!(answer(&run, "short").text.contains("may be any of /root/kid, /root/kid/leaf; use a path"));
    for id in ["root", "none"] {
        assert!(answer(&run, id).text.ends_with("available: /root/kid, /root/kid/leaf"), "{}", answer(&run, id).text);
    }
    let list = &answer(&run, "list").text;
    assert!(list.contains("> /root/kid (worker, played): idle, turn 2; some work; to count\n"), "{list}");
    assert!(list.contains("> /root/kid/leaf (worker, played): idle, turn 1; some work\n"), "{list}");
}

/// By then, the trace of the first agent is no longer held in memory.
#[tokio::test]
async fn an_agent_that_ended_long_ago_can_be_read_and_woken() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", turn @ 1..=40) => calls([(&format!("t{turn}"), "task", worker_input(&format!("kid{turn}")))]),
        ("/root", 41) => calls([("r", "read_agent", json!({ "agent": "kid1" }))]),
        ("/root", 42) => calls([("w", "write_agent", json!({ "to": ["kid1"], "message": "and then?" }))]),
        ("/root", 43) => calls([("wait", "wait", json!({ "on": ["kid1"] }))]),
        ("/root", 44) => calls([("again", "read_agent", json!({ "agent": "kid1" }))]),
        ("/root", _) => says("done"),
        ("/root/kid1", 1) => calls([("c", "create", json!({ "path": "b.txt", "content": "b" }))]),
        (path, turn) => says(format!("{path} said {turn}")),
    });
    let run = scenario().model(Arc::new(model)).allow_all().prompt("go").run().await;
    let result = |id: &str| answer(&run, id).text.clone();
    let body = |text: &str| text.split_once("tokens").unwrap().1.to_owned();
    assert!(
        body(&result("t1")).contains("> [files changed: b.txt]\n> It said:\n> /root/kid1 said 2"),
        "{}",
        result("t1")
    );
    assert_eq!(body(&result("r")), body(&result("t1")), "a later read returns the same");
    let again = body(&result("again"));
    assert!(again.contains("> [files changed: b.txt]\n> It said:\n> /root/kid1 said 3"), "{again}");
}

#[tokio::test]
async fn read_agent_waits_times_out_and_returns_only_new_turns() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => calls([("late", "read_agent", json!({ "agent": "kid", "wait": true, "timeout_secs": 30 }))]),
        ("/root", 3) => calls([("done", "read_agent", json!({ "agent": "kid", "wait": true }))]),
        ("/root", 4) => calls([("new", "read_agent", json!({ "agent": "kid", "since_turn": 1 }))]),
        ("/root/kid", 1) => {
            let mut first = says("looking");
            first.extend(calls([("l", "list_shells", json!({}))]));
            first
        }
        (path, _) => says(format!("{path} is done")),
    });
    let (model, gate) = model.holding(|request| request.path == "/root/kid" && request.turn == 2);
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    let waits = |event: &Event| matches!(event, Event::WaitBegan { .. });
    driver.until("a wait", waits).await;
    driver.asked(4).await;
    stage.clock().advance(Duration::from_secs(31));
    driver.until("another wait", waits).await;
    gate.add_permits(1);
    driver.rest().await;
    let run = driver.leave().await;
    let late = &answer(&run, "late").text;
    assert!(late.contains("): running, turn 2") && late.contains("> turn 1: looking\n> [calls list_shells]"), "{late}");
    assert!(answer(&run, "done").text.contains("> /root/kid is done"));
    let new = &answer(&run, "new").text;
    assert!(new.contains("> turn 2: /root/kid is done") && !new.contains("looking"), "{new}");
}

#[tokio::test]
async fn mail_that_interrupts_is_read_at_once() {
    let model = played(|request| match (request.path.as_str(), request.turn) {
        ("/root", 1) => calls([("t", "task", with_fields(worker_input("kid"), json!({ "mode": "background" })))]),
        ("/root", 2) => {
            calls([("w", "write_agent", json!({ "to": ["kid"], "message": "stop that", "delivery": "interrupt" }))])
        }
        ("/root/kid", _) if request.prompt().contains("stop that") => says("stopped"),
        (path, _) => says(format!("{path} is done")),
    });
    let (model, gate) =
        model.holding(|request| request.prompt() == "do kid" || request.path == "/root" && request.turn == 2);
    let stage = scenario().model(Arc::new(model)).ready();
    let mut driver = stage.open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.asked(3).await;
    // The requests are released in either order, so the message arrives before the agent's answer or after it.
    gate.add_permits(2);
    driver.rest().await;
    let run = driver.leave().await;
    assert_eq!(run.tasks()[1].result.as_deref(), Some("stopped"), "{}", run.transcript());
}
