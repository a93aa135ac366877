//! `bosun agents`: background sessions from any terminal.

use serde_json::Value;
use testkit::binary::{PATIENCE, Tmux, within};

use super::HostFixture;
use crate::BOSUN;
use crate::talk::await_prompt;

impl HostFixture {
    /// Starts a session whose calls need permission; returns its id.
    #[track_caller]
    fn start_asking(&self, prompt: &str) -> String {
        self.bosun(&["agents", "start", prompt]).run().expect(0).stdout.trim().to_owned()
    }

    /// The sessions as `bosun agents` lists them.
    #[track_caller]
    fn agents(&self) -> Vec<Value> {
        self.bosun(&["agents", "--json"]).run().expect(0).json().as_array().unwrap().clone()
    }

    #[track_caller]
    fn await_agent(&self, id: &str, state: &str) -> Value {
        let find = || self.agents().into_iter().find(|row| row["id"] == id && row["state"] == state);
        within(PATIENCE, state, || find().is_some());
        find().unwrap()
    }
}

#[test]
fn sessions_are_listed_by_what_they_need_with_the_reason() {
    let host = HostFixture::new(BOSUN);
    let working = host.begin_jobs(1).remove(0);
    let asking = host.start_asking("busy job 1");
    host.await_agent(&asking, "needsYou");
    let rows = host.agents();
    let shown: Vec<_> = rows.iter().map(|row| (row["id"].as_str().unwrap(), row["state"].as_str().unwrap())).collect();
    assert_eq!(shown, [(&*asking, "needsYou"), (&*working, "working")]);
    assert_eq!(rows[0]["reason"], "asks to run: `echo begin-1 >> witness`");
    assert!(rows[1]["reason"].as_str().unwrap().starts_with("runs `echo held-0"), "{rows:?}");
    assert!(rows.iter().all(|row| row["runsIn"] == "background"), "{rows:?}");
    host.release();
    assert_eq!(host.await_agent(&working, "done")["runsIn"], Value::Null);
    host.bosun(&["agents", "stop", &asking]).run().expect(0).says(&["delivered"]);
    host.await_agent(&asking, "stopped");
    host.bosun(&["agents", "rm", &asking]).run().expect(0);
    assert_eq!(host.agents().len(), 1);
}

#[test]
fn an_attached_terminal_shows_the_conversation_and_decides_and_leaving_changes_nothing() {
    let host = HostFixture::new(BOSUN);
    let id = host.start_asking("busy job 1");
    host.await_agent(&id, "needsYou");
    let tmux = Tmux::start(&host.bosun(&["agents", "attach"]), 80, 24);
    tmux.shows("> busy job 1").shows("I begin job 1.").shows("needs your permission").press("C-d");
    assert_eq!(tmux.ends(), 0);
    tmux.shows("it continues in the background; come back with: bosun agents attach").shows(&id);
    let tmux = Tmux::start(&host.bosun(&["agents", "attach", &id]), 80, 24);
    tmux.shows("needs your permission").says("y").shows("It is done.");
    await_prompt(&tmux);
    // Nothing runs, and the session is kept for the terminal.
    assert_eq!(host.await_agent(&id, "idle")["runsIn"], "background");
    tmux.says("thank you").until("a second answer", |screen| screen.matches("It is done.").count() == 2);
    tmux.says("/mode accept-edits").shows("the mode is accept-edits");
    tmux.says("/new").shows("leave this session first");
    tmux.press("C-d");
    assert_eq!(tmux.ends(), 0);
    host.await_rest(&[id]);
}

#[test]
fn a_message_to_a_session_at_rest_continues_it_in_the_background() {
    let host = HostFixture::new(BOSUN);
    host.release();
    let id = host.detach("busy job 1");
    host.await_rest(std::slice::from_ref(&id));
    host.bosun(&["agents", "resume", &id]).run().expect(0).says(&["nothing is left to do"]);
    host.bosun(&["agents", "send", &id, "and the rest"]).run().expect(0).says(&["continues in the background"]);
    let log = || host.bosun(&["agents", "logs", &id]).run().expect(0).stdout;
    within(PATIENCE, "the message is answered", || log().matches("It is done.").count() == 2);
    assert!(log().contains("prompt: and the rest"), "{}", log());
}

#[test]
fn a_conversation_continues_in_the_background() {
    let host = HostFixture::new(BOSUN);
    let tmux = Tmux::start(&host.bosun(&["--allow-all"]), 80, 24);
    tmux.shows("/help shows").says("held job 0");
    within(PATIENCE, "the job is held", || host.witness().iter().any(|line| line == "held-0"));
    tmux.says("/background");
    assert_eq!(tmux.ends(), 0);
    tmux.shows("it continues in the background");
    host.release();
    let id = host.fixture.newest();
    host.await_agent(&id, "done");
    let answers = host.bosun(&["agents", "logs", &id]).run().expect(0).stdout;
    assert!(answers.contains("It is done."), "{answers}");
    // The call that ran was interrupted, and not repeated.
    assert_eq!(host.witness(), ["begin-0", "held-0"]);
}
