//! Makes a frame that is too large fit, by clipping its longest texts.

use protocol::clip_middle;
use serde_json::Value;

/// The first and the last limit in bytes that long texts are clipped to.
const TEXT_LIMITS: (usize, usize) = (256 * 1024, 256);

/// A frame as a line of at most `max` bytes; `None` if clipping texts is not enough.
pub(super) fn fit_line(mut frame: Value, max: usize) -> Option<Vec<u8>> {
    let mut text_max = TEXT_LIMITS.0;
    loop {
        let line = to_line(&frame);
        if line.len() <= max {
            return Some(line);
        }
        if text_max < TEXT_LIMITS.1 {
            return None;
        }
        clip(&mut frame, text_max);
        text_max /= 2;
    }
}

/// A frame as a line.
pub(super) fn to_line(frame: &Value) -> Vec<u8> {
    let mut line = frame.to_string().into_bytes();
    line.push(b'\n');
    line
}

fn clip(value: &mut Value, max: usize) {
    match value {
        Value::String(text) if text.len() > max => *text = clip_middle(text, max),
        Value::Array(values) => values.iter_mut().for_each(|value| clip(value, max)),
        Value::Object(fields) => fields.values_mut().for_each(|value| clip(value, max)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_clipped_and_the_rest_stays() {
        let frame = json!({ "type": "user", "list": ["x".repeat(90_000), "short", "\u{1}".repeat(90_000)] });
        let line = fit_line(frame, 100_000).unwrap();
        assert!(line.len() <= 100_000);
        let parsed: Value = serde_json::from_slice(&line).unwrap();
        assert_eq!((&parsed["type"], &parsed["list"][1]), (&json!("user"), &json!("short")));
    }

    #[test]
    fn frames_that_stay_too_large_have_no_line() {
        assert_eq!(fit_line(json!(vec![1; 1000]), 100), None);
        assert_eq!(fit_line(json!([1]), 4), Some(b"[1]\n".to_vec()));
    }
}
