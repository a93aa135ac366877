//! Many processes that share one provider's limit.

use std::thread;

use testkit::server::{Hint, ModelServer};

use crate::scripts::turns;
use crate::stage;

const SESSIONS: u64 = 64;
const TURNS: u64 = 3;

#[test]
fn sixty_four_sessions_share_a_limit_and_ask_hardly_more_often_than_they_must() {
    for hint in [Hint::RetryAfter, Hint::Silent] {
        let server = ModelServer::script(&turns(3)).allow(50, hint).start();
        let stage = stage();
        thread::scope(|scope| {
            let run = || stage.prompt_over(&server, "anthropic/test-model", "go").args(["--quiet"]).run();
            let runs: Vec<_> = (0..SESSIONS).map(|_| scope.spawn(run)).collect();
            for run in runs {
                assert_eq!(run.join().unwrap().expect(0).stdout, "Done.\n");
            }
        });
        let (least, all) = (SESSIONS * TURNS, server.count());
        assert!(all <= least * 12 / 10, "{hint:?}: {all} requests where {least} would do");
    }
}
