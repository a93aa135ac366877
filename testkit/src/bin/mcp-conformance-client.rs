//! The client under test of MCP's conformance suite: a session whose model calls the tools of one server, with Bosun's
//! own connection to it. A "browser" signs in by following redirects, and a "user" answers every question with nothing,
//! or with yes.

#![expect(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test fails by panicking, and this program is configured by the suite through its environment"
)]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use bosun_testkit::session::{guardian, scenario};
use mcp::{
    LoginPrompter, LoginRequest, McpAddress, McpLogins, McpOAuthSettings, McpRevision, McpServerSettings, McpServers,
    McpServersConfig, OAuthGrant,
};
use net::{HttpClient, HttpTimeouts, NetError, NetworkRoute, Secret};
use protocol::api::DecideParams;
use protocol::{AskDecision, AskSubject, Event, MailDelivery};
use runtime::SessionStart;
use serde_json::{Value, json};
use tools::{BoxFuture, ToolCatalog, ToolDescriptor};

/// The document that describes the client in the suite's scenario for such documents.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

/// Where the browser is sent back to; nothing listens there.
const REDIRECT_URI: &str = "http://127.0.0.1:9/callback";

fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: mcp-conformance-client URL");
        return ExitCode::from(2);
    };
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let task = ConformanceTask {
        url,
        scenario: variable("MCP_CONFORMANCE_SCENARIO"),
        revision: McpRevision::of_version(&variable("MCP_CONFORMANCE_PROTOCOL_VERSION")),
        context: serde_json::from_str(&variable("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(task.perform()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// What the suite asks for.
struct ConformanceTask {
    url: String,
    scenario: String,
    revision: Option<McpRevision>,
    context: Value,
}

/// A call of a tool.
struct ToolCallPlan {
    tool: String,
    input: Value,
}

impl ConformanceTask {
    async fn perform(self) -> Result<(), String> {
        let servers = Arc::new(McpServers::new(McpServersConfig {
            servers: vec![self.settings().into()],
            roots: vec!["/".into()],
            logins: McpLogins { prompter: Some(Arc::new(RedirectFollower)), ..McpLogins::default() },
            ..McpServersConfig::default()
        }));
        let listing = servers.list("", &host::Guardian::new(guardian())).await;
        let result = match listing.problems.as_slice() {
            [] => self.call_tools(Arc::clone(&servers), &listing.tools).await,
            problems => Err(problems.join("\n")),
        };
        servers.close().await;
        result
    }

    fn settings(&self) -> McpServerSettings {
        McpServerSettings {
            name: "s".into(),
            address: McpAddress::Url { url: self.url.clone(), headers: Vec::new(), oauth: Box::new(self.oauth()) },
            start_timeout: Duration::from_secs(20),
            call_timeout: Duration::from_secs(20),
            task_timeout: Duration::from_secs(20),
            tools: None,
            denied_tools: Vec::new(),
            revision: self.revision,
            sampling: false,
        }
    }

    fn oauth(&self) -> McpOAuthSettings {
        let given = |name: &str| self.context[name].as_str().map(str::to_owned);
        let identifies_itself = self.scenario.starts_with("auth/client-credentials");
        McpOAuthSettings {
            grant: if identifies_itself { OAuthGrant::ClientCredentials } else { OAuthGrant::AuthorizationCode },
            client_id: given("client_id"),
            client_secret: given("client_secret").map(Secret::new),
            private_key: given("private_key_pem").map(Secret::new),
            client_metadata_url: (self.scenario == "auth/basic-cimd").then(|| CLIENT_METADATA.to_owned()),
            ..McpOAuthSettings::default()
        }
    }

    /// Has a model make calls, one per turn. A call that fails is reported.
    async fn call_tools(&self, servers: Arc<McpServers>, tools: &[ToolDescriptor]) -> Result<(), String> {
        let calls = self.plan(tools);
        let mut rules: Vec<Value> = Vec::new();
        for (index, ToolCallPlan { tool, input }) in calls.iter().enumerate() {
            let call = json!({ "id": format!("c{index}"), "tool": tool, "input": input });
            rules.push(json!({ "when": { "turn": index + 1 }, "answer": [{ "call": call }] }));
        }
        rules.push(json!({ "answer": [{ "say": "done" }] }));
        let script = json!({ "version": 1, "about": "Calls tools", "rules": rules }).to_string();
        let stage = scenario().script(&script).allow_all().ask_wait(None).tool_catalog(servers).ready();
        let mut driver = stage.open(SessionStart::New).await;
        driver.send("go", MailDelivery::FollowUp).await;
        let mut failures = Vec::new();
        loop {
            let event = driver.until("the end", is_of_interest).await.entry.event;
            match event {
                Event::AskOpened(ask) => {
                    let AskSubject::Question { choices, .. } = &ask.subject else { continue };
                    let text = choices.first().cloned().unwrap_or_default();
                    let decision = AskDecision::Reply { text };
                    driver.session().decide(DecideParams { ask: ask.id.clone(), decision }).await.unwrap();
                }
                Event::CallAnswered { answer, .. } if answer.status != protocol::ToolResultStatus::Done => {
                    failures.push(answer.text);
                }
                Event::ActivationEnded { .. } => break,
                _other => {}
            }
        }
        driver.leave().await;
        if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
    }

    /// The calls that the scenario wants, or one of each tool.
    fn plan(&self, tools: &[ToolDescriptor]) -> Vec<ToolCallPlan> {
        let full_name = |name: &str| protocol::mcp_tool_name("s", name);
        if let Some(calls) = self.context["toolCalls"].as_array() {
            let plan = |call: &Value| ToolCallPlan {
                tool: full_name(call["name"].as_str().unwrap()),
                input: call["arguments"].clone(),
            };
            return calls.iter().map(plan).collect();
        }
        tools
            .iter()
            .map(|tool| ToolCallPlan { tool: tool.name.to_string(), input: sample_input(&tool.schema) })
            .collect()
    }
}

fn is_of_interest(event: &Event) -> bool {
    matches!(event, Event::AskOpened(_) | Event::CallAnswered { .. } | Event::ActivationEnded { .. })
}

/// Arguments for a tool: a value for each property that it requires.
fn sample_input(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let sample = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("number" | "integer") => json!(2),
        Some("boolean") => json!(true),
        Some("object") => json!({}),
        Some("array") => json!([]),
        Some(_) | None => json!("text"),
    };
    required.map(|name| (name.to_owned(), sample(name))).collect()
}

/// A browser whose user is signed in already: every login page redirects at once.
#[derive(Debug)]
struct RedirectFollower;

impl LoginPrompter for RedirectFollower {
    fn redirect_uri(&self) -> String {
        REDIRECT_URI.to_owned()
    }

    fn log_in<'a>(&'a self, request: &'a LoginRequest) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move {
            let client = HttpClient::new(NetworkRoute::default(), HttpTimeouts::default());
            match client.get(&request.url, &[]).await {
                Err(NetError::Redirected { location, .. }) => Ok(location),
                Err(error) => Err(error.to_string()),
                Ok(response) => Err(format!("the login page answered with status {}", response.status())),
            }
        })
    }
}
