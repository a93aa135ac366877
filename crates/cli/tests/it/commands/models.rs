//! What can be asked, and what runs on this machine.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::stage;

/// A server on this machine that has one list under each path, and remembers what it was asked.
struct Server {
    address: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn start(lists: Vec<(&'static str, Value)>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&asked);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                let request = lines.next().unwrap_or_default();
                while lines.next().is_some_and(|line| !line.is_empty()) {}
                let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
                let list = lists.iter().find(|(known, _)| *known == path).map_or(json!({}), |(_, list)| list.clone());
                heard.lock().unwrap().push(path);
                let body = list.to_string();
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                // One that went away is not missed.
                let _gone = (&stream).write_all(format!("{head}{body}").as_bytes());
            }
        });
        Server { address, asked }
    }
}

fn provider<'a>(list: &'a Value, name: &str) -> &'a Value {
    list["providers"].as_array().unwrap().iter().find(|provider| provider["name"] == name).unwrap()
}

/// Nothing of the machine's own is looked at.
const NOWHERE: &str = "[providers.llama-server]\nbase-url = 'http://127.0.0.1:1/v1'\n[providers.llamacpp]\nbase-url = 'http://127.0.0.1:1/v1'\n[providers.lmstudio]\nbase-url = 'http://127.0.0.1:1/v1'\n";

#[test]
fn providers_are_listed_with_keys_prices_and_what_runs_here() {
    let stage = stage();
    let server = Server::start(vec![
        ("/api/tags", json!({ "models": [{ "name": "qwen3:8b" }] })),
        ("/v1/models", json!({ "data": [{ "id": "model.gguf" }] })),
    ]);
    std::fs::create_dir(stage.home()).unwrap();
    let config = format!(
        "[providers.llamacpp]\nbase-url = 'http://{}/v1'\n[providers.lmstudio]\nbase-url = 'http://127.0.0.1:1/v1'\n\
         [providers.ollama.models.'qwen3:8b']\ncontext = 32768\n",
        server.address
    );
    std::fs::write(stage.home().join("config.toml"), config).unwrap();
    let models = stage.bosun(["models", "--json"]).env("OLLAMA_HOST", &server.address).env("OPENAI_API_KEY", "sk-1");
    let list = models.run().expect(0).json();
    assert_eq!(provider(&list, "anthropic")["key"], json!({ "state": "missing", "variable": "ANTHROPIC_API_KEY" }));
    assert_eq!(provider(&list, "openai")["key"], json!({ "state": "present", "variable": "OPENAI_API_KEY" }));
    let sonnet = provider(&list, "anthropic")["models"].as_array().unwrap().iter();
    let sonnet = sonnet.clone().find(|model| model["name"] == "claude-sonnet-5-5").unwrap();
    assert_eq!((&sonnet["price"]["input"], &sonnet["price"]["output"]), (&json!(2.0), &json!(10.0)));
    let known = json!({ "name": "qwen3:8b", "running": true, "context": 32768, "maxOutput": null, "price": null });
    assert_eq!(provider(&list, "ollama")["models"], json!([known]));
    assert_eq!(provider(&list, "llamacpp")["models"][0]["name"], "model.gguf");
    let servers = ["ollama", "llamacpp", "lmstudio", "openai"].map(|name| provider(&list, name)["server"].clone());
    assert_eq!(servers, [json!("running"), json!("running"), json!("none"), Value::Null]);
    let mut asked = server.asked.lock().unwrap().clone();
    asked.sort();
    assert_eq!(asked, ["/api/tags", "/v1/models"]);
}

#[test]
fn people_are_told_how_to_choose() {
    let stage = stage();
    std::fs::create_dir(stage.home()).unwrap();
    std::fs::write(stage.home().join("config.toml"), NOWHERE).unwrap();
    let ended = stage.bosun(["models"]).env("OLLAMA_HOST", "127.0.0.1:1").run().expect(0);
    for words in
        ["no key: set ANTHROPIC_API_KEY", "$2.00 in, $10.00 out", "not running", "same models as openai", "script "]
    {
        assert!(ended.stdout.contains(words), "{words}: {ended:?}");
    }
    ended.says(&["as of 20", "--model PROVIDER/NAME"]);
}

#[test]
fn a_server_that_hangs_or_babbles_does_not_hold_up_the_list() {
    let stage = stage();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let babbling = Server::start(vec![("/api/tags", json!("moo"))]);
    std::fs::create_dir(stage.home()).unwrap();
    let silence = NOWHERE.replacen("127.0.0.1:1", &silent.local_addr().unwrap().to_string(), 1);
    std::fs::write(stage.home().join("config.toml"), silence).unwrap();
    let list = stage.bosun(["models", "--json"]).env("OLLAMA_HOST", &babbling.address).run().expect(0).json();
    assert_eq!(
        (&provider(&list, "llamacpp")["server"], &provider(&list, "ollama")["server"]),
        (&json!("none"), &json!("other"))
    );
}
