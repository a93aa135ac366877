//! Line mode, at a terminal of 80 columns and 24 rows unless a test says otherwise.

use std::fs;

use protocol::{AskDecision, AskId, Event};
use testkit::binary::{BinaryFixture, Tmux};
use testkit::server::ModelServer;

use crate::stage;

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

fn talk(stage: &BinaryFixture) -> Tmux {
    stage.script(MODEL);
    let tmux = Tmux::start(&stage.bosun::<&str>([]), 80, 24);
    tmux.shows("/help shows what you can type");
    tmux
}

/// The screen shows no more than a line to write on.
fn ready(tmux: &Tmux) {
    tmux.until("a prompt", |screen| screen.trim_end().lines().next_back() == Some(">"));
}

fn decisions(stage: &BinaryFixture) -> Vec<AskDecision> {
    let decided = |event| match event {
        Event::AskDecided { decision, .. } => Some(decision),
        _other => None,
    };
    stage.log(&stage.newest()).into_iter().filter_map(|envelope| decided(envelope.entry.event)).collect()
}

fn turns(stage: &BinaryFixture) -> usize {
    let begun = |event: &Event| matches!(event, Event::TurnBegun { .. });
    stage.log(&stage.newest()).iter().filter(|envelope| begun(&envelope.entry.event)).count()
}

#[test]
fn a_question_is_answered_and_the_end_says_how_to_come_back() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.shows("mode   default").says("hello there").shows("You wrote: <hello there>");
    ready(&tmux);
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    tmux.shows(&format!("resume with: bosun --resume {}", stage.newest()));
}

#[test]
fn markdown_is_rendered_within_the_width() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("page").shows("end of page");
    let screen = tmux.screen();
    for row in ["# Title", "Some bold words and code that go on", "• one", "    fn main() {}", "漢字漢字"] {
        assert!(screen.lines().any(|line| line.starts_with(row)), "{row} is not in\n{screen}");
    }
    tmux.resize(40, 24);
    tmux.says("page").shows("• two");
    ready(&tmux);
    tmux.says("and now").shows("You wrote: <and now>");
}

#[test]
fn a_call_waits_for_permission_and_runs_once_it_is_given() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("run it").shows("[y] once").shows("$ echo $((40 + 2))").shows("allow?");
    tmux.says("perhaps").shows("type y, n, s or ?");
    tmux.says("?").shows("y allows this one call");
    tmux.says("y").shows("It printed 42").shows("• shell echo $((40 + 2)) ok");
    tmux.press("C-o").shows("answer: done");
    tmux.says("create it").shows("+ one").says("y").shows("The file is there.").shows("• create a.txt +2 −0");
    assert_eq!(fs::read_to_string(stage.path("a.txt")).unwrap(), "one\ntwo\n");
    tmux.says("/exit");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(
        decisions(&stage),
        [AskDecision::Allow { rules: Vec::new(), input: None }, AskDecision::Allow { rules: Vec::new(), input: None }]
    );
}

#[test]
fn a_call_that_is_denied_does_not_run() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("run it").shows("[y] once").says("n").shows("I may not.").shows("not permitted");
    tmux.says("run it").shows("[y] once").says("s").shows("why not?").says("use make").shows("You said use make");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    let deny = |words: &str| AskDecision::Deny { message: words.into() };
    assert_eq!(decisions(&stage), [deny(""), deny("use make")]);
}

#[test]
fn what_is_always_allowed_is_not_asked_again_in_this_session_or_the_next() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("print 1").shows("[a] always").says("a").shows("is allowed from now on").shows("It printed 1");
    tmux.says("print 2").shows("It printed 2");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(decisions(&stage), [AskDecision::Allow { rules: vec!["shell(awk *)".into()], input: None }]);
    let tmux = talk(&stage);
    tmux.says("print 3").shows("It printed 3");
}

#[test]
fn several_asks_queue_and_what_was_being_typed_comes_back() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("twice").shows("allow (1 of 2)?").shows("$ echo first");
    tmux.says("y").shows("$ echo second").shows("allow?");
    tmux.says("/approvals").shows("shell echo second");
    tmux.says("n").shows("not permitted");
    ready(&tmux);
}

/// The asks of a session, oldest first.
fn asks(stage: &BinaryFixture, id: &str) -> Vec<AskId> {
    let asked = |event| match event {
        Event::AskOpened(ask) => Some(ask.id),
        _other => None,
    };
    stage.log(id).into_iter().filter_map(|envelope| asked(envelope.entry.event)).collect()
}

#[test]
fn what_another_terminal_decides_disappears_here() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("twice").shows("allow (1 of 2)?").types("half");
    let id = stage.newest();
    let first = asks(&stage, &id).remove(0);
    stage.bosun(["approvals", "allow", first.short()]).run().expect(0);
    tmux.shows("allowed elsewhere: shell echo first").shows("$ echo second").shows("allow?");
    tmux.says("y").shows("not accepted").says("n").shows("not permitted");
    ready(&tmux);
}

#[test]
fn an_ask_is_there_again_after_the_process_ended() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("run it").shows("[y] once").signal("TERM");
    assert_eq!(tmux.ends(), 5);
    let tmux = Tmux::start(&stage.bosun(["--continue"]), 80, 24);
    tmux.shows("> run it")
        .shows("$ echo $((40 + 2))")
        .shows("[y] once")
        .says("y")
        .shows("• shell echo")
        .shows("It printed 42");
}

#[test]
fn an_interrupt_stops_the_turn_and_the_conversation_goes_on() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("hang").shows("Let me think").types("typed ahead").press("C-c").shows("stopped; what was done is kept");
    tmux.shows("> typed ahead").press("Enter").shows("You wrote: <typed ahead>");
    tmux.says("run it").shows("[y] once").press("C-c").shows("echo $((40 + 2)) stopped");
    tmux.says("still there?").shows("I am.");
    tmux.types("half a line").press("C-c").until("no line", |screen| !screen.contains("half a line"));
    tmux.press("C-c");
    assert_eq!(tmux.ends(), 0);
}

#[test]
fn what_is_sent_during_a_turn_is_read_after_it() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("slow").shows("It takes").says("still there?").shows("the agent reads this before its next step");
    tmux.shows("a while.").shows("I am.");
}

#[test]
fn two_interrupts_end_the_session() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("hang").shows("Let me think").press("C-c").press("C-c");
    assert_eq!(tmux.ends(), 5);
    tmux.shows("resume with: bosun --resume");
}

#[test]
fn lines_go_on_and_a_paste_is_not_sent() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("one\\").types("two").press("M-Enter").types("three").press("C-j").says("four").shows("<one");
    tmux.shows("four>").pastes("first\nsecond\n").shows("  second");
    assert!(!tmux.screen().contains("<first"));
    tmux.says("third").shows("<first").shows("third>");
}

#[test]
fn ten_thousand_pasted_lines_are_one_message() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.pastes(&"a line of a long text\n".repeat(10_000)).shows("more rows above").says("last").shows("in total");
    tmux.shows("last>").says("hello").shows("<hello>");
}

#[test]
fn a_megabyte_streams_by() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("much").shows("The end of much.").says("hello").shows("<hello>");
}

#[test]
fn commands_are_not_for_the_model() {
    let stage = stage();
    let tmux = talk(&stage);
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
    assert_eq!(turns(&stage), 2);
}

#[test]
fn commands_of_files_and_fleets_are_called_by_name() {
    let stage = stage();
    stage.script(MODEL).bosun(["-p", "/help"]).run().expect(0);
    fs::create_dir(stage.home().join("commands")).unwrap();
    fs::write(stage.home().join("commands/ship.md"), "---\nargument-hint: WHAT\n---\nShip $1 with care.").unwrap();
    let tmux = talk(&stage);
    tmux.says("/ship it").shows("<Ship it with care.>");
    ready(&tmux);
    tmux.types("/sh").press("Tab").shows("/ship").press("C-u").says("/help").shows("/ship WHAT");
    tmux.says("/todos")
        .shows("there are no todos")
        .says("/keys")
        .shows("stops the turn, or clears the line")
        .shows("puts back what was removed last");
    tmux.says("/every 5m x").shows("/every is not in this version");
    tmux.says("/fleet bake it").shows("User request: bake it");
    ready(&tmux);
    tmux.says("/context").shows("the next request has about").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(turns(&stage), 2);
    let continued = Tmux::start(&stage.bosun(["--continue"]), 80, 24);
    // The answer is longer than the screen.
    continued.shows("User request: bake it");
    ready(&continued);
    assert!(continued.history().contains("> Fleet deployed: bake it"), "{}", continued.history());
    continued.press("C-d");
    assert_eq!(continued.ends(), 0);
}

#[test]
fn another_model_or_mode_goes_on_with_the_same_session() {
    let stage = stage();
    let tmux = talk(&stage);
    fs::write(stage.path("other.yaml"), "version: 1\nrules: [{ answer: [say: I am another.] }]").unwrap();
    tmux.says("hello").shows("<hello>");
    ready(&tmux);
    tmux.says("/model nobody/nothing").shows("! ").says("/model script/other.yaml");
    tmux.shows("other.yaml").says("who are you?").shows("I am another.");
    ready(&tmux);
    tmux.says("/mode plan").shows("mode   plan").says("/mode").shows("the mode is plan").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn other_sessions_are_listed_and_gone_on_with() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("the first one").shows("<the first one>");
    let first = stage.newest();
    tmux.says("/new").until("a new one", |screen| screen.matches("/help shows").count() == 2);
    tmux.says("/resume").shows("resume one: /resume").says("the second one").shows("<the second one>");
    tmux.says(&format!("/resume {first}")).until("the last exchange", |screen| {
        screen.rsplit("resume with: ").next().is_some_and(|last| last.contains("<the first one>"))
    });
    tmux.says("again").shows("<again>");
    ready(&tmux);
    // As in a shell.
    tmux.says("exit");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(stage.sessions().len(), 2);
}

#[test]
fn the_next_day_shows_what_was_said_last() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says(" not kept").shows("<not kept>").says("remember me").shows("<remember me>").press("C-d");
    assert_eq!(tmux.ends(), 0);
    let tmux = Tmux::start(&stage.bosun(["--continue"]), 80, 24);
    tmux.shows("> remember me").shows("You wrote: <remember me>");
    ready(&tmux);
    tmux.press("Up")
        .press("Up")
        .shows("\n> remember me")
        .press("Enter")
        .until("it again", |screen| screen.matches("<remember me>").count() == 2);
}

#[test]
fn a_session_without_a_word_is_not_kept() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert!(stage.sessions().is_empty());
}

#[test]
fn being_told_to_end_leaves_the_session_and_the_terminal_in_order() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("hang").shows("Let me think");
    tmux.signal("TERM");
    assert_eq!(tmux.ends(), 5);
    tmux.shows("resume with: bosun --resume");
}

#[test]
fn colour_is_left_out_where_nobody_wants_it() {
    let stage = stage();
    stage.script(MODEL);
    let shown = |invocation| {
        let tmux = Tmux::start(&invocation, 80, 24);
        tmux.shows("/help shows").says("page").shows("end of page").says("run it").shows("allow?").says("n");
        tmux.shows("not permitted");
        tmux.colours()
    };
    let with = shown(stage.bosun::<&str>([]));
    assert!(with.contains("\u{1b}[1m") && with.contains("\u{1b}["));
    let without = shown(stage.bosun::<&str>([]).env("NO_COLOR", "1"));
    assert!(!without.contains("\u{1b}["), "{without}");
}

#[test]
fn a_dumb_terminal_gets_lines() {
    let stage = stage();
    stage.script(MODEL);
    let tmux = Tmux::start(&stage.bosun::<&str>([]).env("TERM", "dumb"), 80, 24);
    tmux.shows("/help shows").says("hello").shows("<hello>").says("run it").shows("[y] once").shows("allow?").says("y");
    tmux.shows("It printed 42").says("hang").shows("hang").press("C-c").shows("stopped; what");
    ready(&tmux);
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
}

#[test]
fn forty_columns_are_enough() {
    let stage = stage();
    stage.script(MODEL);
    let tmux = Tmux::start(&stage.bosun::<&str>([]), 40, 12);
    tmux.shows("/help shows").says("page").shows("end of page").says("run it").shows("allow?").says("y");
    tmux.shows("It printed 42");
}

#[test]
fn work_in_the_background_is_told_and_messages_reach_the_session() {
    let stage = stage();
    let tmux = talk(&stage);
    tmux.says("wait").shows("It runs.").shows("1 task runs in the background");
    tmux.says("hello").shows("<hello>").says("/new").shows("would be lost");
    // B6: whoever leaves while something runs is told what becomes of it first.
    tmux.press("C-d").shows("Ctrl-D again leaves and stops for good: /root/sleep (");
    tmux.shows("Ctrl-D again leaves").press("C-d");
    assert_eq!(tmux.ends(), 0);
}

#[test]
fn without_a_terminal_there_is_nothing_to_do() {
    stage().bosun::<&str>([]).run().expect(2).says(&["no prompt given"]);
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
fn a_plan_is_shown_with_what_can_follow_and_words_send_it_back() {
    let stage = stage();
    stage.script(PLANNER);
    let tmux = Tmux::start(&stage.bosun(["--plan"]), 80, 24);
    tmux.shows("in plan mode").says("plan it");
    tmux.shows("plan ready: Write one file").shows("1. Write a.txt").shows("1. interactive").shows("4. exit_only");
    tmux.shows("proceed?").says("in two steps").shows("plan ready");
    tmux.until("a second menu", |screen| screen.matches("plan ready").count() == 2);
    tmux.says("1").shows("Now I may.");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    let deny = AskDecision::Deny { message: "in two steps".into() };
    assert_eq!(decisions(&stage), [deny, AskDecision::Proceed { action: protocol::PlanAction::Interactive }]);
}

#[test]
fn a_prompt_on_the_command_line_begins_a_conversation() {
    let stage = stage();
    stage.script(MODEL);
    let tmux = Tmux::start(&stage.bosun(["fix it"]), 80, 24);
    tmux.shows("> fix it").shows("You wrote: <fix it>");
    ready(&tmux);
    tmux.says("and that").shows("You wrote: <and that>").press("C-d");
    assert_eq!(tmux.ends(), 0);
    assert_eq!(turns(&stage), 2);
}

#[test]
fn calls_can_be_shown_again_after_the_mode_was_changed() {
    let stage = stage();
    stage.script(MODEL);
    let tmux = Tmux::start(&stage.bosun(["--allow-all"]), 80, 24);
    ready(&tmux);
    tmux.says("print 4711").shows("It printed 4711");
    ready(&tmux);
    tmux.says("/mode default").shows("mode   default").says("/show 1").shows("answer: done").press("C-d");
    assert_eq!(tmux.ends(), 0);
}

/// B1: nothing is known of models yet.
fn begins(stage: &BinaryFixture, server: &ModelServer) -> Tmux {
    let bosun = stage.bosun::<&str>([]).against(server).without_env("BOSUN_MODEL");
    let bosun = bosun.without_env("ANTHROPIC_API_KEY").without_env("OPENAI_API_KEY");
    let tmux = Tmux::start(&bosun, 80, 40);
    tmux.shows("Which provider?");
    tmux
}

#[test]
fn without_model_and_key_three_questions_lead_to_a_conversation() {
    let (stage, server) = (stage(), ModelServer::script(MODEL).start());
    let tmux = begins(&stage, &server);
    tmux.says("anthropic").shows("key:").says("sk-typed-by-a-person").shows("model [claude-sonnet-5-5]:");
    tmux.press("Enter").shows("save anthropic/claude-sonnet-5-5 as your default?").press("Enter");
    tmux.shows("/help shows what you can type").says("hello there").shows("You wrote: <hello there>");
    ready(&tmux);
    assert!(!tmux.history().contains("sk-typed"), "{}", tmux.history());
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    let settings = fs::read_to_string(stage.home().join("config.toml")).unwrap();
    assert_eq!(settings, "model = \"anthropic/claude-sonnet-5-5\"\n");
    // The key was not kept, so it alone is asked for.
    let bosun = stage.bosun::<&str>([]).against(&server).without_env("BOSUN_MODEL").without_env("ANTHROPIC_API_KEY");
    let tmux = Tmux::start(&bosun, 80, 40);
    tmux.shows("The API key of anthropic").says("sk-again").shows("/help shows what you can type");
}

#[test]
fn a_person_who_leaves_the_questions_is_told_what_to_set() {
    let (stage, server) = (stage(), ModelServer::script(MODEL).start());
    for key in ["Escape", "C-c", "C-d"] {
        let tmux = begins(&stage, &server);
        tmux.press(key);
        assert_eq!(tmux.ends(), 2, "{key}");
        tmux.shows("error: no model is chosen").shows("hint: set ANTHROPIC_API_KEY");
    }
    assert!(!stage.home().join("config.toml").exists());
}
