//! `bosun explain`: why a call is allowed, asked about or denied.

use super::normalized;
use crate::fixture;

#[test]
fn a_call_is_explained_part_by_part() {
    let fixture = fixture();
    let ended = fixture.bosun(["explain", "shell", "git push && ls > out.txt"]).run().expect(0);
    insta::assert_snapshot!(normalized(&fixture, &ended.stdout), @r"
    ask: no permission rule matches `git push`, `> out.txt` (mode: default)
    what would change it: each part must be allowed on its own
    parts:
      ask    no permission rule matches `git push` (mode: default)
             → --allow 'shell(git push *)', or the same among the allow rules of a settings file
      allow  `ls` only reads, and stays in the workspace
      ask    no permission rule matches `> out.txt` (mode: default)
             → --allow 'edit(./out.txt)', or the same among the allow rules of a settings file
    ");
    let ended = fixture.bosun(["explain", "shell(git push)"]).run().expect(0);
    insta::assert_snapshot!(ended.stdout, @r"
    ask: no permission rule matches `git push` (mode: default)
    what would change it: --allow 'shell(git push *)', or the same among the allow rules of a settings file
    ");
    let json = fixture.bosun(["explain", "view(Cargo.toml)", "--json"]).run().expect(0).json();
    assert_eq!((&json["tool"], &json["verdict"]["effect"]), (&"view".into(), &"allow".into()));
    assert_eq!(json["parts"].as_array().unwrap().len(), 1);
}

#[test]
fn files_that_control_bosun_are_denied_through_links_too() {
    let fixture = fixture();
    assert!(fixture.bosun(["explain", "edit(a.rs)"]).run().expect(0).stdout.starts_with("ask: "));
    let file = fixture.home().join("config.toml");
    for call in
        [format!("edit({})", file.display()), format!("shell(cat {})", file.display()), "shell(bosun gc)".into()]
    {
        let json = fixture.bosun(["explain", &call, "--json"]).run().expect(0).json();
        assert_eq!(
            (&json["verdict"]["effect"], &json["verdict"]["ground"]),
            (&"deny".into(), &"controls".into()),
            "{call}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(fixture.home(), dir.path().join("link")).unwrap();
    let folder = dir.path().to_str().unwrap();
    let json = fixture.bosun(["explain", "-C", folder, "edit", "link/config.toml", "--json"]).run().expect(0).json();
    assert_eq!(json["verdict"]["ground"], "controls");
}

#[test]
fn invalid_call_says_what_to_write() {
    let fixture = fixture();
    for (call, problem) in [
        ("shel(git push)", "did you mean `shell`?"),
        ("shell", "it does not say which command"),
        ("edit()", "it does not say which file"),
        ("shell(git", "the closing parenthesis is missing"),
    ] {
        fixture.bosun(["explain", call]).run().expect(2).says(&[problem, "hint: for example: bosun explain"]);
    }
    fixture.bosun(["explain"]).run().expect(2);
    let nearby = fixture.bosun(["explain", "fetch(http://169.254.169.254/)"]).run().expect(0);
    assert!(nearby.stdout.starts_with("deny: "), "{nearby:?}");
}

#[test]
fn explanation_matches_the_decision_for_each_tool() {
    let fixture = fixture();
    let effect = |args: &[&str]| {
        let json = fixture.bosun(["explain", "--json"]).args(args).run().expect(0).json();
        json["verdict"]["effect"].as_str().unwrap().to_owned()
    };
    for tool in ["ask_user", "list_shells", "read_shell", "stop_shell", "report_intent", "sql"] {
        assert_eq!(effect(&[tool]), "allow", "{tool}");
    }
    assert_eq!(effect(&["mcp__github__search"]), "ask");
    for rule in ["mcp(github.search)", "mcp__github__search", "github(search)"] {
        assert_eq!(effect(&["mcp(github.search {\"q\": 1})", "--allow", rule]), "allow", "{rule}");
        assert_eq!(effect(&["mcp(github.merge)", "--allow", rule]), "ask", "{rule}");
    }
    fixture.bosun(["explain", "mcp(github)"]).run().expect(2).says(&["mcp(SERVER.TOOL)"]);
    // An edit also reads the file.
    assert_eq!(effect(&["edit(src/a.rs)", "--deny", "read(src/**)"]), "deny");
    assert_eq!(effect(&["create(src/a.rs)", "--deny", "read(src/**)"]), "ask");
}

#[test]
fn file_outside_the_workspace_is_denied_despite_rules() {
    let fixture = fixture();
    let ended = fixture.bosun(["explain", "view(/etc/hostname)", "--allow", "read(/etc/**)"]).run().expect(0);
    insta::assert_snapshot!(ended.stdout, @r"
    deny: `/etc/hostname` is outside the workspace
    what would change it: --add-dir with a folder that has it; no rule does
    ");
    let ended = fixture.bosun(["explain", "view(/etc/hostname)", "--add-dir", "/etc"]).run().expect(0);
    assert!(ended.stdout.starts_with("allow: "), "{}", ended.stdout);
}
