//! What the conformance suite does not cover: standard input and output, sessions over HTTP, access, and hostile clients.

use std::sync::Arc;

use bosun_adapters::mcp::serve_stdio;
use serde_json::{Value, json};
use testkit::http::{Http, HttpReply};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split};
use tokio::task::JoinSet;

use super::fixture_provider::FixtureProvider;
use super::{TOKEN, serve_fixtures};

/// A client on standard input and output.
struct StdioClient {
    output: WriteHalf<DuplexStream>,
    input: BufReader<ReadHalf<DuplexStream>>,
    server: JoinSet<bool>,
}

impl StdioClient {
    fn start() -> StdioClient {
        let (client, server_end) = duplex(1 << 20);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let (input, output) = split(server_end);
            serve_stdio(Arc::new(FixtureProvider::new()), input, output).await.is_ok()
        });
        let (input, output) = split(client);
        StdioClient { output, input: BufReader::new(input), server }
    }

    /// A client with a session.
    async fn with_session(capabilities: Value) -> StdioClient {
        let mut client = StdioClient::start();
        let info = json!({ "name": "test", "version": "1" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info });
        let answer = client.call(0, "initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        assert!(answer["result"]["capabilities"]["tasks"]["requests"]["tools"]["call"].is_object(), "{answer}");
        client.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        client
    }

    async fn send(&mut self, message: Value) {
        self.output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.input.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: `{line}`"))
    }

    async fn call(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Closes the client's end; returns whether the server ended well.
    async fn leave(mut self) -> bool {
        self.output.shutdown().await.unwrap();
        self.server.join_next().await.unwrap().unwrap()
    }
}

fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    params
}

#[tokio::test]
async fn one_connection_speaks_both_revisions() {
    let mut client = StdioClient::with_session(json!({})).await;
    let listed = client.call(1, "tools/list", json!({})).await;
    assert_eq!(listed["result"]["tools"][0]["execution"]["taskSupport"], "forbidden");
    assert!(listed["result"].get("resultType").is_none());
    let listed = client.call(2, "tools/list", stateless(json!({}))).await;
    assert_eq!(listed["result"]["resultType"], "complete");
    assert!(listed["result"]["tools"][0].get("execution").is_none());
    let call = json!({ "name": "slow_compute", "arguments": { "seconds": 0 } });
    let task = client.call(3, "tools/call", stateless(call)).await;
    assert_eq!((&task["result"]["resultType"], &task["result"]["status"]), (&json!("task"), &json!("working")));
    assert_eq!(client.call(4, "initialize", stateless(json!({}))).await["error"]["code"], -32601);
    let unknown = json!({ "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {},
    } });
    assert_eq!(client.call(5, "tools/list", unknown).await["error"]["code"], -32022);
    assert!(client.leave().await);
}

#[tokio::test]
async fn requests_without_a_session_say_what_is_missing() {
    let mut client = StdioClient::start();
    let answer = client.call(1, "tools/list", json!({})).await;
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().unwrap().contains("_meta"), "{answer}");
    client.send(json!("no message")).await;
    assert_eq!(client.receive().await["error"]["code"], -32600);
    client.output.write_all(b"{\n").await.unwrap();
    assert_eq!(client.receive().await["error"]["code"], -32700);
    assert_eq!(client.call(2, "tools/list", json!([1])).await["error"]["code"], -32602);
    assert!(client.leave().await);
}

#[tokio::test]
async fn a_cancelled_request_is_not_answered() {
    let mut client = StdioClient::with_session(json!({})).await;
    let params = json!({ "name": "slow_compute", "arguments": { "seconds": 3600 } });
    client.send(json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params })).await;
    let cancelled = json!({ "requestId": 7 });
    client.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled })).await;
    assert_eq!(client.call(8, "ping", json!({})).await["result"], json!({}));
    assert!(client.leave().await);
}

#[tokio::test]
async fn the_result_of_a_task_is_waited_for_and_its_questions_are_asked() {
    let mut client = StdioClient::with_session(json!({ "elicitation": {} })).await;
    let params = json!({ "name": "confirm_delete", "arguments": {}, "task": { "ttl": 60_000 } });
    let created = client.call(1, "tools/call", params).await;
    let task = created["result"]["task"]["taskId"].clone();
    assert_eq!(created["result"]["task"]["status"], "input_required");
    assert!(created["result"]["task"]["ttl"].is_u64() && created["result"]["task"]["pollInterval"].is_u64());
    client.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": { "taskId": task } })).await;
    let question = client.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task);
    let answer = json!({ "action": "accept", "content": { "confirm": true } });
    client.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
    let mut received = [client.receive().await, client.receive().await];
    received.sort_by_key(|message| message.get("method").is_some());
    let [result, status] = received;
    assert_eq!(result["result"]["content"][0]["text"], "deleted");
    assert_eq!(result["result"]["_meta"]["io.modelcontextprotocol/related-task"]["taskId"], task);
    assert_eq!(
        (&status["method"], &status["params"]["status"]),
        (&json!("notifications/tasks/status"), &json!("completed"))
    );
    let listed = client.call(3, "tasks/list", json!({})).await;
    assert_eq!(listed["result"]["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(client.call(4, "tasks/cancel", json!({ "taskId": task })).await["error"]["code"], -32602);
    assert_eq!(client.call(5, "tasks/get", json!({ "taskId": "x" })).await["error"]["code"], -32602);
    assert!(client.leave().await);
}

#[tokio::test]
async fn a_client_without_a_session_listens_to_its_tasks() {
    let mut client = StdioClient::start();
    let call = json!({ "name": "confirm_delete", "arguments": {} });
    let task = client.call(1, "tools/call", stateless(call)).await["result"]["taskId"].clone();
    let wanted = json!({ "notifications": { "taskIds": [task], "toolsListChanged": true, "unknown": true } });
    let listen = json!({ "jsonrpc": "2.0", "id": "s", "method": "subscriptions/listen", "params": stateless(wanted) });
    client.send(listen).await;
    let accepted = client.receive().await["params"].clone();
    assert_eq!(accepted["notifications"], json!({ "toolsListChanged": true, "taskIds": [task] }));
    assert_eq!(accepted["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    let responses = json!({ "taskId": task, "inputResponses": { "confirm": { "action": "accept" } } });
    let update = json!({ "jsonrpc": "2.0", "id": 2, "method": "tasks/update", "params": stateless(responses) });
    client.send(update).await;
    let mut received = [client.receive().await, client.receive().await];
    received.sort_by_key(|message| message.get("method").is_some());
    assert_eq!(received[0]["result"]["resultType"], "complete");
    assert_eq!(
        (&received[1]["method"], &received[1]["params"]["status"]),
        (&json!("notifications/tasks"), &json!("completed"))
    );
    assert_eq!(received[1]["params"]["result"]["content"][0]["text"], "deleted");
    assert_eq!(received[1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "s");
    let without = json!({ "taskId": task, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    } });
    assert_eq!(client.call(3, "tasks/get", without).await["error"]["code"], -32021);
    assert!(client.leave().await);
}

#[tokio::test]
async fn a_failed_tool_is_a_failed_task_only_in_the_older_form() {
    let mut client = StdioClient::with_session(json!({})).await;
    let params = json!({ "name": "failing_job", "task": {} });
    let task = client.call(1, "tools/call", params).await["result"]["task"]["taskId"].clone();
    client.send(json!({ "jsonrpc": "2.0", "id": 2, "method": "tasks/result", "params": { "taskId": task } })).await;
    let mut received = [client.receive().await, client.receive().await];
    received.sort_by_key(|message| message.get("method").is_some());
    assert_eq!(received[0]["result"]["isError"], true);
    assert_eq!(received[1]["params"]["status"], "failed");
    let detailed = client.call(3, "tasks/get", stateless(json!({ "taskId": task }))).await;
    assert_eq!(
        (&detailed["result"]["status"], &detailed["result"]["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    assert_eq!(client.call(4, "tools/call", json!({ "name": "failing_job" })).await["error"]["code"], -32601);
    let params = json!({ "name": "greet", "task": {} });
    assert_eq!(client.call(5, "tools/call", params).await["error"]["code"], -32601);
    assert!(client.leave().await);
}

fn post(http: &Http, extra: &str, message: &Value) -> HttpReply {
    let body = message.to_string();
    let head = http.head("POST", "/mcp");
    let kind = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    http.send_raw(&format!("{head}{kind}{extra}Content-Length: {}\r\n\r\n{body}", body.len()))
}

fn begin_session(http: &Http) -> String {
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let reply = post(http, "", &json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }));
    assert_eq!(reply.status, 200, "{reply:?}");
    let line = reply.response_head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    format!("Mcp-Session-Id: {line}\r\n")
}

#[test]
fn only_programs_with_the_token_get_in() {
    let server = serve_fixtures();
    let http = Http::new(&server.url, TOKEN);
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    assert_eq!(post(&Http::new(&server.url, "wrong"), "", &ping).problem(401)["status"], 401);
    post(&http, "Origin: http://evil.test\r\n", &ping).problem(403);
    http.request("POST", "/elsewhere", Some(ping.clone())).problem(404);
    http.request("PUT", "/mcp", Some(ping.clone())).problem(405);
    post(&http, "Host: evil.test\r\n", &ping).problem(403);
    let without_session = post(&http, "", &ping);
    assert_eq!((without_session.status, &without_session.json()["error"]["code"]), (400, &json!(-32600)));
    assert_eq!(post(&http, "Mcp-Session-Id: unknown\r\n", &ping).status, 404);
    let session = begin_session(&http);
    assert_eq!(post(&http, &session, &ping).json()["result"], json!({}));
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(post(&http, &session, &notification).status, 202);
    assert_eq!(post(&http, &session, &json!([ping])).json()["error"]["code"], -32600);
}

#[test]
fn a_session_hears_of_changes_until_it_ends() {
    let server = serve_fixtures();
    let http = Http::new(&server.url, TOKEN);
    let session = begin_session(&http);
    let mut stream = http.connect();
    let head = http.head("GET", "/mcp");
    std::io::Write::write_all(&mut stream, format!("{head}{session}Accept: text/event-stream\r\n\r\n").as_bytes())
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(stream));
    let mut until = |text: &str| lines.find(|line| line.as_ref().is_ok_and(|line| line.contains(text))).is_some();
    assert!(until("nothing new"), "the stream is open");
    let call = json!({ "name": "test_trigger_tool_change" });
    post(&http, &session, &json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call }));
    assert!(until("notifications/tools/list_changed"));
    let end = http.send_raw(&format!("{}{session}\r\n", http.head("DELETE", "/mcp")));
    assert_eq!(end.status, 204, "{end:?}");
    assert!(!until("anything"), "the stream ends with its session");
    let ping = json!({ "jsonrpc": "2.0", "id": 3, "method": "ping" });
    assert_eq!(post(&http, &session, &ping).status, 404);
}

#[test]
fn progress_makes_an_answer_a_stream() {
    let server = serve_fixtures();
    let http = Http::new(&server.url, TOKEN);
    let session = begin_session(&http);
    let call = |meta: Value| {
        let params = json!({ "name": "test_tool_with_progress", "_meta": meta });
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
    };
    let quiet = post(&http, &session, &call(json!({})));
    assert!(quiet.response_head.contains("content-type: application/json"), "{quiet:?}");
    let streamed = post(&http, &session, &call(json!({ "progressToken": "p" })));
    assert!(streamed.response_head.contains("content-type: text/event-stream"), "{streamed:?}");
    let events: Vec<Value> = streamed
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    assert_eq!(events.len(), 4, "{events:?}");
    assert_eq!(events[1]["params"], json!({ "progressToken": "p", "progress": 50, "total": 100 }));
    assert_eq!(events[3]["result"]["content"][0]["text"], "done");
}
