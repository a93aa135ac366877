//! Slash commands and fleets over the session's socket.

use protocol::api::{
    FleetParams, FleetResult, InvokeSlashParams, InvokeSlashResult, Method, SendParams, SendResult, SlashKind,
    SlashList,
};
use protocol::{Event, MailBody, MailDelivery};
use rpc::{CallError, RpcClient};
use runtime::SessionStart;
use serde_json::{Value, json};
use testkit::session::{SessionDriver, scenario};

use super::command;
use crate::support::rules;

async fn connect(driver: &SessionDriver) -> RpcClient {
    RpcClient::connect(&driver.session().home().socket(driver.id())).await.unwrap().0
}

#[tokio::test]
async fn a_client_lists_commands_and_runs_them() {
    let folder = tempfile::tempdir().unwrap();
    let script = rules("  - answer: [say: \"<${prompt}>\"]\n");
    let slash = command(folder.path(), "ship", "Ship $1 with care.");
    let mut driver = scenario().script(&script).slash(slash).ready().open(SessionStart::New).await;
    let client = connect(&driver).await;
    let list: SlashList = client.call(Method::CommandsList, json!({})).await.unwrap();
    let kind = |name: &str| list.commands.iter().find(|one| one.name == name).map(|one| one.kind);
    assert_eq!((kind("fleet"), kind("exit")), (Some(SlashKind::BuiltIn), Some(SlashKind::Screen)));
    assert_eq!(kind("ship"), Some(SlashKind::File));

    let invoke = async |name: &str, input: &str| -> Result<InvokeSlashResult, String> {
        let params = InvokeSlashParams { name: name.into(), input: input.into() };
        match client.call(Method::CommandsInvoke, params).await {
            Ok(result) => Ok(result),
            Err(CallError::Refused(error)) => {
                assert_eq!(error.data.unwrap()["kind"], "invalid");
                Err(error.message)
            }
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(invoke("/todos", "").await, Ok(InvokeSlashResult::Text { text: "there are no todos".into() }));
    assert!(matches!(invoke("compact", "").await, Ok(InvokeSlashResult::Completed { mode: None, .. })));
    assert!(invoke("flete", "x").await.unwrap_err().contains("did you mean /fleet?"));
    assert!(invoke("exit", "").await.unwrap_err().contains("terminal"));
    assert!(invoke("every", "5m").await.unwrap_err().contains("not in this version"));
    assert!(invoke("/etc/hosts", "").await.is_err());
    let Ok(InvokeSlashResult::AgentPrompt { prompt, display_prompt, mode: None }) = invoke("ship", "it").await else {
        panic!("a prompt")
    };
    assert_eq!((prompt.as_str(), display_prompt.as_str()), ("Ship it with care.", "/ship it"));
    let display = Some(display_prompt);
    let send = SendParams { task: None, text: prompt, images: Vec::new(), delivery: MailDelivery::FollowUp, display };
    let _: SendResult = client.call(Method::SessionSend, send).await.unwrap();
    driver.rest().await;
    assert_eq!(driver.leave().await.text(), "<Ship it with care.>");
}

#[tokio::test]
async fn a_client_starts_a_fleet_with_a_request_or_without() {
    let script = rules("  - answer: [say: \"turn ${turn}\"]\n");
    let mut driver = scenario().script(&script).ready().open(SessionStart::New).await;
    let client = connect(&driver).await;
    for params in [json!({ "prompt": "port it" }), json!({})] {
        let started: Value = client.call(Method::SessionFleetStart, params).await.unwrap();
        assert_eq!(started, json!({ "started": true }));
        driver.rest().await;
    }
    let params = FleetParams { prompt: Some("and this".into()) };
    let started: FleetResult = client.call(Method::SessionFleetStart, params).await.unwrap();
    assert!(started.started && Method::SessionFleetStart.spec().about.starts_with("Experimental"));
    driver.rest().await;
    let run = driver.leave().await;
    let sent = |event: &Event| match event {
        Event::MailAdmitted { body: MailBody::Text { text, display, .. }, .. } => {
            assert!(text.starts_with("You lead a fleet"), "{text}");
            let request = text.split_once("\nUser request: ").map(|(_, request)| request.to_owned());
            Some((display.clone().unwrap(), request))
        }
        _other => None,
    };
    let sent: Vec<_> = run.events().iter().filter_map(|envelope| sent(&envelope.entry.event)).collect();
    let expected = [
        ("Fleet deployed: port it".to_owned(), Some("port it".to_owned())),
        ("Fleet deployed".to_owned(), None),
        ("Fleet deployed: and this".to_owned(), Some("and this".to_owned())),
    ];
    assert_eq!(sent, expected);
}
