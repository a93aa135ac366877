//! Methods about the server: all sessions of a client, plugins, MCP servers, and services that Bosun does not use.

use std::fs;

use bosun_adapters::AdapterExit;
use serde_json::{Value, json};
use testkit::session::scenario;

use super::client::CopilotTestClient;

const ECHO: &str = "
version: 1
rules:
  - answer: [{ say: 'You said: ${prompt}' }]
";

const OTHER: &str = "0190aaaa-0000-7000-8000-000000000002";

fn client() -> CopilotTestClient {
    CopilotTestClient::start(scenario().script(ECHO))
}

#[tokio::test]
async fn sessions_are_found_closed_measured_and_deleted() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    client.create_session(json!({ "sessionId": OTHER })).await;
    let both = json!({ "sessionIds": [id, OTHER, "missing"] });
    let in_use = client.call("sessions.checkInUse", both.clone()).await.unwrap();
    assert_eq!(in_use["inUse"], json!([id, OTHER]));
    client.call("sessions.close", json!({ "sessionId": OTHER })).await.unwrap();
    client.call("sessions.releaseLock", json!({ "sessionId": OTHER })).await.unwrap();
    let in_use = client.call("sessions.checkInUse", both.clone()).await.unwrap();
    assert_eq!(in_use["inUse"], json!([id]));
    let found = client.call("sessions.findByPrefix", json!({ "prefix": OTHER })).await.unwrap();
    assert_eq!(found, json!({ "sessionId": OTHER }));
    let ambiguous = client.call("sessions.findByPrefix", json!({ "prefix": "0190aaaa" })).await.unwrap();
    assert_eq!(ambiguous, json!({}));
    let sizes = client.call("sessions.getSizes", json!({})).await.unwrap();
    assert!(sizes["sizes"][OTHER].as_u64().unwrap() > 0);
    let wanted = json!({ "sessions": [{ "sessionId": OTHER, "name": "mine", "isRemote": false }] });
    let known = client.call("sessions.enrichMetadata", wanted).await.unwrap();
    assert_eq!(known["sessions"][0]["name"], "mine");
    assert!(known["sessions"][0]["context"]["cwd"].is_string());
    let old = json!({ "olderThanDays": 0, "dryRun": true });
    let pruned = client.call("sessions.pruneOld", old).await.unwrap();
    assert_eq!((&pruned["dryRun"], &pruned["deleted"]), (&json!(true), &json!([])));
    assert!(client.call("sessions.pruneOld", json!({ "olderThanDays": -1 })).await.is_err());
    let deleted = client.call("sessions.bulkDelete", both).await.unwrap();
    assert!(deleted["freedBytes"][OTHER].as_u64().unwrap() > 0);
    let listed = client.call("sessions.list", json!({})).await.unwrap();
    assert_eq!(listed["sessions"], json!([]));
    client.close().await;
}

#[tokio::test]
async fn the_last_session_is_opened_again() {
    let mut client = client();
    let none = client.call("sessions.open", json!({ "kind": "resumeLast" })).await.unwrap();
    assert_eq!(none, json!({ "status": "not_found" }));
    let id = client.create_session(json!({})).await;
    client.call("sessions.close", json!({ "sessionId": id })).await.unwrap();
    let resumed = client.call("sessions.open", json!({ "kind": "resumeLast" })).await.unwrap();
    assert_eq!(resumed, json!({ "status": "resumed", "sessionId": id }));
    let prompt = json!({ "sessionId": id, "prompt": "one" });
    let answer = client.call("session.sendAndWait", prompt).await.unwrap();
    assert_eq!(answer["response"]["data"]["content"], "You said: one");
    assert!(client.call("sessions.open", json!({ "kind": "cloud" })).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn configured_servers_are_those_of_new_sessions() {
    let mut client = client();
    let config = json!({ "type": "http", "url": "https://example.com/mcp", "oauthClientId": "me" });
    let server = json!({ "name": "web", "config": config });
    client.call("mcp.config.add", server.clone()).await.unwrap();
    assert!(client.call("mcp.config.add", server).await.is_err(), "it is there already");
    let off = json!({ "name": "off", "config": { "command": "off" } });
    client.call("mcp.config.add", off).await.unwrap();
    client.call("mcp.config.disable", json!({ "names": ["off"] })).await.unwrap();
    let invalid = json!({ "name": "bad", "config": { "type": "ftp" } });
    assert!(client.call("mcp.config.add", invalid).await.is_err());
    let listed = client.call("mcp.config.list", json!({})).await.unwrap();
    assert_eq!(listed["servers"]["web"], config, "as it was given");
    client.create_session(json!({})).await;
    let options = client.opener.options.lock().unwrap().clone();
    assert_eq!(options.mcp_servers.keys().collect::<Vec<_>>(), ["web"]);
    assert_eq!(options.disabled_mcp_servers, ["off"]);
    client.call("mcp.config.remove", json!({ "name": "web" })).await.unwrap();
    assert!(client.call("mcp.config.remove", json!({ "name": "web" })).await.is_err());
    client.close().await;
}

#[tokio::test]
async fn installed_plugins_are_those_of_new_sessions() {
    let mut client = client();
    let shop = tempfile::tempdir().unwrap();
    fs::create_dir(shop.path().join("tea")).unwrap();
    fs::write(shop.path().join("tea/SKILL.md"), "---\nname: brew\ndescription: Brews.\n---\n").unwrap();
    let plugins = json!([{ "name": "tea", "source": "./tea", "version": "1.0.0", "description": "Tea." }]);
    let manifest = json!({ "name": "shop", "plugins": plugins });
    fs::write(shop.path().join("marketplace.json"), manifest.to_string()).unwrap();
    let added = client.call("plugins.marketplaces.add", json!({ "source": shop.path() })).await.unwrap();
    assert_eq!(added["name"], "shop");
    let installed = client.call("plugins.install", json!({ "source": "tea@shop" })).await.unwrap();
    assert_eq!((&installed["plugin"]["enabled"], &installed["skillsInstalled"]), (&json!(true), &json!(1)));
    client.create_session(json!({})).await;
    let folders = client.opener.options.lock().unwrap().plugin_dirs.clone();
    assert!(folders.len() == 1 && folders[0].join("SKILL.md").exists(), "{folders:?}");
    client.call("plugins.disable", json!({ "names": ["tea@shop"] })).await.unwrap();
    client.create_session(json!({ "sessionId": OTHER })).await;
    assert!(client.opener.options.lock().unwrap().plugin_dirs.is_empty());
    let everywhere = client.call("plugins.install", json!({ "source": "github/somewhere" })).await.unwrap_err();
    assert!(everywhere["message"].as_str().unwrap().contains("folder on this machine"), "{everywhere}");
    client.close().await;
}

#[tokio::test]
async fn services_of_the_vendor_answer_as_if_nobody_had_signed_in() {
    let mut client = client();
    let id = client.create_session(json!({})).await;
    let about = json!({ "sessionId": id, "mode": "off", "status": "repo" });
    for (method, expected) in [
        ("account.getCurrentAuth", json!({})),
        ("account.getAllUsers", json!([])),
        ("sessions.getRemoteControlStatus", json!({ "status": { "state": "off" } })),
        ("sessions.stopRemoteControl", json!({ "status": { "state": "off" }, "stopped": false })),
        ("session.visibility.set", json!({ "synced": false })),
        ("session.remote.enable", json!({ "remoteSteerable": false })),
        ("session.extensions.list", json!({ "extensions": [] })),
        ("session.schedule.list", json!({ "entries": [] })),
    ] {
        assert_eq!(client.call(method, about.clone()).await.unwrap(), expected, "{method}");
    }
    let status = client.call("session.gitHubAuth.getStatus", about.clone()).await.unwrap();
    assert_eq!(status["isAuthenticated"], false);
    for method in ["account.getQuota", "account.login", "sessions.startRemoteControl", "agentRegistry.spawn"] {
        let refused = client.call(method, about.clone()).await.unwrap_err();
        assert_eq!(refused["code"], -32603, "{method}: {refused}");
    }
    client.close().await;
}

#[tokio::test]
async fn an_answer_to_no_request_of_a_model_is_not_accepted() {
    let mut client = client();
    let set = client.call("llmInference.setProvider", json!({})).await.unwrap();
    assert_eq!(set["success"], true);
    let start = json!({ "requestId": "missing", "status": 200, "headers": {} });
    assert_eq!(client.call("llmInference.httpResponseStart", start).await.unwrap()["accepted"], false);
    let piece = json!({ "requestId": "missing", "data": "", "end": true });
    assert_eq!(client.call("llmInference.httpResponseChunk", piece).await.unwrap()["accepted"], false);
    client.close().await;
}

#[tokio::test]
async fn calls_after_a_shutdown_are_refused() {
    let mut client = client();
    assert_eq!(client.call("runtime.shutdown", json!({})).await.unwrap(), Value::Null);
    let refused = client.call("ping", json!({})).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("shutting down"), "{refused}");
    assert_eq!(client.close().await, AdapterExit::Success);
}

#[tokio::test]
async fn texts_that_a_client_adds_are_not_written() {
    let mut client = client();
    let added = client.call("secrets.addFilterValues", json!({ "values": ["a-long-secret"] })).await.unwrap();
    assert_eq!(added, json!({ "ok": true }));
    for wrong in [json!([7]), json!(["short"])] {
        assert!(client.call("secrets.addFilterValues", json!({ "values": wrong })).await.is_err());
    }
    client.create_session(json!({})).await;
    assert_eq!(*client.opener.secrets.lock().unwrap(), 1);
    let late = client.call("secrets.addFilterValues", json!({ "values": ["another-secret"] })).await.unwrap_err();
    assert!(late["message"].as_str().unwrap().contains("before you open sessions"), "{late}");
    client.close().await;
}
