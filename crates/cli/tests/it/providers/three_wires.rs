//! The same job over the three wires, and without any.

use testkit::binary::Stage;
use testkit::oracle::check_requests;
use testkit::server::ModelServer;

use super::MODELS;
use super::job::{Done, JOB, work};

/// The job by the script itself, which no wire can spoil.
fn reference() -> Done {
    work(|stage: &Stage| stage.script(JOB).prompt("do the job"))
}

#[test]
fn the_same_job_over_three_wires_leaves_the_same_tree_calls_and_transcript() {
    let expected = reference();
    assert_eq!(expected.calls.len(), 11);
    assert_eq!(expected.tree["src/greet.sh"], "echo 'hello, world'\n");
    assert_eq!(expected.tree["notes/q.txt"], "a \"quoted\" \\ line\n");
    for model in MODELS {
        let server = ModelServer::script(JOB).start();
        let done = work(|stage| stage.prompt_over(&server, model, "do the job"));
        assert_eq!(done.stdout, expected.stdout, "{model}");
        assert_eq!(done.tree, expected.tree, "{model}");
        assert_eq!(done.calls, expected.calls, "{model}");
        assert_eq!(done.transcript, expected.transcript, "{model}");
        assert_eq!((server.count(), server.usage_sent()), (6, done.usage), "{model}");
    }
}

#[test]
fn every_request_of_the_job_is_one_that_the_sdks_types_know() {
    let mut requests = Vec::new();
    for model in MODELS {
        let server = ModelServer::script(JOB).start();
        work(|stage| stage.prompt_over(&server, model, "do the job"));
        requests.extend(server.requests());
    }
    assert_eq!(requests.len(), 18);
    check_requests(&requests);
}
