//! Tokens are counted once, despite failures.

use protocol::Usage;
use testkit::server::ModelServer;

use super::MODELS;
use super::job::usage;
use crate::crowds::run_concurrently;
use crate::fixture;
use crate::scripts::turns;

const SESSIONS: usize = 12;
const TURNS: u32 = 6;

#[test]
fn usage_matches_the_server_despite_failures() {
    // So few that one session survives all of them.
    let faults = "3=cut:call,17=status:500,31=close,50=end:events:2".parse().unwrap();
    let server = ModelServer::script(&turns(TURNS)).faults(faults).start();
    let fixture = fixture();
    for run in run_concurrently(SESSIONS, |n| fixture.prompt_over(&server, MODELS[n % MODELS.len()], "go").run()) {
        assert_eq!(run.expect(0).stdout, "Done.\n");
    }
    let sessions = fixture.sessions();
    assert_eq!(sessions.len(), SESSIONS);
    let used = sessions.iter().map(|session| usage(&fixture.log(session["id"].as_str().unwrap())));
    let used = used.fold(Usage::default(), Usage::plus);
    assert_eq!(used, server.usage_sent());
    let answered = server.requests().iter().filter(|seen| seen.usage.is_some()).count();
    assert_eq!(answered, SESSIONS * TURNS as usize);
    assert_eq!(server.count(), answered as u64 + 4);
}
