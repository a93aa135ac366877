//! What is refused is refused as a problem with a remedy, and nothing else happens.

use serde_json::json;

use super::{serve, tight};

const NOBODY: &str = "/v1/sessions/ses-01980000000070008000000000000001";

#[test]
fn what_is_not_there_is_not_found_and_what_cannot_be_asked_says_what_can() {
    let served = serve(tight());
    let http = &served.http;
    http.ask("GET", "/", None).problem(404);
    http.ask("GET", "/v1/sessions/", None).problem(404);
    http.ask("GET", "/v1/sessions/%ff", None).problem(404);
    http.ask("GET", "/v1/sessions/../sessions", None).problem(404);
    let problem = http.ask("GET", NOBODY, None).problem(404);
    assert!(problem["remedy"].as_str().unwrap().contains("GET /v1/sessions"), "{problem}");
    for path in ["events", "tasks", "todos", "asks", "plan", "mode", "model"] {
        http.ask("GET", &format!("{NOBODY}/{path}"), None).problem(404);
    }
    for path in ["interrupt", "stop", "resume", "fork"] {
        http.ask("POST", &format!("{NOBODY}/{path}"), None).problem(404);
    }
    http.ask("DELETE", NOBODY, None).problem(404);
    let refused = http.ask("PUT", NOBODY, None);
    refused.problem(405);
    assert!(refused.head.to_ascii_lowercase().contains("allow: get, delete"), "{refused:?}");
    http.ask("OPTIONS", "/v1/sessions", None).problem(405);
}

#[test]
fn words_that_do_not_fit_are_refused_with_what_is_wrong() {
    let served = serve(tight());
    let http = &served.http;
    for body in [
        json!([]),
        json!([null, null]),
        json!("x"),
        json!({ "promt": "x" }),
        json!({ "maxTurns": 0 }),
        json!({ "mode": "fast" }),
    ] {
        http.ask("POST", "/v1/sessions", Some(body)).problem(400);
    }
    http.ask("POST", "/v1/sessions", Some(json!({ "cwd": "here" }))).problem(422);
    let refused = http.ask("POST", "/v1/sessions", None).problem(422);
    assert_eq!((&refused["detail"], &refused["remedy"]), (&json!("the house is empty"), &json!("build it")));
    for query in ["limit=x", "offset=-1", "limit=9007199254740992", "offset=1&offset=2", "colour=red", "limit="] {
        http.ask("GET", &format!("/v1/sessions?{query}"), None).problem(400);
    }
    let page = http.done("GET", "/v1/sessions?limit=9007199254740991&offset=9007199254740991&state=idle", None);
    assert_eq!(page, json!({ "sessions": [], "total": 0 }));
    let head = http.head("POST", "/v1/sessions");
    http.say(&format!("{head}Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}")).problem(415);
    http.say(&format!("{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{x")).problem(400);
}

#[test]
fn no_answer_may_be_kept_or_read_by_pages() {
    let served = serve(tight());
    for answer in [served.http.ask("GET", "/v1", None), served.http.ask("GET", "/nowhere", None)] {
        let head = answer.head.to_ascii_lowercase();
        for header in ["cache-control: no-store", "nosniff", "cross-origin-resource-policy: same-origin"] {
            assert!(head.contains(header), "{head}");
        }
        assert!(!head.contains("access-control"), "{head}");
    }
}
