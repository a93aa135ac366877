//! `bosun models`: providers, models and local servers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::fixture;

/// A local server that returns a list for each path and records the requested paths.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(lists: Vec<(&'static str, Value)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let request = lines.next().unwrap_or_default();
                while lines.next().is_some_and(|line| !line.is_empty()) {}
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let list = lists.iter().find(|(known, _)| *known == path).map_or(json!({}), |(_, list)| list.clone());
                received.lock().unwrap().push(path);
                let body = list.to_string();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                // The client may be gone.
                let _gone = (&stream).write_all(format!("{head}{body}").as_bytes());
            }
        });
        Server { address, asked }
    }
}

fn provider<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["providers"].as_array().unwrap().iter().find(|provider| provider["name"] == name).unwrap()
}

/// Settings with which the machine's own servers are not probed.
const NOWHERE: &str = "[providers.llama-server]\nbase-url = 'http://127.0.0.1:1/v1'\n[providers.llamacpp]\nbase-url = 'http://127.0.0.1:1/v1'\n[providers.lmstudio]\nbase-url = 'http://127.0.0.1:1/v1'\n";

#[test]
fn providers_are_listed_with_keys_prices_and_what_runs_here() {
    let fixture = fixture();
    let server = Server::start(vec![
        ("/api/tags", json!({ "models": [{ "name": "qwen3:8b" }] })),
        ("/v1/models", json!({ "data": [{ "id": "model.gguf" }] })),
    ]);
    std::fs::create_dir(fixture.home()).unwrap();
    let config = format!(
        "[providers.llamacpp]\nbase-url = 'http://{}/v1'\n[providers.lmstudio]\nbase-url = 'http://127.0.0.1:1/v1'\n\
         [providers.ollama.models.'qwen3:8b']\ncontext = 32768\n",
        server.address
    );
    std::fs::write(fixture.home().join("config.toml"), config).unwrap();
    let models = fixture.bosun(["models", "--json"]).env("OLLAMA_HOST", &server.address).env("OPENAI_API_KEY", "sk-1");
    let list = models.run().expect(0).json();
    assert_eq!(provider(&list, "anthropic")["key"], json!({ "state": "missing", "variable": "ANTHROPIC_API_KEY" }));
    assert_eq!(provider(&list, "openai")["key"], json!({ "state": "present", "variable": "OPENAI_API_KEY" }));
    let sonnet = provider(&list, "anthropic")["models"].as_array().unwrap().iter();
    let sonnet = sonnet.clone().find(|model| model["name"] == "claude-sonnet-5-5").unwrap();
    assert_eq!((&sonnet["price"]["input"], &sonnet["price"]["output"]), (&json!(2.0), &json!(10.0)));
    let free = json!({ "input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0 });
    let known = json!({ "name": "qwen3:8b", "running": true, "context": 32768, "maxOutput": null, "price": free });
    assert_eq!(provider(&list, "ollama")["models"], json!([known]));
    assert_eq!(provider(&list, "llamacpp")["models"][0]["name"], "model.gguf");
    let servers = ["ollama", "llamacpp", "lmstudio", "openai"].map(|name| provider(&list, name)["server"].clone());
    assert_eq!(servers, [json!("running"), json!("running"), json!("none"), Value::Null]);
    let mut asked = server.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["/api/tags", "/v1/models"]);
}

#[test]
fn table_says_how_to_choose_a_model() {
    let fixture = fixture();
    std::fs::create_dir(fixture.home()).unwrap();
    std::fs::write(fixture.home().join("config.toml"), NOWHERE).unwrap();
    let ended = fixture.bosun(["models"]).env("OLLAMA_HOST", "127.0.0.1:1").run().expect(0);
    for expected in
        ["no key: set ANTHROPIC_API_KEY", "$2.00 in, $10.00 out", "not running", "same models as openai", "script "]
    {
        assert!(ended.stdout.contains(expected), "{expected}: {ended:?}");
    }
    ended.says(&["as of 20", "--model PROVIDER/NAME"]);
}

#[test]
fn hanging_or_invalid_server_does_not_delay_the_list() {
    let fixture = fixture();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let invalid = Server::start(vec![("/api/tags", json!("moo"))]);
    std::fs::create_dir(fixture.home()).unwrap();
    let config = NOWHERE.replacen("127.0.0.1:1", &silent.local_addr().unwrap().to_string(), 1);
    std::fs::write(fixture.home().join("config.toml"), config).unwrap();
    let list = fixture.bosun(["models", "--json"]).env("OLLAMA_HOST", &invalid.address).run().expect(0).json();
    assert_eq!(
        (&provider(&list, "llamacpp")["server"], &provider(&list, "ollama")["server"]),
        (&json!("none"), &json!("other"))
    );
}
