//! Checks of resource limits: open files and memory.

use host::limits::OpenFiles;
use host::memory::{MemoryBounds, MemoryGauge, MemoryHeadroom, MemoryReading};

use super::DoctorCheck;
use super::home::format_bytes;

/// Fewer open files may not be enough for a thousand agents.
const MIN_OPEN_FILES: u64 = 4096;

/// The lowest percentage of time lost to a lack of memory that is worth a word.
const MIN_SHOWN_PRESSURE: f64 = 1.0;

pub(super) fn checks() -> [DoctorCheck; 2] {
    [files(OpenFiles::current()), memory(MemoryGauge::default().read().ok())]
}

fn files(OpenFiles { current_limit: now, max_limit: most }: OpenFiles) -> DoctorCheck {
    let count = |files: Option<u64>| files.map_or_else(|| "unlimited".to_owned(), |files| files.to_string());
    let text = if now == most {
        format!("at most {} open files", count(most))
    } else {
        format!("at most {} open files, raised to {} for agents", count(now), count(most))
    };
    match most {
        Some(most) if most < MIN_OPEN_FILES => DoctorCheck::warn(
            "limits",
            text,
            format!("raise the hard limit to {MIN_OPEN_FILES} or more (see `ulimit -Hn`)"),
        ),
        Some(_) | None => DoctorCheck::ok("limits", text),
    }
}

fn memory(reading: Option<MemoryReading>) -> DoctorCheck {
    let Some(reading) = reading else {
        return DoctorCheck::warn("memory", "free memory is unknown", "mount /proc so that Bosun can read it");
    };
    let pressure = reading.pressure.filter(|pressure| *pressure >= MIN_SHOWN_PRESSURE);
    let pressure = pressure.map(|pressure| format!(", programs wait for memory {pressure} % of the time"));
    let (available, total) = (format_bytes(reading.available), format_bytes(reading.total));
    let text = format!("{available} of {total} available{}", pressure.unwrap_or_default());
    match MemoryBounds::default().headroom(&reading, MemoryHeadroom::Ample) {
        MemoryHeadroom::Ample => DoctorCheck::ok("memory", text),
        MemoryHeadroom::Tight => DoctorCheck::warn(
            "memory",
            format!("{text}; agents start one at a time"),
            "close other programs, or give Bosun's control group more memory",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::api::DoctorStatus;

    #[test]
    fn low_limits_are_warnings_with_a_remedy() {
        let few = files(OpenFiles { current_limit: Some(256), max_limit: Some(1024) });
        assert_eq!(
            (few.status, few.text.as_str()),
            (DoctorStatus::Warn, "at most 256 open files, raised to 1024 for agents")
        );
        assert_eq!(files(OpenFiles { current_limit: Some(1024), max_limit: None }).status, DoctorStatus::Ok);
        let raised = files(OpenFiles { current_limit: Some(20_000), max_limit: Some(20_000) });
        assert_eq!(raised.text, "at most 20000 open files");
        let little = memory(Some(MemoryReading { available: 100 << 20, total: 4 << 30, pressure: Some(1.5) }));
        let text =
            "100.0 MiB of 4.0 GiB available, programs wait for memory 1.5 % of the time; agents start one at a time";
        assert_eq!((little.status, little.text.as_str()), (DoctorStatus::Warn, text));
        assert_eq!(memory(None).status, DoctorStatus::Warn);
    }
}
