//! The OpenAPI document matches the checked-in file and the docs.

use std::fs;
use std::path::{Path, PathBuf};

use bosun_adapters::http::{OPENAPI, generate_openapi, routes_markdown};
use serde_json::Value;

use super::{serve, small_limits};

fn workspace_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "lets a person have the test rewrite the file")]
fn the_openapi_document_is_the_one_that_is_checked_in() {
    let (path, generated) = (workspace_path("schemas/openapi.json"), generate_openapi());
    if std::env::var_os("BOSUN_BLESS").is_some() {
        fs::write(&path, format!("{generated:#}\n")).unwrap();
    }
    let checked_in: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(checked_in, generated, "run this test with BOSUN_BLESS=1 to rewrite the document");
}

#[test]
fn docs_list_every_request() {
    let docs = fs::read_to_string(workspace_path("docs/http.md")).unwrap();
    assert!(docs.contains(&routes_markdown()), "docs/http.md does not contain this table:\n{}", routes_markdown());
}

#[test]
fn document_is_served_and_its_references_resolve() {
    let served = serve(small_limits());
    let document = served.http.request_ok("GET", "/v1/openapi.json", None);
    assert_eq!(document, serde_json::from_str::<Value>(OPENAPI).unwrap());
    assert_eq!(document["openapi"], "3.1.0");
    let mut pending = vec![&document];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let path = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(path).is_some(), "{reference}");
                }
                pending.extend(fields.values());
            }
            Value::Array(values) => pending.extend(values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
