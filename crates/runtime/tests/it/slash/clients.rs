//! Slash commands over the session's socket.

use protocol::MailDelivery;
use protocol::api::{InvokeSlashParams, InvokeSlashResult, Method, SendParams, SendResult, SlashKind, SlashList};
use rpc::CallError;
use runtime::SessionStart;
use serde_json::json;
use testkit::session::scenario;

use super::command;
use crate::support::{connect, rules};

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
                assert_eq!(error.data.as_ref().unwrap()["kind"], "invalid");
                Err(error.in_one_line())
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
