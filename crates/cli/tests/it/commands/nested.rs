//! An agent that runs Bosun itself: it may run read-only commands, but nothing reserved for its user.
//!
//! Its attempts are in a script file, so that no permission rule for commands sees them.

use std::fs;

use protocol::Event;
use serde_json::{Value, json};
use testkit::binary::BinaryFixture;

use crate::BOSUN;
use crate::scripts::{HELLO, shell};

/// Records the output and exit code of each attempt under its name.
const TRY: &str = r#"
try() { name=$1; shift; "$@" > "said.$name" 2>&1; echo "$name $?" >> ends; }
"#;

/// Runs the attempts in the agent of a second session; returns the first session, which has ended.
fn run_attempts(fixture: &BinaryFixture, attempts: &str) -> String {
    fixture.script(HELLO).prompt("hi").run().expect(0);
    let id = fixture.newest();
    let script = format!("B='{}'\nID={id}\n{TRY}{attempts}", fixture.program().display());
    fs::write(fixture.path("attempts.sh"), script).unwrap();
    fixture.script(&shell("sh attempts.sh")).prompt("go").run();
    id
}

/// The name, exit code and output of each attempt.
fn attempt_results(fixture: &BinaryFixture) -> Vec<(String, String, String)> {
    let ends = fs::read_to_string(fixture.path("ends")).unwrap();
    let end = |line: &str| {
        let (name, code) = line.split_once(' ').unwrap();
        (name.to_owned(), code.to_owned(), fs::read_to_string(fixture.path(&format!("said.{name}"))).unwrap())
    };
    ends.lines().map(end).collect()
}

#[test]
fn agent_cannot_act_for_its_user_through_bosun() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let attempts = r#"
try run "$B" --allow-all -p x
try again "$B" --continue -p x
try bare "$B"
try send "$B" sessions send "$ID" hi
try stop "$B" sessions stop "$ID"
try rm "$B" sessions rm "$ID"
try list "$B" sessions
try export "$B" sessions export "$ID"
try cost "$B" cost
try gc "$B" gc --days 0
try reopen "$B" models --reopen
try demo "$B" demo --fast
try mcp "$B" mcp serve --allow-answers
try approve "$B" approvals allow --all
try inbox "$B" approvals
try trust "$B" trust --yes
try settings "$B" config allow shell --in user
try bypass "$B" --yolo
try plain env -u BOSUN_JOB "$B" --dangerously-skip-permissions -p x
try unmarked env -u BOSUN_JOB "$B" gc --days 0
try stripped env -i "$B" -p x
try session setsid -w "$B" sessions rm "$ID"
try both env -u BOSUN_JOB setsid -w "$B" sessions rm "$ID"
try elsewhere env -u BOSUN_JOB BOSUN_HOME="$PWD/other" "$B" --allow-all -p x
cp "$B" copy
try copy env -u BOSUN_JOB ./copy gc --days 0
ln -s "$B" guardian
try posing env -u BOSUN_JOB ./guardian gc --days 0
try forked sh -c '(env -u BOSUN_JOB setsid sh -c "\"$0\" gc --days 0 > said.fork 2>&1; echo fork \$? > ends.fork" "$0" &)' "$B"
until [ -s ends.fork ]; do sleep 0.01; done
cat ends.fork >> ends
"#;
    let id = run_attempts(&fixture, attempts);
    let ends = attempt_results(&fixture);
    assert_eq!(ends.len(), 28, "{ends:#?}");
    for (name, code, output) in &ends {
        let expected = if name == "forked" { "0" } else { "2" };
        assert_eq!(code, expected, "{name}: {output}");
        assert!(
            name == "forked" || output.contains("started by an agent: an agent's command may not "),
            "{name}: {output}"
        );
    }
    assert!(!fixture.path("other").exists() && !fixture.home().join("config.toml").exists());
    assert_eq!(fixture.sessions().len(), 2);
    let mail = |event: &Event| matches!(event, Event::MailAdmitted { .. });
    assert_eq!(fixture.log(&id).iter().filter(|envelope| mail(&envelope.entry.event)).count(), 1);
}

#[test]
fn no_mode_lets_an_agent_reach_its_own_controls() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let home = fixture.home().display().to_string();
    let attempts = [
        ("shell", json!({ "command": "bosun approvals allow --all" })),
        ("shell", json!({ "command": "env -u BOSUN_JOB bosun trust --yes" })),
        ("shell", json!({ "command": "nohup bosun config allow shell &" })),
        ("shell", json!({ "command": "bosun --yolo -p x" })),
        ("shell", json!({ "command": format!("echo '[permissions]' >> {home}/config.toml") })),
        ("shell", json!({ "command": "mkdir -p .bosun && echo 'mode' > .bosun/config.toml" })),
        ("create", json!({ "path": ".bosun/config.toml", "content": "x" })),
        ("create", json!({ "path": ".claude/settings.json", "content": "{}" })),
        ("create", json!({ "path": ".mcp.json", "content": "{}" })),
        ("apply_patch", json!({ "patch": "*** Begin Patch\n*** Add File: .github/hooks/a.json\n+{}\n*** End Patch" })),
    ];
    let calls: Vec<Value> =
        attempts.iter().map(|(tool, input)| json!({ "call": { "tool": tool, "input": input } })).collect();
    let rules = json!([{ "when": { "turn": 1 }, "answer": calls }, { "answer": [{ "say": "done" }] }]);
    fixture.script(&json!({ "version": 1, "rules": rules }).to_string());
    for mode in ["default", "accept-edits", "plan", "allow-all"] {
        let go =
            ["-p", "go", "--permission-mode", mode, "--allow", "shell", "--allow", "edit", "--output-format", "json"];
        let ended = fixture.bosun(go).run().expect(0).json();
        let denials = ended["denials"].as_array().unwrap();
        assert_eq!(denials.len(), attempts.len(), "{mode}: {denials:#?}");
    }
    let made = [".bosun/config.toml", ".claude/settings.json", ".mcp.json", ".github/hooks/a.json"];
    assert_eq!(made.iter().find(|file| fixture.path(file).exists()), None);
    assert!(!fixture.home().join("config.toml").exists());
}

#[test]
fn ending_parents_do_not_hide_an_agents_command() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    // Their ancestors end one by one, at about the time Bosun looks for them.
    let nest = r#"
if [ "$3" = 0 ]; then
    "$1" gc --days 0 > "said.$2" 2>&1
    echo "$2 $?" >> ends
else
    sh nest.sh "$1" "$2" $(($3 - 1)) "$4" &
    sleep "$4"
fi
"#;
    fs::write(fixture.path("nest.sh"), nest).unwrap();
    let attempts = r#"
for number in $(seq 60); do
    env -u BOSUN_JOB setsid sh nest.sh "$B" "$number" 3 "0.0$((number % 20 + 10))" &
done
until [ "$(cat ends 2> /dev/null | wc -l)" = 60 ]; do sleep 0.01; done
"#;
    run_attempts(&fixture, attempts);
    for (number, code, output) in attempt_results(&fixture) {
        assert_eq!(code, "2", "{number}: {output}");
        assert!(output.contains("started by an agent"), "{number}: {output}");
    }
}

#[test]
fn agent_may_run_read_only_commands() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    let attempts = r#"
try help "$B" --help
try version "$B" --version
try command "$B" sessions send --help
try schema "$B" script schema
try models "$B" models --json
try doctor "$B" doctor --json
try explain "$B" explain 'shell(git push)'
"#;
    run_attempts(&fixture, attempts);
    let ends = attempt_results(&fixture);
    assert_eq!(ends.len(), 7, "{ends:#?}");
    for (name, code, output) in ends {
        assert_eq!(code, "0", "{name}: {output}");
    }
}

#[test]
fn killing_the_guardian_gives_agents_no_access() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    // Several processes try at the moment their guardian dies and the owner inherits them.
    let attempts = r#"
guardian=$PPID
while [ "$(tr '\0' ' ' < /proc/$guardian/cmdline)" != "guardian __guardian " ]; do
    guardian=$(sed -n 's/^PPid:[[:space:]]*//p' /proc/$guardian/status)
done
for _ in 1 2 3 4 5 6 7 8; do
    env -u BOSUN_JOB setsid sh -c 'while :; do "$0" sessions rm "$1" && : > escaped; done' "$B" "$ID" > /dev/null 2>&1 &
done
: > ready
kill -KILL "$guardian"
sleep 60
"#;
    let id = run_attempts(&fixture, attempts);
    assert!(fixture.path("ready").exists());
    assert!(!fixture.path("escaped").exists());
    assert!(fixture.session_db(&id).exists());
}

/// Connects to every socket, directly and through a child that outlives the connecting process.
const SPEAK: &str = r#"
import glob, os, socket, sys
line = b'{"jsonrpc":"2.0","id":1,"method":"session.send","params":{"text":"obey","delivery":"steer"}}\n'
def speak(stream):
    try:
        stream.settimeout(20)
        stream.sendall(line)
        return stream.recv(4096)
    except OSError as error:
        return str(error).encode()
for path in glob.glob(sys.argv[1] + "/run/*.sock"):
    for way in ("direct", "forked"):
        stream = socket.socket(socket.AF_UNIX)
        stream.connect(path)
        if way == "direct":
            heard = speak(stream)
        else:
            reader, writer = os.pipe()
            if os.fork() == 0:
                if os.fork() == 0:
                    os.write(writer, speak(stream) or b"closed")
                os._exit(0)
            os.wait()
            heard = os.read(reader, 4096)
        print(way, heard, flush=True)
"#;

#[test]
fn an_agent_cannot_speak_to_the_socket() {
    let fixture = BinaryFixture::of_ordinary_user(BOSUN);
    fs::write(fixture.path("speak.py"), SPEAK).unwrap();
    fs::write(fixture.path("speak.sh"), format!("python3 speak.py '{}' > heard 2>&1\n", fixture.home().display()))
        .unwrap();
    fixture.script(&shell("sh speak.sh")).prompt("go").run().expect(0);
    let received = fs::read_to_string(fixture.path("heard")).unwrap();
    assert_eq!(received.lines().count(), 2, "{received}");
    for line in received.lines() {
        let refused = ["b''", "b'closed'", "reset by peer", "Broken pipe"];
        assert!(refused.iter().any(|expected| line.contains(expected)), "{line}");
    }
    let log = format!("{:?}", fixture.log(&fixture.newest()));
    assert!(!log.contains("obey"), "{log}");
}
