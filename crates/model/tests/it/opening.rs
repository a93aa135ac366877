//! The `--model` argument.

use std::collections::BTreeMap;
use std::fs;

use bosun_model::{ModelListing, ModelTier, Provider, ProviderKey, Providers, RecordingModel, WireFormat, open};
use net::Secret;
use protocol::Price;

use crate::conversation::prompt;

#[tokio::test]
async fn a_model_is_opened_by_its_provider_and_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = "version: 1\nrules: [ { answer: [ { say: hi } ] } ]";
    fs::create_dir(folder.path().join("a")).unwrap();
    fs::write(folder.path().join("a/s.yaml"), script).unwrap();

    let relative = open("script/a/s.yaml", folder.path(), &Providers::default()).unwrap();
    assert_eq!(relative.name(), "script/s.yaml");
    let absolute =
        open(&format!("script/{}/a/s.yaml", folder.path().display()), "/nowhere".as_ref(), &Providers::default())
            .unwrap();
    assert_eq!(absolute.name(), "script/s.yaml");

    let recorder = RecordingModel::open(relative, &folder.path().join("r.jsonl")).unwrap();
    let recorded = crate::conversation::reply(&recorder, prompt("go")).await;
    let replay = open("replay/r.jsonl", folder.path(), &Providers::default()).unwrap();
    assert_eq!(replay.name(), "replay/r.jsonl");
    assert_eq!(crate::conversation::reply(replay.as_ref(), prompt("go")).await, recorded);
}

#[test]
fn model_that_cannot_be_opened_is_explained() {
    let cases = [
        ("gpt-9", "unknown model or provider `gpt-9`; use script/FILE or replay/FILE"),
        ("other/model", "unknown model or provider `other`; use script/FILE or replay/FILE"),
        ("", "unknown model or provider ``; use script/FILE or replay/FILE"),
        ("script", "`script` needs a file; write script/FILE"),
        ("replay/", "`replay` needs a file; write replay/FILE"),
        ("script/a.yaml", "cannot read the script /nowhere/a.yaml: No such file or directory (os error 2)"),
        ("replay/a", "cannot use the recording /nowhere/a: No such file or directory (os error 2)"),
    ];
    for (spec, message) in cases {
        assert_eq!(
            open(spec, "/nowhere".as_ref(), &Providers::default()).map(|_| "no error").unwrap_err().to_string(),
            message
        );
    }
}

fn provider(key: ProviderKey) -> Provider {
    Provider::new(WireFormat::Chat, "http://127.0.0.1:1/v1", key)
}

#[test]
fn remote_model_is_identified_by_provider_and_name() {
    let price = Some(Price { input: 1, output: 2, cache_read: 3, cache_write: 4 });
    let listed = ModelListing { price, context_tokens: Some(100_000), max_output_tokens: Some(32_000) };
    let mut own = provider(ProviderKey::Present(Secret::new("sk-1")));
    own.models.insert("org/model".into(), listed);
    let mut local = provider(ProviderKey::NotNeeded);
    (local.is_small, local.max_concurrent_requests) = (true, Some(1));
    let places = BTreeMap::from([("own".into(), own), ("local".into(), local)]);
    let providers = Providers { by_name: places, ..Providers::default() };

    let model = open("own/org/model", "/".as_ref(), &providers).unwrap();
    let facts = model.facts();
    assert_eq!(model.name(), "own/org/model");
    assert_eq!((facts.price, facts.context_tokens, facts.max_output_tokens), (price, Some(100_000), 32_000));
    assert_eq!((facts.tier, facts.max_concurrent_requests), (ModelTier::Capable, None));

    let other = open("own/other", "/".as_ref(), &providers).unwrap();
    assert_eq!(
        (other.facts().price, other.facts().context_tokens, other.facts().max_output_tokens),
        (None, None, 8_192)
    );
    let account = |bucket: &Option<String>| bucket.as_ref().unwrap().split('/').nth(1).unwrap().to_owned();
    assert_eq!(account(&facts.bucket_key), account(&other.facts().bucket_key));

    let small = open("local/qwen", "/".as_ref(), &providers).unwrap();
    assert_eq!((small.facts().tier, small.facts().max_concurrent_requests), (ModelTier::Small, Some(1)));
    assert_eq!(small.facts().bucket_key.as_deref(), Some("local/open/qwen"));
}

#[test]
fn a_remote_model_that_cannot_be_opened_is_explained() {
    let missing = provider(ProviderKey::Missing { variable: "OWN_KEY".into() });
    let places = BTreeMap::from([("local".into(), provider(ProviderKey::NotNeeded)), ("own".into(), missing)]);
    let providers = Providers { by_name: places, ..Providers::default() };
    for (spec, message) in [
        ("gpt-9", "unknown model or provider `gpt-9`; use local/MODEL, own/MODEL, script/FILE or replay/FILE"),
        ("local", "`local` has many models; write local/MODEL"),
        ("local/", "`local` has many models; write local/MODEL"),
        ("own/m", "own needs a key; put it in the environment variable OWN_KEY"),
    ] {
        assert_eq!(open(spec, "/".as_ref(), &providers).map(|_| "no error").unwrap_err().to_string(), message);
    }
}
