//! Line mode, at a terminal of 80 columns and 24 rows unless a test says otherwise.

use std::fs;

use protocol::{AskDecision, AskId, Event};
use testkit::binary::{BinaryFixture, Tmux};
use testkit::server::ModelServer;

use crate::fixture;

const MODEL: &str = r##"
version: 1
rules:
  - when: { prompt: ^still }
    answer: [say: I am.]
  - when: { answered: { tool: shell, status: denied, matches: "says: (.*)" } }
    answer: [say: "You said ${1}."]
  - when: { answered: { tool: shell, status: denied } }
    answer: [say: I may not.]
  - when: { answered: { tool: shell, matches: background } }
    answer: [say: It runs.]
  - when: { answered: { tool: shell } }
    answer: [say: "It printed ${answer}"]
  - when: { answered: { tool: create } }
    answer: [say: The file is there.]
  - when: { prompt: ^run }
    answer:
      - say: I run it.
      - call: { tool: shell, input: { command: "echo $((40 + 2))" } }
  - when: { prompt: ^print (\d+) }
    answer:
      - call: { tool: shell, input: { command: "echo ${1} | awk 1" } }
  - when: { prompt: ^twice }
    answer:
      - call: { tool: shell, input: { command: "echo first | awk 1" } }
      - call: { tool: shell, input: { command: "echo second | awk 1" } }
  - when: { prompt: ^create }
    answer:
      - call: { tool: create, input: { path: a.txt, content: "one\ntwo\n" } }
  - when: { prompt: ^wait }
    answer:
      - call: { tool: shell, input: { command: "sleep 1000", background: true } }
  - when: { prompt: ^hang }
    answer:
      - say: Let me think
      - hang: true
  - when: { prompt: ^slow }
    answer:
      - say: "It takes\n"
      - wait: 1s
      - say: a while.
  - when: { prompt: ^much }
    answer:
      - say: "${repeat:All work and no play. :50000}"
      - say: "\nThe end of much."
  - when: { prompt: ^page }
    answer:
      - say: "# Title\n\nSome **bold** words and `code` that go on for quite a while, so that they are wrapped.\n\n- one\n- two\n\n```rust\nfn main() {}\n```\n漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 👍 end of page"
  - answer: [say: "You wrote: <${prompt}>"]
"##;

fn start_chat(fixture: &BinaryFixture) -> Tmux {
    fixture.script(MODEL);
    let tmux = Tmux::start(&fixture.bosun::<&str>([]), 80, 24);
    tmux.shows("/help shows what you can type");
    tmux
}

/// Waits until the screen ends with an empty input line.
pub(crate) fn await_prompt(tmux: &Tmux) {
    tmux.until("a prompt", |screen| screen.trim_end().lines().next_back() == Some(">"));
}

fn decisions(fixture: &BinaryFixture) -> Vec<AskDecision> {
    let decided = |event| match event {
        Event::AskDecided { decision, .. } => Some(decision),
        _other => None,
    };
    fixture.log(&fixture.newest()).into_iter().filter_map(|envelope| decided(envelope.entry.event)).collect()
}

fn turns(fixture: &BinaryFixture) -> usize {
    let begun = |event: &Event| matches!(event, Event::TurnBegun { .. });
    fixture.log(&fixture.newest()).iter().filter(|envelope| begun(&envelope.entry.event)).count()
}

#[test]
fn message_is_answered_and_the_end_says_how_to_resume() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.shows("mode   default").says("hello there").shows("You wrote: <hello there>");
    await_prompt(&tmux);
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    tmux.shows(&format!("resume with: bosun --resume {}", fixture.newest()));
}

#[test]
fn markdown_is_rendered_within_the_width() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("page").shows("end of page");
    let screen = tmux.screen();
    for row in ["# Title", "Some bold words and code that go on", "• one", "    fn main() {}", "漢字漢字"] {
        assert!(screen.lines().any(|line| line.starts_with(row)), "{row} is not in\n{screen}");
    }
    tmux.resize(40, 24);
    tmux.says("page").shows("• two");
    await_prompt(&tmux);
    tmux.says("and now").shows("You wrote: <and now>");
}

#[test]
fn call_runs_after_permission() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("run it").shows("[y] once").shows("$ echo $((40 + 2))").shows("allow?");
    tmux.says("perhaps").shows("type y, n, s or ?");
    tmux.says("?").shows("y allows this one call");
    tmux.says("y").shows("It printed 42").shows("• shell echo $((40 + 2)) · ok");
    tmux.press("C-o").shows("answer: done");
    tmux.says("create it").shows("+ one").says("y").shows("The file is there.").shows("• create a.txt · +2 −0");
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "one\ntwo\n");
    tmux.says("/exit");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(
        decisions(&fixture),
        [AskDecision::Allow { rules: Vec::new(), input: None }, AskDecision::Allow { rules: Vec::new(), input: None }]
    );
}

#[test]
fn denied_call_does_not_run() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("run it").shows("[y] once").says("n").shows("I may not.").shows("not permitted");
    tmux.says("run it").shows("[y] once").says("s").shows("why not?").says("use make").shows("You said use make");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    let deny = |message: &str| AskDecision::Deny { message: message.into() };
    assert_eq!(decisions(&fixture), [deny(""), deny("use make")]);
}

#[test]
fn always_allowed_call_is_not_asked_again() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("print 1").shows("[a] always").says("a").shows("is allowed from now on").shows("It printed 1");
    tmux.says("print 2").shows("It printed 2");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(decisions(&fixture), [AskDecision::Allow { rules: vec!["shell(awk *)".into()], input: None }]);
    let tmux = start_chat(&fixture);
    tmux.says("print 3").shows("It printed 3");
}

#[test]
fn asks_are_queued_and_the_draft_is_restored() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("twice").shows("allow (1 of 2)?").shows("$ echo first");
    tmux.says("y").shows("$ echo second").shows("allow?");
    tmux.says("/approvals").shows("shell echo second");
    tmux.says("n").shows("not permitted");
    await_prompt(&tmux);
}

/// The asks of a session, oldest first.
fn asks(fixture: &BinaryFixture, id: &str) -> Vec<AskId> {
    let asked = |event| match event {
        Event::AskOpened(ask) => Some(ask.id),
        _other => None,
    };
    fixture.log(id).into_iter().filter_map(|envelope| asked(envelope.entry.event)).collect()
}

#[test]
fn ask_decided_in_another_terminal_disappears() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("twice").shows("allow (1 of 2)?").types("half");
    let id = fixture.newest();
    let first = asks(&fixture, &id).remove(0);
    fixture.bosun(["approvals", "allow", first.short()]).run().expect(0);
    tmux.shows("allowed elsewhere: shell echo first").shows("$ echo second").shows("allow?");
    tmux.says("y").shows("not accepted").says("n").shows("not permitted");
    await_prompt(&tmux);
}

#[test]
fn open_ask_is_shown_after_a_restart() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("run it").shows("[y] once").signal("TERM");
    assert_eq!(tmux.ends(), 5);
    let tmux = Tmux::start(&fixture.bosun(["--continue"]), 80, 24);
    tmux.shows("> run it")
        .shows("$ echo $((40 + 2))")
        .shows("[y] once")
        .says("y")
        .shows("• shell echo")
        .shows("It printed 42");
}

#[test]
fn interrupt_stops_the_turn_and_the_conversation_continues() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("hang").shows("Let me think").types("typed ahead").press("C-c").shows("stopped; what was done is kept");
    tmux.shows("> typed ahead").press("Enter").shows("You wrote: <typed ahead>");
    tmux.says("run it").shows("[y] once").press("C-c").shows("echo $((40 + 2)) · stopped");
    tmux.says("still there?").shows("I am.");
    tmux.types("half a line").press("C-c").until("no line", |screen| !screen.contains("half a line"));
    tmux.press("C-c");
    assert_eq!(tmux.ends(), 0);
}

#[test]
fn message_sent_during_a_turn_is_read_after_it() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("slow").shows("It takes").says("still there?").shows("the agent reads this before its next step");
    tmux.shows("a while.").shows("I am.");
}

#[test]
fn two_interrupts_end_the_session() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("hang").shows("Let me think").press("C-c").press("C-c");
    assert_eq!(tmux.ends(), 5);
    tmux.shows("resume with: bosun --resume");
}

#[test]
fn lines_continue_and_a_paste_is_not_sent() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("one\\").types("two").press("M-Enter").types("three").press("C-j").says("four").shows("<one");
    tmux.shows("four>").pastes("first\nsecond\n").shows("  second");
    assert!(!tmux.screen().contains("<first"));
    tmux.says("third").shows("<first").shows("third>");
}

#[test]
fn ten_thousand_pasted_lines_are_one_message() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.pastes(&"a line of a long text\n".repeat(10_000)).shows("more rows above").says("last").shows("in total");
    tmux.shows("last>").says("hello").shows("<hello>");
}

#[test]
fn a_megabyte_streams_by() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("much").shows("The end of much.").says("hello").shows("<hello>");
}

#[test]
fn commands_are_not_for_the_model() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("hello").shows("<hello>");
    tmux.says("/modle")
        .shows("did you mean /model or /mode?")
        .says("/cost")
        .shows("turns: 1")
        .says("/help")
        .shows("/resume [ID]");
    tmux.says("/mode").shows("the mode is default").types("/app").press("Tab").press("Enter").shows("nothing waits");
    tmux.says("/etc/hosts is a path").shows("</etc/hosts is a path>").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(turns(&fixture), 2);
}

#[test]
fn commands_of_files_are_called_by_name() {
    let fixture = fixture();
    fixture.script(MODEL).bosun(["-p", "/help"]).run().expect(0);
    fs::create_dir(fixture.home().join("commands")).unwrap();
    fs::write(fixture.home().join("commands/ship.md"), "---\nargument-hint: WHAT\n---\nShip $1 with care.").unwrap();
    let tmux = start_chat(&fixture);
    tmux.says("/ship it").shows("<Ship it with care.>");
    await_prompt(&tmux);
    tmux.types("/sh").press("Tab").shows("/ship").press("C-u").says("/help").shows("/ship WHAT");
    tmux.says("/todos")
        .shows("there are no todos")
        .says("/keys")
        .shows("stops the turn, or clears the line")
        .shows("puts back what was removed last");
    tmux.says("/every 5m x").shows("/every is not in this version");
    tmux.says("/context").shows("the next request has about").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(turns(&fixture), 1);
    let continued = Tmux::start(&fixture.bosun(["--continue"]), 80, 24);
    continued.shows("<Ship it with care.>");
    await_prompt(&continued);
    assert!(continued.history().contains("> /ship it"), "{}", continued.history());
    continued.press("C-d");
    assert_eq!(continued.ends(), 0);
}

#[test]
fn model_and_mode_change_within_the_session() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    fs::write(fixture.path("other.yaml"), "version: 1\nrules: [{ answer: [say: I am another.] }]").unwrap();
    tmux.says("hello").shows("<hello>");
    await_prompt(&tmux);
    tmux.says("/model nobody/nothing").shows("! ").says("/model script/other.yaml");
    tmux.shows("other.yaml").says("who are you?").shows("I am another.");
    await_prompt(&tmux);
    tmux.says("/mode plan").shows("mode   plan").says("/mode").shows("the mode is plan").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(fixture.sessions().len(), 1);
}

#[test]
fn other_sessions_are_listed_and_resumed() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("the first one").shows("<the first one>");
    let first = fixture.newest();
    tmux.says("/new").until("a new one", |screen| screen.matches("/help shows").count() == 2);
    tmux.says("/resume").shows("resume one: /resume").says("the second one").shows("<the second one>");
    tmux.says(&format!("/resume {first}")).until("the last exchange", |screen| {
        screen.rsplit("resume with: ").next().is_some_and(|last| last.contains("<the first one>"))
    });
    tmux.says("again").shows("<again>");
    await_prompt(&tmux);
    // As in a shell.
    tmux.says("exit");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(fixture.sessions().len(), 2);
}

#[test]
fn resumed_conversation_shows_the_last_exchange() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says(" not kept").shows("<not kept>").says("remember me").shows("<remember me>").press("C-d");
    assert_eq!(tmux.ends(), 0);
    let tmux = Tmux::start(&fixture.bosun(["--continue"]), 80, 24);
    tmux.shows("resumed: a session of 2 turns, started ").shows("> remember me").shows("You wrote: <remember me>");
    await_prompt(&tmux);
    tmux.press("Up")
        .press("Up")
        .shows("\n> remember me")
        .press("Enter")
        .until("it again", |screen| screen.matches("<remember me>").count() == 2);
}

#[test]
fn session_without_messages_is_removed() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert!(fixture.sessions().is_empty());
}

#[test]
fn termination_restores_the_terminal_and_keeps_the_session() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("hang").shows("Let me think");
    tmux.signal("TERM");
    assert_eq!(tmux.ends(), 5);
    tmux.shows("resume with: bosun --resume");
}

#[test]
fn colour_is_disabled_by_no_color() {
    let fixture = fixture();
    fixture.script(MODEL);
    let shown = |invocation| {
        let tmux = Tmux::start(&invocation, 80, 24);
        tmux.shows("/help shows").says("page").shows("end of page").says("run it").shows("allow?").says("n");
        tmux.shows("not permitted");
        tmux.colours()
    };
    let with = shown(fixture.bosun::<&str>([]));
    assert!(with.contains("\u{1b}[1m") && with.contains("\u{1b}["));
    let without = shown(fixture.bosun::<&str>([]).env("NO_COLOR", "1"));
    assert!(!without.contains("\u{1b}["), "{without}");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let fixture = fixture();
    fixture.script(MODEL);
    let tmux = Tmux::start(&fixture.bosun::<&str>([]).env("TERM", "dumb"), 80, 24);
    tmux.shows("/help shows").says("hello").shows("<hello>").says("run it").shows("[y] once").shows("allow?").says("y");
    tmux.shows("It printed 42").says("hang").shows("hang").press("C-c").shows("stopped; what");
    await_prompt(&tmux);
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
}

#[test]
fn forty_columns_are_enough() {
    let fixture = fixture();
    fixture.script(MODEL);
    let tmux = Tmux::start(&fixture.bosun::<&str>([]), 40, 12);
    tmux.shows("/help shows").says("page").shows("end of page").says("run it").shows("allow?").says("y");
    tmux.shows("It printed 42");
}

#[test]
fn background_work_is_shown_and_messages_reach_the_session() {
    let fixture = fixture();
    let tmux = start_chat(&fixture);
    tmux.says("wait").shows("It runs.").shows("1 task runs in the background");
    tmux.says("hello").shows("<hello>").says("/new").shows("would be lost");
    // Leaving while something runs first shows a warning.
    tmux.press("C-d").shows("Ctrl-D again leaves and stops for good: sleep (");
    tmux.shows("Ctrl-D again leaves").press("C-d");
    assert_eq!(tmux.ends(), 0);
}

#[test]
fn conversation_needs_a_terminal() {
    fixture().bosun::<&str>([]).run().expect(2).says(&["no prompt given"]);
}

const PLANNER: &str = r#"
version: 1
rules:
  - when: { turn: 1 }
    answer:
      - call: { tool: write_plan, input: { text: "1. Write a.txt\n" } }
  - when: { turn: ..4, not: { answered: { matches: "approves the plan\\." } } }
    answer:
      - call: { tool: exit_plan_mode, input: { summary: Write one file, recommended: interactive } }
  - when: { answered: { tool: exit_plan_mode } }
    answer: [say: Now I may.]
  - answer: [say: "You wrote: <${prompt}>"]
"#;

#[test]
fn plan_is_shown_with_actions_and_text_rejects_it() {
    let fixture = fixture();
    fixture.script(PLANNER);
    let tmux = Tmux::start(&fixture.bosun(["--plan"]), 80, 24);
    tmux.shows("in plan mode").says("plan it");
    tmux.shows("plan ready: Write one file").shows("1. Write a.txt").shows("1. interactive").shows("4. exit_only");
    tmux.shows("proceed?").says("in two steps").shows("plan ready");
    tmux.until("a second menu", |screen| screen.matches("plan ready").count() == 2);
    tmux.says("1").shows("Now I may.");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    let deny = AskDecision::Deny { message: "in two steps".into() };
    assert_eq!(decisions(&fixture), [deny, AskDecision::Proceed { action: protocol::PlanAction::Interactive }]);
}

#[test]
fn prompt_argument_starts_a_conversation() {
    let fixture = fixture();
    fixture.script(MODEL);
    let tmux = Tmux::start(&fixture.bosun(["fix it"]), 80, 24);
    tmux.shows("> fix it").shows("You wrote: <fix it>");
    await_prompt(&tmux);
    tmux.says("and that").shows("You wrote: <and that>").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(turns(&fixture), 2);
}

#[test]
fn calls_can_be_shown_after_a_mode_change() {
    let fixture = fixture();
    fixture.script(MODEL);
    let tmux = Tmux::start(&fixture.bosun(["--allow-all"]), 80, 24);
    await_prompt(&tmux);
    tmux.says("print 4711").shows("It printed 4711");
    await_prompt(&tmux);
    tmux.says("/mode default").shows("mode   default").says("/show 1").shows("answer: done").press("C-d");
    assert_eq!(tmux.ends(), 0);
}

/// Starts a conversation without a model or key.
fn start_setup(fixture: &BinaryFixture, server: &ModelServer) -> Tmux {
    let bosun = fixture.bosun::<&str>([]).against(server).without_env("BOSUN_MODEL");
    let bosun = bosun.without_env("ANTHROPIC_API_KEY").without_env("OPENAI_API_KEY");
    let tmux = Tmux::start(&bosun, 80, 40);
    tmux.shows("Which provider?");
    tmux
}

#[test]
fn without_model_and_key_the_questions_lead_to_a_conversation() {
    let (fixture, server) = (fixture(), ModelServer::script(MODEL).start());
    let tmux = start_setup(&fixture, &server);
    tmux.shows("up to four questions")
        .says("anthropic")
        .shows("key:")
        .says("sk-typed-by-a-person")
        .shows("model [claude-sonnet-5-5]:");
    tmux.press("Enter").shows("save anthropic/claude-sonnet-5-5 as your default?").press("Enter");
    tmux.shows("/help shows what you can type").says("hello there").shows("You wrote: <hello there>");
    await_prompt(&tmux);
    assert!(!tmux.history().contains("sk-typed"), "{}", tmux.history());
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    let settings = fs::read_to_string(fixture.home().join("config.toml")).unwrap();
    assert_eq!(settings, "model = \"anthropic/claude-sonnet-5-5\"\n");
    // The key was not stored, so only the key is asked for.
    let bosun = fixture.bosun::<&str>([]).against(&server).without_env("BOSUN_MODEL").without_env("ANTHROPIC_API_KEY");
    let tmux = Tmux::start(&bosun, 80, 40);
    tmux.shows("The API key of anthropic").says("sk-again").shows("/help shows what you can type");
}

#[test]
fn missing_model_is_reported_before_a_prompt_is_typed() {
    let fixture = fixture();
    let bosun = fixture.bosun(["-p"]).without_env("BOSUN_MODEL");
    let tmux = Tmux::start(&bosun.without_env("ANTHROPIC_API_KEY").without_env("OPENAI_API_KEY"), 80, 24);
    assert_eq!(tmux.ends(), 2);
    let output = tmux.history();
    assert!(output.contains("error: no model is chosen") && !output.contains("type the prompt"), "{output}");
}

#[test]
fn leaving_the_setup_questions_says_what_to_set() {
    let (fixture, server) = (fixture(), ModelServer::script(MODEL).start());
    for key in ["Escape", "C-c", "C-d"] {
        let tmux = start_setup(&fixture, &server);
        tmux.press(key);
        assert_eq!(tmux.ends(), 2, "{key}");
        tmux.shows("error: no model is chosen").shows("hint: set ANTHROPIC_API_KEY");
    }
    assert!(!fixture.home().join("config.toml").exists());
}
