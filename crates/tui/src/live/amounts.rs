//! Short formats for durations and counts.

use std::time::Duration;

/// A duration, such as `45s`, `3m 12s` or `2h 05m`.
pub(super) fn format_elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _more => format!("{}h {:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A count, such as `940`, `12k` or `3.1M`.
pub(super) fn format_count(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number / 100 % 10),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _more => format!("{}.{}M", number / 1_000_000, number / 100_000 % 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let times = [0, 59, 60, 192, 7_500].map(|seconds| format_elapsed(Duration::from_secs(seconds)));
        assert_eq!(times, ["0s", "59s", "1m 00s", "3m 12s", "2h 05m"]);
        assert_eq!([0, 999, 1_250, 12_900, 3_140_000].map(format_count), ["0", "999", "1.2k", "12k", "3.1M"]);
    }
}
