//! Times as people type and read them.

use std::time::Duration;

use protocol::At;

/// Reads a time that is not nothing.
pub(crate) fn some(text: &str) -> Result<Duration, String> {
    match config::parse_time(text)? {
        Duration::ZERO => Err("it must be longer than nothing".into()),
        time => Ok(time),
    }
}

/// How long ago a moment was, in one short word.
pub(crate) fn ago(then: At, now: At) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _more => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ago_is_short() {
        let at = |seconds: u64| ago(At(0), At(seconds * 1000));
        assert_eq!([5, 61, 7_200, 200_000].map(at), ["5s", "1m", "2h", "2d"]);
    }
}
