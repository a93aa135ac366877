//! Rules in files of other products: only `deny` and `ask` count, never `allow`.

use config::{NoticeLevel, TrustStatus};
use policy::RuleSource;
use protocol::RuleEffect;

use crate::Machine;

const MANY: &str = r#"{
  "model": "something",
  "permissions": {
    "defaultMode": "bypassPermissions",
    "allow": ["Bash(npm run test:*)", "Edit"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Read(./.env)", "mcp__server__tool"]
  },
  "hooks": {"PreToolUse": []}
}"#;

#[test]
fn only_deny_and_ask_rules_of_other_products_count() {
    let machine = Machine::new();
    machine
        .write("project/.claude/settings.json", MANY)
        .write("project/.claude/settings.local.json", r#"{"permissions": {"deny": ["WebFetch"]}}"#)
        .write("user/.claude/settings.json", r#"{"permissions": {"allow": ["Bash"]}}"#);
    let layers = machine.layers(TrustStatus::Untrusted).unwrap();
    assert_eq!(layers.config(), config::SettingsFile::default().resolve());
    let (local, shared) =
        (machine.path("project/.claude/settings.local.json"), machine.path("project/.claude/settings.json"));
    let rules: Vec<_> = layers.rules().unwrap().into_iter().map(|rule| (rule.effect, rule.source)).collect();
    assert_eq!(
        rules,
        [
            (RuleEffect::Deny, RuleSource::Project(local)),
            (RuleEffect::Deny, RuleSource::Project(shared.clone())),
            (RuleEffect::Deny, RuleSource::Project(shared.clone())),
            (RuleEffect::Ask, RuleSource::Project(shared)),
        ]
    );
    let told: Vec<_> = layers.notices.iter().map(|notice| (notice.level, notice.text.as_str())).collect();
    assert_eq!(
        told,
        [
            (NoticeLevel::Info, "1 allow rule is not used; `bosun import claude` shows and copies what can be used"),
            (
                NoticeLevel::Info,
                "not used: permissions.defaultMode, model; `bosun import claude` shows and copies what can be used"
            ),
            (NoticeLevel::Info, "2 allow rules are not used; `bosun import claude` shows and copies what can be used"),
        ]
    );
}

#[test]
fn unreadable_foreign_settings_stop_the_run() {
    let hostile: [(&str, &str); 7] = [
        ("{", "line 1"),
        ("\u{0}\u{1}", "line 1"),
        (r#"{"permissions": {"deny": "all"}}"#, "line 1"),
        (r#"{"permissions": {"deny": [{"a": 1}]}}"#, "permissions.deny: an entry is not a string"),
        (r#"{"permissions": {"deny": [""]}}"#, "line 1: permissions.deny: `` is not a rule"),
        ("{\"permissions\": {\"ask\": [\n\"\"]}}", "line 2: permissions.ask: `` is not a rule"),
        ("[[[[", "line 1"),
    ];
    for (text, words) in hostile {
        for file in
            ["project/.claude/settings.json", "project/.claude/settings.local.json", "user/.claude/settings.json"]
        {
            let machine = Machine::new();
            machine.write(file, text);
            let error = machine.shown(machine.layers(TrustStatus::Untrusted).unwrap_err());
            assert!(error.starts_with(&format!("/{file}: ")) && error.contains(words), "{error}");
        }
    }
    let machine = Machine::new();
    machine.write("project/.claude/settings.json", &"[".repeat(500_000));
    assert!(machine.layers(TrustStatus::Untrusted).is_err());
    machine.write("project/.claude/settings.json", &format!(r#"{{"a": "{}"}}"#, "x".repeat(2 << 20)));
    let error = machine.shown(machine.layers(TrustStatus::Untrusted).unwrap_err());
    assert!(error.contains("larger than"), "{error}");
    std::fs::remove_file(machine.path("project/.claude/settings.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", machine.path("project/.claude/settings.json")).unwrap();
    let error = machine.shown(machine.layers(TrustStatus::Untrusted).unwrap_err());
    assert!(error.contains("it is a link, or its path contains one"), "{error}");
    for text in ["", " \n", "\u{feff}{}"] {
        let machine = Machine::new();
        machine.write("user/.claude/settings.json", text);
        assert!(machine.layers(TrustStatus::Untrusted).is_ok());
    }
}

/// In Claude's files `/x` is below the project, in Bosun's it is below the root of the disk.
#[test]
fn denied_absolute_path_is_also_denied_below_the_project() {
    let machine = Machine::new();
    let text = r#"{"permissions": {"deny": ["Read(/secrets/**)", "Edit(//etc/**)", "Bash(/bin/x)"]}}"#;
    machine.write("project/.claude/settings.json", text);
    let rules = machine.layers(TrustStatus::Untrusted).unwrap().rules().unwrap();
    let texts: Vec<_> = rules.iter().map(|rule| rule.text.as_str()).collect();
    assert_eq!(texts, ["read(/secrets/**)", "read(./secrets/**)", "edit(//etc/**)", "shell(/bin/x)"]);
}
