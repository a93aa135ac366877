//! Keys that may be absent, but not empty: `prompt:` without a value is a mistake, not a missing condition.

use schemars::Schema;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads the value of a key that is present.
pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Removes `null` from a schema derived from an `Option`.
pub fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|word| word != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(choices)) = schema.get("anyOf")
        && let [Value::Object(choice), null] = choices.as_slice()
        && null["type"] == "null"
    {
        let choice = choice.clone();
        schema.remove("anyOf");
        choice.into_iter().for_each(|(key, value)| drop(schema.insert(key, value)));
    }
}
