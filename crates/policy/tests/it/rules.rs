//! The syntax of rules, and the effect of modes and roles.

use std::path::Path;

use bosun_policy::{
    AgentRole, FilesystemFacts, PermissionRequest, Policy, RequestedAct, Rule, RuleSource, VerdictBasis,
};
use protocol::PermissionMode::{self, AcceptEdits, AllowAll, Default, Plan};
use protocol::RuleEffect::{Allow, Ask, Deny};

use crate::sample::{check, edit, effect, fetch, policy, read, request, rule, shell};

fn problem(text: &str) -> String {
    Rule::parse(Allow, text, RuleSource::Flag).unwrap_err().to_string()
}

#[test]
fn invalid_rule_is_explained_with_a_correction() {
    for (text, expected) in [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("shell(git *", "parentheses do not match"),
        ("shell git *)", "parentheses do not match"),
        ("shell(git))", "parentheses do not match"),
        ("shell(a) b", "parentheses do not match"),
        ("shell(a\\)", "parentheses do not match"),
        ("shell()", "leave them out to mean every use of shell"),
        ("Bash( )", "leave them out to mean every use of shell"),
        ("(git)", "it names no tool"),
        ("she ll", "cannot contain ' '"),
        ("she\u{a0}ll(x)", "cannot contain '\\u{a0}'"),
        ("shel(git *)", "did you mean `shell`?"),
        ("Raed(x)", "did you mean `read`?"),
        ("shell(git\0)", "control character"),
        ("shell(echo 'a)", "write \\' to mean the character"),
        ("shell(echo it\\'s \"a)", "the quote \" is not closed"),
        ("edit(src/[)", "its pattern is not valid"),
        ("edit({a,b)", "its pattern is not valid"),
        ("edit(../x)", "write the path from `/` or `~/`"),
        ("edit(~bob/x)", "write the path from `/`"),
        ("fetch(a b)", "leave out the rest of the address"),
        ("fetch(https://docs.rs/serde)", "leave out the rest of the address"),
        ("fetch(docs.*)", "only at the front"),
        ("fetch(*.1.2.3.4)", "range of addresses"),
        ("fetch(docs.rs:99999)", "not a port"),
        ("fetch(exa<mple)", "not a host"),
    ] {
        assert!(problem(text).contains(expected), "{text:?}: {}", problem(text));
        assert!(problem(text).contains("such as shell(git *) or edit(src/**)"), "{text:?}");
    }
    assert!(problem(&format!("shell({})", "x".repeat(5000))).contains("longer than 4096 bytes"));
    assert!(problem(&format!("edit({})", "{a,".repeat(300))).contains("braces"));
}

#[test]
fn tool_names_of_other_products_are_translated() {
    for (text, shown) in [
        ("Bash", "shell"),
        ("Bash(git push:*)", "shell(git push:*)"),
        (" shell( git * ) ", "shell(git *)"),
        ("Read(./.env)", "read(./.env)"),
        ("Grep", "read"),
        ("LS(src/**)", "read(src/**)"),
        ("MultiEdit(src/**)", "edit(src/**)"),
        ("write", "edit"),
        ("WebFetch(domain:docs.rs)", "fetch(docs.rs)"),
        ("url(https://docs.rs)", "fetch(https://docs.rs)"),
        ("mcp__github__create_issue", "mcp__github__create_issue"),
        ("grep", "grep"),
    ] {
        assert_eq!(Rule::parse(Allow, text, RuleSource::Flag).unwrap().text, shown);
    }
}

#[test]
fn mode_decides_if_no_rule_matches() {
    let table: [(PermissionMode, [protocol::RuleEffect; 6]); 4] = [
        (Default, [Allow, Ask, Ask, Ask, Allow, Ask]),
        (AcceptEdits, [Allow, Allow, Ask, Ask, Allow, Ask]),
        (Plan, [Allow, Deny, Deny, Ask, Allow, Deny]),
        (AllowAll, [Allow, Allow, Allow, Allow, Allow, Allow]),
    ];
    for (mode, expected) in table {
        let policy = policy(mode, &[]);
        let requests = [
            read("/work/app/a"),
            edit("/work/app/a"),
            shell("ls"),
            fetch("https://docs.rs/"),
            request("sql", RequestedAct::Session),
            request("mcp__x", RequestedAct::Other),
        ];
        assert_eq!(requests.map(|request| effect(&policy, &request)), expected, "{mode}");
    }
}

#[test]
fn deny_is_stronger_than_ask_and_ask_than_allow() {
    let request = edit("/work/app/src/a.rs");
    let all = ["allow edit(src/**)", "ask edit(src/*.rs)", "deny edit(a.rs)"];
    for mode in PermissionMode::ALL {
        assert_eq!(effect(&policy(mode, &all), &request), Deny);
        let asked = effect(&policy(mode, &all[..2]), &request);
        assert_eq!(asked, if mode == Plan { Deny } else { Ask }, "{mode}");
    }
    assert_eq!(effect(&policy(Default, &all[..1]), &request), Allow);
}

#[test]
fn plan_mode_allows_no_changes() {
    let policy = policy(Plan, &["allow edit", "allow shell", "allow mcp__docs", "allow fetch"]);
    for request in [edit("/work/app/a"), shell("ls")] {
        let verdict = check(&policy, &request);
        assert_eq!((verdict.effect, verdict.basis.as_str(), verdict.suggested_rule.as_deref()), (Deny, "mode", None));
        let reason = verdict.reason();
        assert!(reason.contains("mode plan forbids it and overrules allow"), "{reason}");
    }
    assert_eq!(effect(&policy, &request("mcp__docs__search", RequestedAct::Other)), Allow);
    assert_eq!(effect(&policy, &fetch("https://docs.rs")), Allow);
}

#[test]
fn role_is_checked_before_rules() {
    let only =
        AgentRole { tools: Some(["view".into()].into()), denied: ["grep".into()].into(), ..AgentRole::default() };
    assert!(only.permits("view") && !only.permits("edit") && !only.permits("grep"));
    assert!(AgentRole::default().permits("anything"));
    let verdict = policy(AllowAll, &[]).check(&only, &edit("/work/app/a"));
    assert_eq!((verdict.effect, &verdict.basis), (Deny, &VerdictBasis::AgentRole));
    assert_eq!(verdict.reason(), "this agent does not have the tool `edit`");
}

#[test]
fn a_role_without_a_shell_runs_no_command_by_another_tool() {
    let role = AgentRole { tools: Some(["until".into(), "task".into()].into()), ..AgentRole::default() };
    let denied = AgentRole { denied: ["shell".into()].into(), ..AgentRole::default() };
    for role in [role, denied] {
        for tool in ["until", "task"] {
            let command = RequestedAct::Shell {
                command: "true".into(),
                cwd: "/work/app".into(),
                facts: FilesystemFacts::default(),
            };
            let verdict = policy(AllowAll, &[]).check(&role, &request(tool, command));
            assert_eq!((verdict.effect, &verdict.basis), (Deny, &VerdictBasis::AgentRole));
            assert_eq!(verdict.reason(), "this agent does not have the tool `shell`");
        }
    }
}

#[test]
fn rule_of_the_strongest_source_is_named() {
    let of = |source: RuleSource| Rule::parse(Deny, "edit(a)", source).unwrap();
    let managed = of(RuleSource::Managed("/etc/bosun/managed.toml".into()));
    let rules =
        vec![of(RuleSource::User("/home/ann/.bosun/config.toml".into())), managed.clone(), of(RuleSource::Flag)];
    let policy = Policy { rules, ..policy(Default, &[]) };
    let verdict = check(&policy, &edit("/work/app/a"));
    assert_eq!(verdict.basis, VerdictBasis::Rule(Box::new(managed)));
    assert_eq!(verdict.reason(), "`a`: deny edit(a) (managed policy, /etc/bosun/managed.toml)");
}

#[test]
fn rules_about_servers_are_written_as_either_product_writes_them() {
    let call = |tool: &str| request(tool, RequestedAct::Other);
    for rule in ["mcp__db__query", "mcp(db.query)", "db(query)"] {
        let denied = policy(AllowAll, &[&format!("deny {rule}")]);
        assert_eq!(effect(&denied, &call("mcp__db__query")), Deny, "{rule}");
        assert_eq!(effect(&denied, &call("mcp__db__list")), Allow, "{rule}");
        let allowed = policy(Default, &[&format!("allow {rule}")]);
        assert_eq!(effect(&allowed, &call("mcp__db__query")), Allow, "{rule}");
        assert_eq!(effect(&allowed, &call("mcp__other__query")), Ask, "{rule}");
    }
    for rule in ["mcp__db", "mcp__db__*", "mcp(db)", "db", "db(*)"] {
        let denied = policy(AllowAll, &[&format!("deny {rule}")]);
        assert_eq!(effect(&denied, &call("mcp__db__anything")), Deny, "{rule}");
        assert_eq!(effect(&denied, &call("mcp__db2__anything")), Allow, "{rule}");
    }
    // A name that a tool of Bosun has does not mean a server.
    assert_eq!(effect(&policy(AllowAll, &["deny sql"]), &call("mcp__sql__query")), Allow);
}

#[test]
fn a_tool_has_rules_of_its_own() {
    let grep =
        policy(Default, &["deny grep", "deny view(secret/**)", "ask mcp__db__*", "deny mcp__fs(x)", "allow mcp__fs"]);
    assert_eq!(effect(&grep, &request("grep", RequestedAct::Read("/work/app".into()))), Deny);
    assert_eq!(effect(&grep, &read("/work/app/secret/a")), Deny);
    assert_eq!(effect(&grep, &request("glob", RequestedAct::Read("/work/app/secret".into()))), Allow);
    assert_eq!(effect(&grep, &request("mcp__db__drop", RequestedAct::Other)), Ask);
    // The pattern of an unknown tool has no known meaning: as a `deny` it matches every call, as an `allow` none.
    assert_eq!(effect(&grep, &request("mcp__fs", RequestedAct::Other)), Deny);
    assert_eq!(effect(&policy(Default, &["allow mcp__fs(x)"]), &request("mcp__fs", RequestedAct::Other)), Ask);
    assert_eq!(effect(&policy(AllowAll, &["deny sql"]), &request("sql", RequestedAct::Session)), Deny);
}

#[test]
fn call_gets_the_strictest_verdict_of_its_acts() {
    let policy = policy(AcceptEdits, &["deny edit(*.lock)"]);
    let acts = ["/work/app/a.rs", "/work/app/Cargo.lock", "/work/app/b.rs"].map(|path| RequestedAct::Edit(path.into()));
    let request = PermissionRequest { tool: "apply_patch".into(), acts: acts.into() };
    let verdict = check(&policy, &request);
    assert_eq!((verdict.effect, verdict.part.as_str()), (Deny, "Cargo.lock"));
}

#[test]
fn granted_rule_applies_from_then_on() {
    let before = policy(Default, &[]);
    let request = edit("/work/app/src/a.rs");
    let suggested = check(&before, &request).suggested_rule.unwrap();
    assert_eq!(suggested, "edit(src/**)");
    let after = before.with_rule(Rule::parse(Allow, &suggested, RuleSource::Session).unwrap());
    assert_eq!(effect(&after, &request), Allow);
    assert_eq!(effect(&after, &edit("/work/app/tests/a.rs")), Ask);
}

#[test]
fn hosts_are_normalised_like_in_a_browser() {
    let docs =
        policy(Default, &["allow fetch(docs.rs)", "allow fetch(*.rust-lang.org)", "allow fetch(b\u{fc}cher.example)"]);
    for yes in [
        "https://docs.rs/serde",
        "http://DOCS.RS:8080/x",
        "https://docs.rs./",
        "https://user:key@docs.rs/",
        "https://doc.rust-lang.org/std/",
        "https://a.b.RUST-LANG.org",
        "https://xn--bcher-kva.example/",
        "https://B\u{dc}CHER.example/",
        "https:docs.rs",
        "https://docs.rs\\@evil.example/",
    ] {
        assert_eq!(effect(&docs, &fetch(yes)), Allow, "{yes}");
    }
    for asked in [
        "https://docs.rs@evil.example/",
        "https://docs.rs.evil.example/",
        "https://evildocs.rs/",
        "https://rust-lang.org/",
        "https://evilrust-lang.org",
        "https://d\u{43e}cs.rs/",
    ] {
        assert_eq!(effect(&docs, &fetch(asked)), Ask, "{asked}");
    }
    for (denied, mode) in
        [("file:///etc/passwd", AllowAll), ("javascript:1", AllowAll), ("docs.rs", Default), ("http://", Default)]
    {
        assert_eq!(effect(&policy(mode, &["allow fetch"]), &fetch(denied)), Deny, "{denied}");
    }
    let ports = policy(Default, &["allow fetch(docs.rs:443)", "deny fetch(*.evil.example)"]);
    assert_eq!(effect(&ports, &fetch("https://docs.rs/")), Allow);
    assert_eq!(effect(&ports, &fetch("http://docs.rs/")), Ask);
    assert_eq!(effect(&ports, &fetch("https://evil.example/")), Deny);
    assert_eq!(check(&ports, &fetch("http://docs.rs:81/")).suggested_rule.unwrap(), "fetch(docs.rs:81)");
}

#[test]
fn private_addresses_need_a_rule_that_names_them() {
    let addresses = [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://0x7f.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://localhost/",
        "http://LOCALHOST./",
        "http://a.localhost:80/",
        "http://0.0.0.0/",
        "http://10.1.2.3/",
        "http://192.168.0.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "http://intranet/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[64:ff9b::7f00:1]/",
        "http://100.64.0.1/",
        "http://user@127.0.0.1/",
    ];
    for address in addresses {
        for policy in
            [policy(AllowAll, &[]), policy(Default, &["allow fetch", "allow fetch(*)", "allow fetch(0.0.0.0/0)"])]
        {
            let verdict = check(&policy, &fetch(address));
            assert_eq!((verdict.effect, verdict.basis), (Deny, VerdictBasis::Private), "{address}");
            let named = policy.with_rule(rule(&format!("allow {}", verdict.suggested_rule.unwrap())));
            assert_eq!(effect(&named, &fetch(address)), Allow, "{address}");
        }
    }
    let named = policy(
        Default,
        &[
            "allow fetch(localhost:8080)",
            "allow fetch(10.0.0.0/8)",
            "allow fetch([::1]:3000)",
            "ask fetch(10.9.0.0/16)",
        ],
    );
    for (address, expected) in [
        ("http://localhost:8080/x", Allow),
        ("http://localhost/", Deny),
        ("http://10.200.3.4:99/", Allow),
        ("http://10.9.3.4/", Ask),
        ("http://[::1]:3000/", Allow),
        ("http://[::1]/", Deny),
    ] {
        assert_eq!(effect(&named, &fetch(address)), expected, "{address}");
    }
    assert_eq!(effect(&policy(Default, &["ask fetch"]), &fetch("http://localhost/")), Deny, "asking is no weaker");
}

#[test]
fn resolved_address_is_checked_on_connect() {
    let policy = policy(
        Default,
        &["allow fetch(docs.rs)", "allow fetch(localhost:80)", "allow fetch(10.0.0.0/8)", "deny fetch(9.9.9.0/24)"],
    );
    let may = |host: &str, machine: &str| policy.may_connect(host, machine.parse().unwrap());
    assert!(may("docs.rs", "1.1.1.1:443"));
    assert!(!may("docs.rs", "127.0.0.1:443"), "whoever owns a name says where it leads");
    assert!(may("localhost", "127.0.0.1:80") && may("LOCALHOST.", "[::1]:80") && !may("localhost", "127.0.0.1:81"));
    assert!(may("build.example.com", "10.1.1.1:80") && may("x", "[::ffff:10.1.1.1]:80") && !may("x", "192.168.1.1:80"));
    assert!(!may("dns.example", "9.9.9.9:443"));
}

#[test]
fn request_can_be_written_as_text() {
    let parse = |text: &str| PermissionRequest::parse(text, Path::new("/work/app"));
    let change = |path: &str| PermissionRequest {
        tool: "edit".into(),
        acts: vec![RequestedAct::Read(path.into()), RequestedAct::Edit(path.into())],
    };
    for (text, expected) in [
        ("shell(git push)", shell("git push")),
        ("Bash(echo \"(\")", shell("echo \"(\"")),
        ("edit(src/a.rs)", change("/work/app/src/a.rs")),
        ("Write(/etc/x)", change("/etc/x")),
        ("create(a)", request("create", RequestedAct::Edit("/work/app/a".into()))),
        ("read(a)", read("/work/app/a")),
        ("fetch(docs.rs)", fetch("https://docs.rs")),
        ("WebFetch(http://docs.rs/x)", fetch("http://docs.rs/x")),
        ("grep(src)", request("grep", RequestedAct::Read("/work/app/src".into()))),
        ("mcp__x", request("mcp__x", RequestedAct::Other)),
        ("sql", request("sql", RequestedAct::Session)),
    ] {
        assert_eq!(parse(text).unwrap(), expected, "{text}");
    }
    for (text, problem) in [
        ("shell", "`shell` is not a call: it does not say which command"),
        ("edit( )", "`edit` is not a call: it does not say which file"),
        ("fetch", "`web_fetch` is not a call: it does not say which address"),
        ("shell(ls", "the closing parenthesis is missing"),
        ("shel(ls)", "did you mean `shell`?"),
        ("", "it names no tool"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn wildcard_for_a_word_does_not_match_an_option() {
    let policy = policy(Default, &["allow shell(python3 *.py *)"]);
    assert_eq!(effect(&policy, &shell("python3 a.py b.py")), Allow);
    assert_eq!(effect(&policy, &shell("python3 '-cimport os#.py' b.py")), Ask);
}

#[test]
fn reading_is_asked_about_if_wanted() {
    for (mode, expected) in [(Default, Ask), (AcceptEdits, Ask), (Plan, Ask), (AllowAll, Allow)] {
        let policy = Policy { asks_reads: true, ..policy(mode, &[]) };
        let facts = FilesystemFacts { inside: true, no_controls_below: true, ..FilesystemFacts::default() };
        let echo = RequestedAct::Shell { command: "echo a".into(), cwd: "/work/app".into(), facts };
        for request in [read("/work/app/a"), request("shell", echo)] {
            assert_eq!(check(&policy, &request).effect, expected, "{mode:?} {request:?}");
        }
    }
    let allowed = Policy { asks_reads: true, ..policy(Default, &["allow read", "allow shell(echo *)"]) };
    assert_eq!(
        [check(&allowed, &read("/work/app/a")).effect, check(&allowed, &shell("echo a")).effect],
        [Allow, Allow]
    );
    let suggested = check(&Policy { asks_reads: true, ..policy(Default, &[]) }, &read("/work/app/a")).suggested_rule;
    assert!(suggested.is_some_and(|rule| rule.starts_with("read(")));
}
