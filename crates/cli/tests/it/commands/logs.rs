//! The log: one line a record, without keys, and never more than a few files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::scripts::HELLO;
use crate::stage;

#[test]
fn a_record_is_one_line_with_its_process_and_session_and_without_keys() {
    const KEY: &str = "sk-very-secret-key";
    let stage = stage();
    // The home's path is in the message of a commit that fails.
    let home = stage.path(KEY);
    let failing = |key: &str| {
        stage.script(HELLO).prompt("hi").env("BOSUN_HOME", &home).env("BOSUN_FAULT", "fail-commit:4").env(key, KEY)
    };
    failing("ANTHROPIC_API_KEY").run().expect(1);
    fs::write(
        home.join("config.toml"),
        "[providers.gateway]\nkind = 'openai'\nbase-url = 'https://gateway.example/v1'\nkey-env = 'GATEWAY_KEY'\n",
    )
    .unwrap();
    failing("GATEWAY_KEY").run().expect(1);
    failing("VAULT").args(["--settings", r#"{"environment": {"hide": ["VAULT"]}}"#]).run().expect(1);

    let path = home.join("logs/bosun.log");
    let log = fs::read_to_string(&path).unwrap();
    assert!(!log.contains(KEY) && log.contains("[redacted]"), "{log}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for line in log.lines() {
        let [time, level, pid, session, target] =
            <[&str; 5]>::try_from(line.split_whitespace().take(5).collect::<Vec<_>>()).unwrap();
        assert!(time.starts_with("20") && time.ends_with('Z'), "{line}");
        assert!(matches!(level, "ERROR" | "WARN"), "{line}");
        assert!(pid.parse::<u32>().is_ok() && session.starts_with("ses-"), "{line}");
        assert!(target.starts_with("bosun_") && target.ends_with(':'), "{line}");
    }
    assert!(log.lines().count() >= 2, "{log}");
}

#[test]
fn a_log_that_is_large_is_set_aside() {
    let stage = stage();
    stage.script(HELLO).prompt("hi").run().expect(0);
    let logs = stage.home().join("logs");
    fs::write(logs.join("bosun.log"), "old\n".repeat(2 << 20)).unwrap();
    for _ in 0..2 {
        stage.prompt("hi").env("BOSUN_FAULT", "fail-commit:4").run().expect(1);
    }
    assert!(fs::read_to_string(logs.join("bosun.log.1")).unwrap().starts_with("old\n"));
    let log = fs::read_to_string(logs.join("bosun.log")).unwrap();
    assert!(!log.contains("old") && log.contains("a commit failed"), "{log}");
}
