//! Explanations, suggestions, and properties of all policies and calls.

use bosun_policy::{AgentRole, Explanation, PermissionRequest, Policy, Rule, RuleSource, Verdict, VerdictBasis};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use protocol::PermissionMode::{self, AllowAll, Default, Plan};
use protocol::RuleEffect::{self, Allow, Ask, Deny};

use crate::corpus;
use crate::sample::{check, edit, effect, fetch, policy, read, request, rule, shell};

fn explain(policy: &Policy, request: &PermissionRequest) -> Explanation {
    policy.explain(&AgentRole::default(), request)
}

#[test]
fn every_part_has_its_own_verdict() {
    let policy = policy(Default, &["allow shell(git status)", "deny shell(rm)"]);
    let explanation = explain(&policy, &shell("git status | sort && rm x > out"));
    let parts: Vec<(&str, RuleEffect)> =
        explanation.parts.iter().map(|verdict| (verdict.part.as_str(), verdict.effect)).collect();
    assert_eq!(parts, [("git status", Allow), ("sort", Ask), ("rm x", Deny), ("> out", Ask)]);
    assert_eq!(explanation.verdict, explanation.parts[2]);
    assert_eq!(explanation.verdict.reason(), "`rm x`: deny shell(rm) (the command line)");
}

#[test]
fn explanation_says_what_would_change_the_verdict() {
    for (mode, rules, request, expected) in [
        (Default, &[][..], shell("git push origin"), "--allow 'shell(git push *)'"),
        (Default, &[], shell("echo \"$x\""), "a simpler command"),
        (Default, &[], fetch("http://localhost:81"), "--allow 'fetch(localhost:81)'"),
        (Default, &["deny shell(git)"], shell("git push"), "remove `shell(git)` from the command line"),
        (Default, &["allow shell(git *)"], shell("git push"), "a deny or ask rule that matches it overrides"),
        (AllowAll, &["deny shell(git push)"], shell("git $x"), "so that `shell(git push)` clearly does not match"),
        (AllowAll, &[], shell("ls"), "a deny or ask rule that matches it"),
        (AllowAll, &[], shell("cat .bosun/config.toml"), "nothing: no rule and no mode"),
        (AllowAll, &[], edit("/work/app/.git/config"), "built in"),
        (Plan, &[], edit("/work/app/a"), "--permission-mode default"),
    ] {
        let remedy = check(&policy(mode, rules), &request).remedy();
        assert!(remedy.contains(expected), "{request:?}: {remedy}");
    }
}

#[test]
fn suggestions_are_narrow() {
    for (command, expected) in [
        ("git push origin main", Some("shell(git push *)")),
        ("/usr/bin/git push", Some("shell(git push *)")),
        ("git -C sub push", Some("shell(git -C sub push)")),
        ("git -c core.pager=cat log", Some("shell(git -c core.pager=cat log)")),
        ("cargo test -p x", Some("shell(cargo test *)")),
        ("npm run build -- -w", Some("shell(npm run build *)")),
        ("npm install", Some("shell(npm install *)")),
        ("gh pr view 3", Some("shell(gh pr view *)")),
        ("ls -la", Some("shell(ls *)")),
        ("ls src/*.rs", Some("shell(ls *)")),
        ("./run.sh a", Some("shell(./run.sh *)")),
        ("'my tool' a", Some("shell('my tool' *)")),
        ("python3 a.py b", Some("shell(python3 a.py *)")),
        ("python3 -m pytest -q", Some("shell(python3 -m pytest *)")),
        ("python3.12 -m pytest -p no:x", Some("shell(python3.12 -m pytest *)")),
        ("python3 -u a.py", Some("shell(python3 -u a.py)")),
        ("FOO=1 make all", Some("shell(FOO=1 make all)")),
        ("timeout 5 cargo test", Some("shell(cargo test *)")),
        ("make", Some("shell(make)")),
        ("sed -i s/a/b/ x.txt", Some("shell(sed -i s/a/b/ x.txt)")),
        ("echo \"$x\"", None),
        ("python3 -c 'print(1)'", None),
        ("node -e 1", None),
        ("sudo ls", None),
        ("rm a", None),
        ("bash", None),
        ("eval ls", None),
        ("ls | xargs mv", Some("shell(ls *)")),
        ("bosun gc", None),
        ("python3 <<< 'print(1)'", None),
        ("ls; sed -i s/a/b/ x.txt", Some("shell(ls *)")),
    ] {
        assert_eq!(check(&policy(Default, &[]), &shell(command)).suggested_rule.as_deref(), expected, "{command}");
    }
    let first = check(&policy(Default, &["allow shell(ls *)"]), &shell("ls | sort | wc"));
    assert_eq!(first.suggested_rule.as_deref(), Some("shell(sort *)"));
}

#[test]
fn explanations_and_verdicts_agree_over_the_corpus() {
    for mode in PermissionMode::ALL {
        let policy = Policy { mode, ..corpus::usual() };
        for (command, _) in corpus::all() {
            agree(&policy, &shell(command));
        }
    }
}

#[test]
fn suggestion_for_any_part_of_the_corpus_allows_it() {
    for mode in [Default, PermissionMode::AcceptEdits] {
        for (command, _) in corpus::all() {
            suggestion_allows(&policy(mode, &[]), &shell(command));
            suggestion_allows(&Policy { mode, ..corpus::usual() }, &shell(command));
        }
    }
}

fn agree(policy: &Policy, request: &PermissionRequest) {
    let Explanation { verdict, parts } = explain(policy, request);
    assert_eq!(check(policy, request), verdict, "{request:?}");
    assert_eq!(parts.iter().map(|part| part.effect).max(), Some(verdict.effect), "{request:?}");
    let first = Verdict { others: Vec::new(), ..verdict.clone() };
    assert!(parts.contains(&first), "{request:?}");
    let others = parts.iter().filter(|part| part.effect == verdict.effect).all(|part| {
        let same = |one: &Verdict| (&one.part, &one.basis) == (&part.part, &part.basis);
        same(&first) || verdict.others.iter().any(same)
    });
    assert!(others, "{request:?}");
    assert!(!verdict.reason().is_empty() && !verdict.remedy().is_empty());
    if let VerdictBasis::Rule(rule) = &verdict.basis {
        assert_eq!(rule.effect, verdict.effect, "{request:?}");
        assert!(policy.rules.contains(rule) || rule.source == RuleSource::BuiltIn, "{request:?}");
    }
}

/// Adds the suggested rule and judges the same part again.
fn suggestion_allows(policy: &Policy, request: &PermissionRequest) {
    let before = explain(policy, request);
    for (at, part) in before.parts.iter().enumerate() {
        let Some(text) = &part.suggested_rule else { continue };
        let rule = Rule::parse(Allow, text, RuleSource::Session).unwrap();
        let after = explain(&policy.clone().with_rule(rule), request);
        assert_eq!(after.parts[at].effect, Allow, "{text} for {request:?}");
    }
}

const WORDS: [&str; 24] = [
    "git",
    "push",
    "status",
    "-C",
    "-c",
    "x=y",
    "rm",
    "-rf",
    "src",
    "*.rs",
    "$x",
    "\"$y\"",
    "'a b'",
    "curl",
    "--",
    "bosun",
    ".bosun/x",
    "sudo",
    "env",
    "xargs",
    "A=b",
    "/usr/bin/git",
    "./git",
    "--force",
];
const JOINTS: [&str; 10] = [" ", " ", " ", " | ", " && ", "; ", " > ", " < ", "\n", " $("];
const PATHS: [&str; 10] = [
    "/work/app/src/a.rs",
    "/work/app/SRC/b.rs",
    "/work/app/.git/config",
    "/work/app/.bosun/config.toml",
    "/work/app/README.md",
    "/work/app/a*b/(c)",
    "/etc/passwd",
    "/home/ann/notes/x",
    "/",
    "/work/app",
];
const ADDRESSES: [&str; 8] = [
    "https://docs.rs/serde",
    "http://docs.rs:8080/",
    "http://localhost:3000",
    "http://127.1/",
    "http://10.0.0.7/",
    "https://a.b.example.org",
    "ftp://x",
    "https://docs.rs@evil.example/",
];
const PATTERNS: [&str; 36] = [
    "shell",
    "shell(*)",
    "shell(git *)",
    "shell(git push)",
    "shell(git push *)",
    "shell(git push:*)",
    "shell(* push)",
    "shell(rm)",
    "shell(rm -rf *)",
    "shell(sudo *)",
    "shell(curl)",
    "shell(g?t *)",
    "shell(git -c x=y status)",
    "shell(env *)",
    "shell(xargs)",
    "shell(./git *)",
    "read",
    "read(src/**)",
    "read(/etc/**)",
    "read(~/notes/**)",
    "edit",
    "edit(src/**)",
    "edit(*.md)",
    "edit(/**)",
    "edit(README.md)",
    "edit(./src)",
    "fetch",
    "fetch(*)",
    "fetch(docs.rs)",
    "fetch(*.example.org)",
    "fetch(localhost)",
    "fetch(10.0.0.0/8)",
    "fetch(docs.rs:8080)",
    "view",
    "mcp__x",
    "sql",
];

fn commands() -> impl Strategy<Value = String> {
    prop::collection::vec((select(&WORDS[..]), select(&JOINTS[..])), 1..9).prop_map(|parts| {
        let mut text: String = parts.iter().flat_map(|(word, joint)| [*word, *joint]).collect();
        let open = text.matches("$(").count();
        text.push_str(&")".repeat(open));
        text
    })
}

fn requests() -> impl Strategy<Value = PermissionRequest> {
    prop_oneof![
        6 => commands().prop_map(|command| shell(&command)),
        2 => select(&PATHS[..]).prop_map(edit),
        1 => select(&PATHS[..]).prop_map(read),
        1 => select(&ADDRESSES[..]).prop_map(fetch),
        1 => Just(request("mcp__x", bosun_policy::RequestedAct::Other)),
    ]
}

fn rules(effects: &'static [RuleEffect]) -> impl Strategy<Value = Rule> {
    let source = prop_oneof![
        Just(RuleSource::Flag),
        Just(RuleSource::Session),
        Just(RuleSource::Managed("/etc/m".into())),
        Just(RuleSource::User("/u".into()))
    ];
    (select(effects), select(&PATTERNS[..]), source)
        .prop_map(|(effect, text, source)| Rule::parse(effect, text, source).unwrap())
}

fn policies() -> impl Strategy<Value = Policy> {
    (select(PermissionMode::ALL.to_vec()), prop::collection::vec(rules(&[Allow, Ask, Deny]), 0..8))
        .prop_map(|(mode, rules)| Policy { rules, ..policy(mode, &[]) })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn explanations_and_verdicts_agree(policy in policies(), request in requests()) {
        agree(&policy, &request);
    }

    #[test]
    fn suggestion_allows_its_command(policy in policies(), request in requests()) {
        suggestion_allows(&policy, &request);
    }

    #[test]
    fn adding_deny_or_ask_never_loosens_a_verdict(policy in policies(), more in rules(&[Ask, Deny]), request in requests()) {
        let before = effect(&policy, &request);
        prop_assert!(effect(&policy.with_rule(more), &request) >= before);
    }

    #[test]
    fn adding_allow_never_tightens_a_verdict(policy in policies(), more in rules(&[Allow]), request in requests()) {
        let before = effect(&policy, &request);
        prop_assert!(effect(&policy.with_rule(more), &request) <= before);
    }

    #[test]
    fn the_order_of_rules_and_sources_does_not_matter(policy in policies(), request in requests(), at in any::<Index>()) {
        let before = effect(&policy, &request);
        let mut turned = policy.clone();
        if !turned.rules.is_empty() {
            let by = at.index(turned.rules.len());
            turned.rules.rotate_left(by);
            turned.rules.reverse();
        }
        prop_assert_eq!(effect(&turned, &request), before);
        for rule in &mut turned.rules {
            rule.source = if rule.source == RuleSource::Flag { RuleSource::User("/u".into()) } else { RuleSource::Flag };
        }
        prop_assert_eq!(effect(&turned, &request), before);
    }

    #[test]
    fn allow_all_does_not_override_deny_and_ask_rules(policy in policies(), request in requests()) {
        let plain = Policy { mode: Default, ..policy.clone() };
        let all = Policy { mode: AllowAll, ..policy };
        let verdict = check(&plain, &request);
        let by_rule = matches!(verdict.basis, VerdictBasis::Rule(_) | VerdictBasis::Possible(_) | VerdictBasis::Controls | VerdictBasis::Private);
        let expected = if verdict.effect == Allow || !by_rule { Allow } else { verdict.effect };
        prop_assert!(effect(&all, &request) >= expected);
    }
}

proptest! {
    // Generating arbitrary texts is slow.
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_does_not_panic(text in "\\PC{0,200}", rule in "\\PC{0,60}", mode in select(PermissionMode::ALL.to_vec())) {
        let base = policy(mode, &["deny shell(git push)", "allow edit(src/**)", "ask fetch(*.example)"]);
        let with = [Allow, Deny].into_iter().filter_map(|effect| Rule::parse(effect, &rule, RuleSource::Flag).ok());
        let policy = with.fold(base, Policy::with_rule);
        for request in [shell(&text), edit(format!("/{text}")), fetch(&text), fetch(&format!("http://{text}/"))] {
            agree(&policy, &request);
        }
    }
}

#[test]
fn rule_granted_for_one_command_matches_no_other() {
    let granted = policy(Default, &[]).with_rule(rule("allow shell(git -c x=y status)"));
    assert_eq!(effect(&granted, &shell("git -c x=y status")), Allow);
    for other in [
        "cd sub; git -c x=y status",
        "git -c x=y status <<< a",
        "git -c x=z status",
        "git -c x=y status -s",
        "git -c x=y status; ls",
        "git -c 'x=y ' status",
    ] {
        assert_eq!(effect(&granted, &shell(other)), Ask, "{other}");
    }
    let fed = policy(Default, &["allow shell(python3)", "allow shell(./run)", "allow shell(cd *)", "allow shell(ls)"]);
    for (command, expected) in
        [("./run", Allow), ("cd x; ./run", Ask), ("python3", Allow), ("python3 <<< evil", Ask), ("ls | python3", Ask)]
    {
        assert_eq!(effect(&fed, &shell(command)), expected, "{command}");
    }
}
