//! Path patterns against names that try to evade them.

use bosun_policy::{FilesystemFacts, Policy, RequestedAct, VerdictBasis};
use protocol::PermissionMode::{AcceptEdits, AllowAll, Default};
use protocol::RuleEffect::{self, Allow, Ask, Deny};

use crate::sample::{check, edit, effect, policy, read, request};

fn edited(rules: &[&str], path: &str) -> RuleEffect {
    effect(&policy(Default, rules), &edit(path))
}

#[test]
fn pattern_anchor_decides_where_it_starts() {
    for (pattern, path, expected) in [
        ("src/**", "/work/app/src/a.rs", true),
        ("src/**", "/work/app/src/deep/er/a.rs", true),
        ("src/**", "/work/app/srcs/a.rs", false),
        ("src/**", "/work/app/lib/src/a.rs", false),
        ("src/**", "/work/src/a.rs", false),
        ("./src/**", "/work/app/src/a.rs", true),
        ("src/", "/work/app/src/a.rs", true),
        ("src/*", "/work/app/src/a.rs", true),
        ("src/*", "/work/app/src/deep/a.rs", false),
        ("src/?.rs", "/work/app/src/a.rs", true),
        ("src/?.rs", "/work/app/src/ab.rs", false),
        ("*.md", "/work/app/README.md", true),
        ("*.md", "/work/app/docs/deep/a.md", true),
        ("*.md", "/work/other/a.md", false),
        ("./*.md", "/work/app/docs/a.md", false),
        ("**/*.md", "/work/app/docs/deep/a.md", true),
        ("**", "/work/app/docs/deep/a.md", true),
        ("**", "/work/other/a", false),
        ("*", "/work/app/docs/deep/a.md", true),
        (".", "/work/app/a", true),
        ("{src,tests}/**", "/work/app/tests/a", true),
        ("src/[ab].rs", "/work/app/src/b.rs", true),
        ("~/notes/**", "/home/ann/notes/a", true),
        ("~/notes/**", "/work/app/~/notes/a", false),
        ("~", "/home/ann/a/b", true),
        ("/tmp/**", "/tmp/a/b", true),
        ("//tmp/**", "/tmp/a", true),
        ("/tmp", "/tmp", true),
        ("/tmp", "/tmp/a", false),
        ("/", "/anything/at/all", true),
        ("/**", "/anything/at/all", true),
        ("src/a.rs", "/work/app/src/a.rs", true),
        ("src/a.rs", "/work/app/src/a.rs/b", false),
        ("src/A.rs", "/work/app/src/a.rs", false),
    ] {
        let verdict = edited(&[&format!("allow edit({pattern})")], path);
        assert_eq!(verdict == Allow, expected, "{pattern} {path}");
    }
}

#[test]
fn denied_path_is_denied_in_every_spelling() {
    let long = format!("/work/app/{}/.env", "d/".repeat(4000).trim_end_matches('/'));
    for (pattern, path) in [
        ("src/**", "/work/app/SRC/A.rs"),
        ("src/**", "/work/app/src"),
        ("src", "/work/app/src/deep/a"),
        ("src/", "/work/app/src"),
        ("SECRET.txt", "/work/app/a/secret.TXT"),
        ("caf\u{e9}/**", "/work/app/cafe\u{301}/x"),
        ("cafe\u{301}/**", "/work/app/CAF\u{c9}/x"),
        ("stra\u{df}e", "/work/app/STRASSE"),
        (".env", "/work/app/a/b/.env"),
        (".env", "/elsewhere/.env"),
        (".env", "/work/app/.env/deep"),
        ("**/.env", "/elsewhere/.ENV"),
        ("*.pem", "/work/app/a\nb.pem"),
        ("*.pem", "/work/app/\u{1b}[31m.pem"),
        ("~/.ssh/**", "/home/ann/.SSH/id"),
        ("~/.ssh", "/home/ann/.ssh/keys/id"),
        ("/etc", "/etc/passwd"),
        ("//etc/**", "/etc"),
        ("/", "/any/thing"),
        ("a\\*b", "/work/app/a*b"),
        ("a[*]b", "/work/app/x/a*b"),
        (".env", long.as_str()),
    ] {
        for mode in [Default, AllowAll] {
            let forbidden = policy(mode, &[&format!("deny edit({pattern})"), "allow edit"]);
            assert_eq!(effect(&forbidden, &edit(path)), Deny, "{pattern} {path}");
        }
    }
}

#[test]
fn deny_pattern_matches_nothing_else() {
    for (pattern, path) in [
        ("src/**", "/work/app/srcs/a"),
        ("src", "/work/app/src.rs"),
        (".env", "/work/app/.envrc"),
        ("*.pem", "/work/app/pem"),
        ("a\\*b", "/work/app/aXb"),
        ("~/.ssh", "/home/bob/.ssh/id"),
        ("a", "/work/app/\u{430}"),
        ("src/secret", "/work/app/lib/src/secret"),
    ] {
        assert_eq!(edited(&[&format!("deny edit({pattern})"), "allow edit"], path), Allow, "{pattern} {path}");
    }
}

#[test]
fn allowed_path_is_allowed_only_in_its_exact_spelling() {
    for (pattern, path) in [
        ("caf\u{e9}/**", "/work/app/cafe\u{301}/x"),
        ("src/**", "/work/app/Src/x"),
        ("src/**", "/work/app/src/../../../etc/passwd/.."),
        ("src/**", "/work/app/src"),
        ("a*b", "/work/app/a/b"),
    ] {
        // Paths have no `..`; one that has is not matched by accident.
        let inside = edited(&[&format!("allow edit({pattern})")], path) == Allow;
        assert!(!inside || path.contains(".."), "{pattern} {path}");
    }
    assert_eq!(edited(&["allow edit(src/**)"], "/work/app/src/a\nb"), Allow);
    assert_eq!(edited(&["allow edit(src/**)"], "/work/app/src/[x]*?"), Allow);
    assert_eq!(edited(&["allow edit(src/**)"], "/work/app/src/a/"), Allow);
}

#[test]
fn special_characters_in_suggested_paths_are_escaped() {
    for (path, expected) in [
        ("/work/app/src/a.rs", "edit(src/**)"),
        ("/work/app/README.md", "edit(./README.md)"),
        ("/work/app/a*b/c", "edit(a\\*b/**)"),
        ("/work/app/[x]", "edit(./\\[x\\])"),
        ("/work/app/a(1)/b", "edit(a\\(1\\)/**)"),
        ("/opt/tool/a", "edit(/opt/tool/**)"),
        ("/home/ann/x", "edit(/home/ann/x)"),
        ("/x", "edit(/x)"),
        ("/work/x", "edit(/work/x)"),
    ] {
        assert_eq!(check(&policy(Default, &[]), &edit(path)).suggested_rule.as_deref(), Some(expected), "{path}");
        assert_eq!(edited(&[&format!("allow {expected}")], path), Allow, "{path}");
    }
    assert_eq!(
        check(&policy(Default, &[]), &edit("/work/app/a\nb/c")).suggested_rule,
        None,
        "no rule has a line break"
    );
}

#[test]
fn control_files_of_bosun_are_protected_in_every_mode() {
    let rules = ["allow edit", "allow read", "allow edit(/**)", "allow read(/**)"];
    for mode in protocol::PermissionMode::ALL {
        for path in [
            "/home/ann/.bosun",
            "/home/ann/.bosun/",
            "/home/ann/.bosun/config.toml",
            "/home/ann/.BOSUN/sessions/x/session.db",
            "/work/app/.bosun/config.toml",
            "/work/app/.mcp.json",
        ] {
            for request in [edit(path), read(path), request("grep", RequestedAct::Read(path.into()))] {
                let verdict = check(&policy(mode, &rules), &request);
                assert_eq!(
                    (verdict.effect, verdict.basis, verdict.suggested_rule),
                    (Deny, VerdictBasis::Controls, None),
                    "{mode} {path}"
                );
            }
        }
    }
    let all = policy(AllowAll, &[]);
    for path in ["/home/ann/.bosunrc", "/work/app/.mcp.json.bak", "/work/app/lib/.bosun/x", "/home/ann"] {
        assert_eq!(effect(&all, &edit(path)), Allow, "{path}");
    }
}

#[test]
fn files_that_git_runs_ask_in_every_mode() {
    for mode in [Default, AcceptEdits, AllowAll] {
        let policy = policy(mode, &["allow edit"]);
        for path in
            ["/work/app/.git/hooks/pre-commit", "/work/app/.git/config", "/work/app/sub/.GIT/config", "/work/app/.git"]
        {
            let verdict = check(&policy, &edit(path));
            assert_eq!((verdict.effect, verdict.suggested_rule), (Ask, None), "{path}");
        }
        assert_eq!(effect(&policy, &edit("/work/app/.gitignore")), Allow);
        assert_eq!(effect(&policy, &read("/work/app/.git/config")), Allow);
    }
}

#[test]
fn file_name_that_is_not_utf8_is_judged() {
    use std::os::unix::ffi::OsStrExt;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(b"/work/app/src/\xff\xfe.key"));
    assert_eq!(effect(&policy(Default, &["allow edit(src/**)"]), &edit(path)), Allow);
    assert_eq!(effect(&policy(AllowAll, &["deny edit(*.key)"]), &edit(path)), Deny);
    assert_eq!(check(&policy(Default, &[]), &edit(path)).suggested_rule.as_deref(), Some("edit(src/**)"));
}

#[test]
fn checkout_in_bosuns_home_is_writable_but_not_its_surroundings() {
    let own = "/home/ann/.bosun/checkouts/ses-1/task-1";
    let usual = policy(AllowAll, &[]);
    let controls = usual.control_paths.iter().cloned().chain([format!("{own}/.bosun").into()]).collect();
    let policy = Policy { project_dir: own.into(), exempt_folders: vec![own.into()], control_paths: controls, ..usual };
    let at = |command: &str| RequestedAct::Shell {
        command: command.to_owned(),
        cwd: own.into(),
        facts: FilesystemFacts::default(),
    };
    for command in [
        "cat a.txt".to_owned(),
        "ls *.rs src/**/x".to_owned(),
        format!("cat {own}/a.txt"),
        format!("cd {own} && make --file={own}/Makefile"),
        format!("grep -rn x {own}/*.rs > {own}/out"),
        "git commit -m x".to_owned(),
    ] {
        assert_eq!(effect(&policy, &request("shell", at(&command))), Allow, "{command}");
    }
    for command in [
        "cat ../task-2/a.txt".to_owned(),
        format!("cat {own}2/a.txt"),
        format!("cat {own}/../../../config.toml"),
        "cat ~/.bosun/config.toml".to_owned(),
        "ls ../*".to_owned(),
        "cat .bosun/config.toml".to_owned(),
        format!("cat {own}/.bosun/config.toml"),
        format!("python -c 'open(\"{own}/../x\")'"),
    ] {
        assert_eq!(effect(&policy, &request("shell", at(&command))), Deny, "{command}");
    }
    assert_eq!(effect(&policy, &request("view", RequestedAct::Read(format!("{own}/a.txt").into()))), Allow);
    assert_eq!(effect(&policy, &request("view", RequestedAct::Read(format!("{own}/.bosun/x").into()))), Deny);
    assert_eq!(effect(&policy, &request("view", RequestedAct::Read("/home/ann/.bosun/config.toml".into()))), Deny);
}
