//! Keys: where they come from, and where they never go.

use std::fs;

use crate::scripts::{HELLO, shell};
use crate::stage;

#[test]
fn started_programs_get_no_keys() {
    let stage = stage();
    fs::create_dir(stage.home()).unwrap();
    let provider =
        "[providers.gateway]\nkind = 'openai'\nbase-url = 'https://gateway.example/v1'\nkey-env = 'GATEWAY_KEY'\n";
    fs::write(stage.home().join("config.toml"), provider).unwrap();
    let go = stage.script(&shell("env")).prompt("go");
    let keys = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY", "GATEWAY_KEY"];
    let ended = keys.iter().fold(go, |go, key| go.env(key, "sk-very-secret")).env("KEPT", "kept").run().expect(0);
    assert!(ended.stdout.contains("KEPT=kept"), "{ended:?}");
    assert!(!ended.stdout.contains("sk-very-secret"), "{ended:?}");
    assert!(keys.iter().all(|key| !ended.stdout.contains(key)), "{ended:?}");
}

#[test]
fn a_key_in_the_file_is_refused() {
    let stage = stage();
    fs::create_dir(stage.home()).unwrap();
    fs::write(stage.home().join("config.toml"), "[providers.openai]\nkey = 'sk-very-secret'\n").unwrap();
    stage.script(HELLO);
    for command in [&["-p", "hi"][..], &["models"], &["sessions"]] {
        let refused =
            stage.bosun(command).run().expect(2).says(&["config.toml: providers.openai contains a key", "key-env"]);
        assert!(!refused.stderr.contains("sk-very-secret"), "{refused:?}");
    }
}

#[test]
fn a_wrong_address_is_refused_before_anything_begins() {
    let stage = stage();
    stage.script(HELLO);
    let refused = stage.prompt("hi").env("OPENAI_BASE_URL", "api.example.com").run().expect(2);
    refused.says(&["OPENAI_BASE_URL has no scheme; begin it with https://"]);
    assert!(stage.sessions().is_empty());
}
