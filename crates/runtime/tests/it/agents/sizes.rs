//! How large requests are, byte for byte, over every wire.

use std::path::Path;
use std::sync::Arc;

use model::{Model, ModelListing, Provider, ProviderKey, Providers, WireFormat};
use net::Secret;
use protocol::{AgentSpec, Event, MailDelivery, ModelFault};
use runtime::SessionStart;
use testkit::server::{ModelServer, RecordedRequest};
use testkit::session::scenario;

use crate::support::rules;

/// Stand-ins for the agents that there are besides two of the scenario's.
const OTHERS: [(&str, &str); 6] = [
    (
        "explore",
        "finds files and explains how code works, without changing anything; fast, for broad or several questions",
    ),
    ("general-purpose", "does a whole piece of work of several steps with every tool, in a conversation of its own"),
    (
        "code-review",
        "reads a change and reports only defects that matter: wrong results, lost data, races, broken builds",
    ),
    (
        "security-review",
        "reads a change for ways to misuse it: injection, leaked secrets, missing checks, unsafe defaults",
    ),
    ("research", "answers a question from many sources, on disk and on the web, with a link for every claim it makes"),
    (
        "rubber-duck",
        "listens to a plan or a problem and answers with questions, doubts and simpler ways to do the same",
    ),
];

const SCRIPT: &str = "  - when: { turn: 1, prompt: begin }
    answer:
      - call: { id: t1, tool: task, input: { description: d, prompt: with every tool, agent_type: worker, name: all } }
      - call: { id: t2, tool: task, input: { description: d, prompt: with three tools, agent_type: reader, name: few } }
  - answer: [say: done]
";

fn over(server: &ModelServer, wire: WireFormat) -> Arc<dyn Model> {
    let base_url = match wire {
        WireFormat::Anthropic => server.url(),
        WireFormat::Responses | WireFormat::Chat => server.openai_url(),
    };
    let provider = Provider {
        wire,
        base_url,
        key: ProviderKey::Present(Secret::new("sk-0123456789")),
        is_small: false,
        max_concurrent_requests: None,
        extra: model::RequestExtras::default(),
        models: [("m".into(), ModelListing { max_output: Some(1_000), ..ModelListing::default() })].into(),
    };
    let providers = Providers { by_name: [("test".into(), provider)].into(), ..Providers::default() };
    model::open("test/m", Path::new("/"), &providers).unwrap()
}

#[tokio::test]
async fn first_requests_are_small_over_every_wire() {
    for wire in [WireFormat::Anthropic, WireFormat::Responses, WireFormat::Chat] {
        let server = ModelServer::script(&rules(SCRIPT)).start();
        let agent = |(name, description): (&str, &str)| {
            assert!(description.len() <= 120, "{name}");
            let (name, description) = (name.into(), description.into());
            AgentSpec { name, description, model_invocable: true, ..AgentSpec::default() }
        };
        let scenario = OTHERS.into_iter().fold(scenario(), |scenario, other| scenario.agent(agent(other)));
        // The question is offered too.
        let scenario = scenario.ask_wait(None).model(over(&server, wire));
        let run = scenario.prompt("begin").run().await;
        assert_eq!(run.tasks().len(), 3, "{wire:?}: {}", run.transcript());
        let requests = server.requests();
        let size = |words: &str| {
            let says = |seen: &&RecordedRequest| String::from_utf8_lossy(&seen.body).contains(words);
            requests.iter().find(says).map(|seen| seen.body.len()).unwrap()
        };
        let (root, every, three) = (requests[0].body.len(), size("\"with every tool\""), size("\"with three tools\""));
        assert!((2_000..10 * 1024).contains(&root), "{wire:?}: the root's first request has {root} bytes");
        assert!((1_000..4 * 1024).contains(&every), "{wire:?}: a child with every tool asks with {every} bytes");
        assert!((1_000..4 * 1024).contains(&three), "{wire:?}: a child with three tools asks with {three} bytes");
    }
}

/// B9.
#[tokio::test]
async fn a_conversation_is_kept_within_what_a_local_server_says_of_its_context() {
    let script = "  - answer: [call: { tool: shell, input: { command: 'seq 1000 1999' } }]\n";
    let server = ModelServer::script(&rules(script)).context(6_000).start();
    let provider = Provider {
        wire: WireFormat::Chat,
        base_url: server.openai_url(),
        key: ProviderKey::NotNeeded,
        is_small: false,
        max_concurrent_requests: None,
        extra: model::RequestExtras::default(),
        models: [("m".into(), ModelListing { max_output: Some(500), ..ModelListing::default() })].into(),
    };
    let providers = Providers { by_name: [("own".into(), provider)].into(), ..Providers::default() };
    let model = model::open("own/m", Path::new("/"), &providers).unwrap();
    let mut driver = scenario().model(model).allow_all().ready().open(SessionStart::New).await;
    driver.send("go", MailDelivery::FollowUp).await;
    driver.until("a shorter conversation", |event| matches!(event, Event::Compacted(_))).await;
    driver.until("an answer to it", |event| matches!(event, Event::TurnAnswered { .. })).await;
    let run = driver.leave().await;
    let too_long = |event: &Event| matches!(event, Event::TurnFailed { fault: ModelFault::TooLong, .. });
    assert_eq!(run.count(too_long), 0, "{}", run.transcript());
}
