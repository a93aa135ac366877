//! Rules of another program's files: they forbid and ask, and never allow.

use config::{Standing, Weight};
use policy::Source;
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
fn only_what_they_forbid_and_ask_counts() {
    let machine = Machine::new();
    machine
        .write("project/.claude/settings.json", MANY)
        .write("project/.claude/settings.local.json", r#"{"permissions": {"deny": ["WebFetch"]}}"#)
        .write("user/.claude/settings.json", r#"{"permissions": {"allow": ["Bash"]}}"#);
    let layers = machine.layers(Standing::Untrusted).unwrap();
    assert_eq!(layers.config(), config::File::default().resolve());
    let (local, shared) =
        (machine.path("project/.claude/settings.local.json"), machine.path("project/.claude/settings.json"));
    let rules: Vec<_> = layers.rules().unwrap().into_iter().map(|rule| (rule.effect, rule.source)).collect();
    assert_eq!(
        rules,
        [
            (RuleEffect::Deny, Source::Project(local)),
            (RuleEffect::Deny, Source::Project(shared.clone())),
            (RuleEffect::Deny, Source::Project(shared.clone())),
            (RuleEffect::Ask, Source::Project(shared)),
        ]
    );
    let told: Vec<_> = layers.notices.iter().map(|notice| (notice.weight, notice.text.as_str())).collect();
    assert_eq!(
        told,
        [
            (Weight::Remark, "1 allow rule is not used; copy what you want with `bosun config allow RULE`"),
            (Weight::Remark, "2 allow rules are not used; copy what you want with `bosun config allow RULE`"),
        ]
    );
}

#[test]
fn a_file_that_cannot_be_read_is_told_of_and_stops_nothing() {
    let hostile: [(&str, &str); 6] = [
        ("{", "line 1"),
        ("\u{0}\u{1}", "line 1"),
        (r#"{"permissions": {"deny": "all"}}"#, "line 1"),
        (r#"{"permissions": {"deny": [{"a": 1}]}}"#, "an entry that is no text is not used"),
        (r#"{"permissions": {"deny": [""]}}"#, "permissions.deny: `` is no rule"),
        ("[[[[", "line 1"),
    ];
    for (text, words) in hostile {
        let machine = Machine::new();
        machine.write("project/.claude/settings.json", text);
        let layers = machine.layers(Standing::Untrusted).unwrap();
        let [notice] = &layers.notices[..] else { panic!("{text}: {:?}", layers.notices) };
        assert!(notice.weight == Weight::Warning && notice.text.contains(words), "{}", notice.text);
        assert!(layers.rules().unwrap().is_empty());
    }
    let machine = Machine::new();
    machine.write("project/.claude/settings.json", &"[".repeat(500_000));
    assert_eq!(machine.layers(Standing::Untrusted).unwrap().notices.len(), 1);
    std::fs::remove_file(machine.path("project/.claude/settings.json")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", machine.path("project/.claude/settings.json")).unwrap();
    let notices = machine.layers(Standing::Untrusted).unwrap().notices;
    assert_eq!(notices[0].text, "its rules are not used: it is a link, or behind one");
}
