//! `bosun import` from the command line.

use std::fs;

use crate::fixture;

#[test]
fn import_shows_changes_and_writes_only_on_request() {
    let fixture = fixture();
    let user = fixture.path("user");
    let write = |below: &str, text: &str| {
        let path = user.join(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(".claude/settings.json", r#"{"permissions": {"allow": ["Bash(npm test)"]}, "env": {"CI": "1"}}"#);
    write(".claude/agents/a.md", "x");
    let import = |args: &[&str]| {
        let command = ["import", "claude"].into_iter().chain(args.iter().copied()).collect::<Vec<_>>();
        fixture.bosun(command).env("HOME", &user).run()
    };
    let config = fixture.home().join("config.toml");
    let before = fs::read(&config).ok();
    let shown = import(&[]).expect(0);
    for part in ["~/.claude/settings.json", "permissions.allow shell(npm test)", "already read in place"] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(shown.stderr.contains("2 entries to write; run again with --write"), "{}", shown.stderr);
    assert_eq!(fs::read(&config).ok(), before, "nothing is written");
    import(&["--write"]).expect(0);
    let after = fs::read_to_string(&config).unwrap();
    assert!(after.contains("shell(npm test)") && after.contains("CI = \"1\""), "{after}");
    let again = import(&["--yes", "--json"]).expect(0).json();
    assert_eq!(again["findings"][0]["outcome"], "present", "{again}");
    // A file that breaks other commands is named here, and the exit code is 1.
    write(".claude/settings.json", "{\n\"model\": ,}");
    let named = import(&[]).expect(1);
    assert!(named.stdout.contains("invalid: line 2: is not valid JSON"), "{}", named.stdout);
}
