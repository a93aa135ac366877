//! Tokens are counted once, whatever fails in between.

use protocol::Usage;
use testkit::server::ModelServer;

use super::MODELS;
use super::job::usage;
use crate::crowds::at_once;
use crate::scripts::turns;
use crate::stage;

const SESSIONS: usize = 12;
const TURNS: u32 = 6;

#[test]
fn what_sessions_used_is_what_the_server_counted_whatever_failed_in_between() {
    // No more than one session bears, if it should meet them all.
    let faults = "3=cut:call,17=status:500,31=close,50=end:events:2".parse().unwrap();
    let server = ModelServer::script(&turns(TURNS)).faults(faults).start();
    let stage = stage();
    for run in at_once(SESSIONS, |n| stage.prompt_over(&server, MODELS[n % MODELS.len()], "go").run()) {
        assert_eq!(run.expect(0).stdout, "Done.\n");
    }
    let sessions = stage.sessions();
    assert_eq!(sessions.len(), SESSIONS);
    let used = sessions.iter().map(|session| usage(&stage.log(session["id"].as_str().unwrap())));
    let used = used.fold(Usage::default(), Usage::plus);
    assert_eq!(used, server.usage_sent());
    let answered = server.requests().iter().filter(|seen| seen.usage.is_some()).count();
    assert_eq!(answered, SESSIONS * TURNS as usize);
    assert_eq!(server.count(), answered as u64 + 4);
}
