//! Refused requests are answered with a problem and a remedy, and have no effect.

use serde_json::json;

use super::{serve, small_limits};

/// The path of a session that does not exist.
const NOBODY: &str = "/v1/sessions/ses-01980000000070008000000000000001";

#[test]
fn unknown_paths_are_404_and_wrong_methods_list_the_allowed_ones() {
    let served = serve(small_limits());
    let http = &served.http;
    http.request("GET", "/", None).problem(404);
    http.request("GET", "/v1/sessions/", None).problem(404);
    http.request("GET", "/v1/sessions/%ff", None).problem(404);
    http.request("GET", "/v1/sessions/../sessions", None).problem(404);
    let problem = http.request("GET", NOBODY, None).problem(404);
    assert!(problem["remedy"].as_str().unwrap().contains("GET /v1/sessions"), "{problem}");
    for path in ["events", "tasks", "todos", "asks", "plan", "mode", "model"] {
        http.request("GET", &format!("{NOBODY}/{path}"), None).problem(404);
    }
    for path in ["interrupt", "stop", "resume", "fork"] {
        http.request("POST", &format!("{NOBODY}/{path}"), None).problem(404);
    }
    http.request("DELETE", NOBODY, None).problem(404);
    let refused = http.request("PUT", NOBODY, None);
    refused.problem(405);
    assert!(refused.response_head.to_ascii_lowercase().contains("allow: get, delete"), "{refused:?}");
    http.request("OPTIONS", "/v1/sessions", None).problem(405);
}

#[test]
fn invalid_input_is_refused_with_the_reason() {
    let served = serve(small_limits());
    let http = &served.http;
    for body in [
        json!([]),
        json!([null, null]),
        json!("x"),
        json!({ "promt": "x" }),
        json!({ "maxTurns": 0 }),
        json!({ "mode": "fast" }),
    ] {
        http.request("POST", "/v1/sessions", Some(body)).problem(400);
    }
    http.request("POST", "/v1/sessions", Some(json!({ "cwd": "here" }))).problem(422);
    let refused = http.request("POST", "/v1/sessions", None).problem(422);
    assert_eq!((&refused["detail"], &refused["remedy"]), (&json!("the house is empty"), &json!("build it")));
    for query in ["limit=x", "offset=-1", "limit=9007199254740992", "offset=1&offset=2", "colour=red", "limit="] {
        http.request("GET", &format!("/v1/sessions?{query}"), None).problem(400);
    }
    let page = http.request_ok("GET", "/v1/sessions?limit=9007199254740991&offset=9007199254740991&state=idle", None);
    assert_eq!(page, json!({ "sessions": [], "total": 0 }));
    let head = http.head("POST", "/v1/sessions");
    http.send_raw(&format!("{head}Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{{}}")).problem(415);
    http.send_raw(&format!("{head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{x")).problem(400);
}

#[test]
fn responses_forbid_caching_and_cross_origin_use() {
    let served = serve(small_limits());
    for answer in [served.http.request("GET", "/v1", None), served.http.request("GET", "/nowhere", None)] {
        let head = answer.response_head.to_ascii_lowercase();
        for header in ["cache-control: no-store", "nosniff", "cross-origin-resource-policy: same-origin"] {
            assert!(head.contains(header), "{head}");
        }
        assert!(!head.contains("access-control"), "{head}");
    }
}
