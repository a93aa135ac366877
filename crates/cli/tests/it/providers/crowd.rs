//! Many processes that share a limit of which nobody tells them.

use testkit::server::{Hint, ModelServer};

use crate::crowds::at_once;
use crate::scripts::turns;
use crate::stage;

const SESSIONS: usize = 32;
const TURNS: u32 = 10;

#[test]
fn sessions_find_a_limit_without_being_told_and_ask_hardly_more_often_than_they_must() {
    let server = ModelServer::script(&turns(TURNS)).allow(60, Hint::Silent).start();
    let stage = stage();
    for run in at_once(SESSIONS, |_| stage.prompt_over(&server, "openai/test-model", "go").run()) {
        assert_eq!(run.expect(0).stdout, "Done.\n");
    }
    let (least, all) = (SESSIONS as u64 * u64::from(TURNS), server.count());
    assert!(all <= least * 12 / 10, "{all} requests where {least} would do");
}
