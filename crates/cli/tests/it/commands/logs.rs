//! The log: one line per record, without keys, in a limited number of files.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::fixture;
use crate::scripts::HELLO;

#[test]
fn a_record_is_one_line_with_its_process_and_session_and_without_keys() {
    const KEY: &str = "sk-very-secret-key";
    let fixture = fixture();
    // The error message of a failed commit contains the path of the home.
    let home = fixture.path(KEY);
    let failing = |key: &str| {
        fixture.script(HELLO).prompt("hi").env("BOSUN_HOME", &home).env("BOSUN_FAULT", "fail-commit:4").env(key, KEY)
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
fn large_log_is_rotated() {
    let fixture = fixture();
    fixture.script(HELLO).prompt("hi").run().expect(0);
    let logs = fixture.home().join("logs");
    fs::write(logs.join("bosun.log"), "old\n".repeat(2 << 20)).unwrap();
    for _ in 0..2 {
        fixture.prompt("hi").env("BOSUN_FAULT", "fail-commit:4").run().expect(1);
    }
    assert!(fs::read_to_string(logs.join("bosun.log.1")).unwrap().starts_with("old\n"));
    let log = fs::read_to_string(logs.join("bosun.log")).unwrap();
    assert!(!log.contains("old") && log.contains("a commit failed"), "{log}");
}
