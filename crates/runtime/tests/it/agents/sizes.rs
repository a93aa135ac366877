//! The size of requests in every wire format.

use std::path::Path;
use std::sync::Arc;

use model::{Model, ModelListing, Provider, ProviderKey, Providers, WireFormat};
use net::Secret;
use protocol::{AgentSpec, Event, MailDelivery, ModelFault};
use runtime::SessionStart;
use testkit::server::{ModelServer, RecordedRequest};
use testkit::session::scenario;

use crate::support::rules;

/// Stand-ins for the built-in agents, in addition to the two of the scenario.
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

fn model_over(server: &ModelServer, wire: WireFormat) -> Arc<dyn Model> {
    let base_url = match wire {
        WireFormat::Anthropic => server.url(),
        WireFormat::Responses | WireFormat::Chat => server.openai_url(),
    };
    let provider = Provider {
        models: [("m".into(), ModelListing { max_output_tokens: Some(1_000), ..ModelListing::default() })].into(),
        ..Provider::new(wire, base_url, ProviderKey::Present(Secret::new("sk-0123456789")))
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
        // With this, the `ask_user` tool is offered too.
        let scenario = scenario.ask_wait(None).model(model_over(&server, wire));
        let run = scenario.prompt("begin").run().await;
        assert_eq!(run.tasks().len(), 3, "{wire:?}: {}", run.transcript());
        let requests = server.requests();
        let size = |prompt: &str| {
            let says = |recorded: &&RecordedRequest| String::from_utf8_lossy(&recorded.body).contains(prompt);
            requests.iter().find(says).map(|recorded| recorded.body.len()).unwrap()
        };
        let (root, every, three) = (requests[0].body.len(), size("\"with every tool\""), size("\"with three tools\""));
        assert!((2_000..10 * 1024).contains(&root), "{wire:?}: the root's first request has {root} bytes");
        assert!((1_000..4 * 1024).contains(&every), "{wire:?}: a child with every tool asks with {every} bytes");
        assert!((1_000..4 * 1024).contains(&three), "{wire:?}: a child with three tools asks with {three} bytes");
    }
}

/// B9.
#[tokio::test]
async fn a_conversation_stays_within_the_context_that_a_local_server_reports() {
    let script = "  - answer: [call: { tool: shell, input: { command: 'seq 1000 1999' } }]\n";
    let server = ModelServer::script(&rules(script)).context(6_000).start();
    let provider = Provider {
        models: [("m".into(), ModelListing { max_output_tokens: Some(500), ..ModelListing::default() })].into(),
        ..Provider::new(WireFormat::Chat, server.openai_url(), ProviderKey::NotNeeded)
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
