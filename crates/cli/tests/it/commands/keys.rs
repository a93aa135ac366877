//! API keys: their sources, and where they must not appear.

use std::fs;

use crate::fixture;
use crate::scripts::{HELLO, shell};

#[test]
fn started_programs_get_no_keys() {
    let fixture = fixture();
    fs::create_dir(fixture.home()).unwrap();
    let provider =
        "[providers.gateway]\nkind = 'openai'\nbase-url = 'https://gateway.example/v1'\nkey-env = 'GATEWAY_KEY'\n";
    fs::write(fixture.home().join("config.toml"), provider).unwrap();
    let go = fixture.script(&shell("env")).prompt("go");
    let keys = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GATEWAY_KEY"];
    let ended = keys.iter().fold(go, |go, key| go.env(key, "sk-very-secret")).env("KEPT", "kept").run().expect(0);
    assert!(ended.stdout.contains("KEPT=kept"), "{ended:?}");
    assert!(!ended.stdout.contains("sk-very-secret"), "{ended:?}");
    assert!(keys.iter().all(|key| !ended.stdout.contains(key)), "{ended:?}");
}

#[test]
fn a_key_in_the_file_is_refused() {
    let fixture = fixture();
    fs::create_dir(fixture.home()).unwrap();
    fs::write(fixture.home().join("config.toml"), "[providers.openai]\nkey = 'sk-very-secret'\n").unwrap();
    fixture.script(HELLO);
    for command in [&["-p", "hi"][..], &["models"], &["sessions"]] {
        let refused =
            fixture.bosun(command).run().expect(2).says(&["config.toml: providers.openai contains a key", "key-env"]);
        assert!(!refused.stderr.contains("sk-very-secret"), "{refused:?}");
    }
}

#[test]
fn invalid_base_url_is_refused_before_the_session_starts() {
    let fixture = fixture();
    fixture.script(HELLO);
    let refused = fixture.prompt("hi").env("OPENAI_BASE_URL", "api.example.com").run().expect(2);
    refused.says(&["OPENAI_BASE_URL has no scheme; begin it with https://"]);
    assert!(fixture.sessions().is_empty());
}
