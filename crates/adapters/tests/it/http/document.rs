//! The OpenAPI document is what is checked in, and what the docs say.

use std::fs;
use std::path::{Path, PathBuf};

use bosun_adapters::http::{openapi, routes_markdown};
use serde_json::Value;

use super::{serve, tight};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

#[test]
#[expect(clippy::disallowed_methods, reason = "how a person tells a test to write the file anew")]
fn the_openapi_document_is_the_one_that_is_checked_in() {
    let path = root("schemas/openapi.json");
    if std::env::var_os("BOSUN_BLESS").is_some() {
        fs::write(&path, format!("{:#}\n", openapi())).unwrap();
    }
    let checked_in: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(&checked_in, openapi(), "run this test with BOSUN_BLESS=1 to write the document anew");
}

#[test]
fn the_docs_list_every_request() {
    let docs = fs::read_to_string(root("docs/http.md")).unwrap();
    assert!(docs.contains(&routes_markdown()), "docs/http.md does not hold this table:\n{}", routes_markdown());
}

#[test]
fn the_document_is_served_and_every_reference_in_it_leads_somewhere() {
    let served = serve(tight());
    let document = served.http.done("GET", "/v1/openapi.json", None);
    assert_eq!(&document, openapi());
    assert_eq!(document["openapi"], "3.1.0");
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let path = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(path).is_some(), "{reference}");
                }
                open.extend(fields.values());
            }
            Value::Array(values) => open.extend(values),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}
