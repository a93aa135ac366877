//! The memory available to this process: the machine's free memory, the limits of its control groups, and the memory
//! pressure. Nothing here allocates much or blocks: it is read every second while agents run.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum bytes read of one file; all of them are far smaller.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Reads the memory of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryGauge {
    root: PathBuf,
}

impl Default for MemoryGauge {
    fn default() -> MemoryGauge {
        MemoryGauge::at("/".into())
    }
}

/// The memory at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryReading {
    /// The bytes that this process can get without harming other processes.
    pub available: u64,
    /// The bytes that it could use at most.
    pub total: u64,
    /// The share of the last ten seconds in which some program waited for memory, in percent; none if the kernel does
    /// not report it.
    pub pressure: Option<f64>,
}

/// The limits below which memory is too low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryBounds {
    /// The minimum of available bytes.
    pub min_bytes: u64,
    /// The minimum share of the total memory, in percent.
    pub min_percent: u64,
    /// The maximum pressure, in percent.
    pub max_pressure: f64,
}

impl Default for MemoryBounds {
    fn default() -> MemoryBounds {
        MemoryBounds { min_bytes: 256 * 1024 * 1024, min_percent: 5, max_pressure: 20.0 }
    }
}

/// Whether there is room for more work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MemoryHeadroom {
    /// There is enough memory.
    #[default]
    Ample,
    /// There is too little memory.
    Tight,
}

impl MemoryGauge {
    /// A gauge whose `/proc` and `/sys` are below another folder.
    pub fn at(root: PathBuf) -> MemoryGauge {
        MemoryGauge { root }
    }

    /// Reads the current values.
    pub fn read(&self) -> io::Result<MemoryReading> {
        let meminfo = self.text("proc/meminfo")?;
        let machine = |name| {
            bytes_from_kib(&meminfo, name)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/meminfo has no {name}")))
        };
        let (mut available, mut total) = (machine("MemAvailable:")?, machine("MemTotal:")?);
        for group in self.all_cgroup_limits(total) {
            available = available.min(group.unused_bytes);
            total = total.min(group.limit);
        }
        let pressure = self.text("proc/pressure/memory").ok().and_then(|text| parse_pressure(&text));
        Ok(MemoryReading { available, total, pressure })
    }

    /// The limits below the machine's `total` of the control groups of this process: its own group and those above it,
    /// as far as they are visible.
    fn all_cgroup_limits(&self, total: u64) -> Vec<CgroupLimits> {
        let own = self.text("proc/self/cgroup").unwrap_or_default();
        let v2_path = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let v1_path = own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
            controllers.split(',').any(|name| name == "memory").then_some(path)
        });
        let limits_of = |version: &'static CgroupVersion, path: &str| {
            let folders: Vec<PathBuf> =
                Path::new(path).ancestors().map(|group| Path::new(version.folder).join(group)).collect();
            folders
                .into_iter()
                .filter_map(|folder| self.cgroup_limits(version, &folder, total))
                .collect::<Vec<CgroupLimits>>()
        };
        let v1_limits = v1_path.map(|path| limits_of(&CGROUP_V1, path)).unwrap_or_default();
        limits_of(&CGROUP_V2, v2_path).into_iter().chain(v1_limits).collect()
    }

    fn cgroup_limits(&self, version: &CgroupVersion, folder: &Path, total: u64) -> Option<CgroupLimits> {
        let number = |name: &str| self.text(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // A group without a limit has `max`, or a number larger than any machine. Reading its statistics is slow.
        let limit = number(version.limit).filter(|limit| *limit < total)?;
        let stat = self.text(folder.join("memory.stat")).unwrap_or_default();
        // Memory that the kernel reclaims on demand does not count as used.
        let in_use = number(version.used)?.saturating_sub(number_after(&stat, version.reclaimable).unwrap_or_default());
        Some(CgroupLimits { limit, unused_bytes: limit.saturating_sub(in_use) })
    }

    fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        let mut text = String::new();
        File::open(self.root.join(path))?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }
}

impl MemoryBounds {
    /// Whether there is enough memory, given the previous result. After a tight result, ample needs one and a half
    /// times the minimum and half the pressure, so that values at the limit do not flip back and forth.
    pub fn headroom(&self, reading: &MemoryReading, before: MemoryHeadroom) -> MemoryHeadroom {
        let minimum = self.min_bytes.max(reading.total / 100 * self.min_percent);
        let (minimum, max_pressure) = match before {
            MemoryHeadroom::Ample => (minimum, self.max_pressure),
            MemoryHeadroom::Tight => (minimum + minimum / 2, self.max_pressure / 2.0),
        };
        let is_pressed = reading.pressure.is_some_and(|pressure| pressure > max_pressure);
        if reading.available < minimum || is_pressed { MemoryHeadroom::Tight } else { MemoryHeadroom::Ample }
    }
}

/// The file names of a version of control groups.
struct CgroupVersion {
    folder: &'static str,
    limit: &'static str,
    used: &'static str,
    /// The field of `memory.stat` with the memory that the kernel reclaims on demand.
    reclaimable: &'static str,
}

const CGROUP_V1: CgroupVersion = CgroupVersion {
    folder: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    reclaimable: "total_inactive_file",
};

const CGROUP_V2: CgroupVersion = CgroupVersion {
    folder: "sys/fs/cgroup",
    limit: "memory.max",
    used: "memory.current",
    reclaimable: "inactive_file",
};

/// The limits of a control group.
struct CgroupLimits {
    limit: u64,
    /// The unused bytes.
    unused_bytes: u64,
}

fn bytes_from_kib(text: &str, name: &str) -> Option<u64> {
    number_after(text, name)?.checked_mul(1024)
}

/// The number after a name.
fn number_after(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

/// The `some` pressure of the last ten seconds.
fn parse_pressure(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_ascii_whitespace().find_map(|word| word.strip_prefix("avg10="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, MemoryGauge) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let gauge = MemoryGauge::at(folder.path().to_owned());
        (folder, gauge)
    }

    const MEMINFO: (&str, &str) =
        ("proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");

    #[test]
    fn memory_of_this_machine_can_be_read() {
        let reading = MemoryGauge::default().read().unwrap();
        assert!(reading.total > 0 && reading.available <= reading.total, "{reading:?}");
    }

    #[test]
    fn without_limits_the_values_are_those_of_the_machine() {
        let psi = "some avg10=1.25 avg60=0.00 avg300=0.00 total=5\nfull avg10=9.00 avg60=0.00 avg300=0.00 total=5\n";
        let (_folder, gauge) = machine(&[MEMINFO, ("proc/pressure/memory", psi)]);
        let reading = MemoryReading { available: 8 * GIB, total: 16 * GIB, pressure: Some(1.25) };
        assert_eq!(gauge.read().unwrap(), reading);
    }

    #[test]
    fn narrowest_control_group_counts() {
        let (_folder, gauge) = machine(&[
            MEMINFO,
            ("proc/self/cgroup", "1:name=systemd:/other\n0::/user/job\n"),
            ("sys/fs/cgroup/user/job/memory.max", "max\n"),
            ("sys/fs/cgroup/user/job/memory.current", "7\n"),
            ("sys/fs/cgroup/user/memory.max", "2147483648\n"),
            ("sys/fs/cgroup/user/memory.current", "2147483000\n"),
            ("sys/fs/cgroup/user/memory.stat", "anon 1\ninactive_file 1073741176\n"),
        ]);
        assert_eq!(gauge.read().unwrap(), MemoryReading { available: GIB, total: 2 * GIB, pressure: None });
    }

    #[test]
    fn cgroup_v1_limits_count() {
        let (_folder, gauge) = machine(&[
            MEMINFO,
            ("proc/self/cgroup", "4:cpu,memory:/docker/x\n1:name=systemd:/other\n0::/\n"),
            ("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "7\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "2147483000\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 1\ntotal_inactive_file 1073741176\n"),
        ]);
        assert_eq!(gauge.read().unwrap(), MemoryReading { available: GIB, total: 2 * GIB, pressure: None });
    }

    #[test]
    fn invalid_files_are_an_error_or_ignored() {
        let (_folder, gauge) = machine(&[]);
        assert!(gauge.read().is_err());
        let (_folder, gauge) = machine(&[("proc/meminfo", "MemTotal: many kB\n")]);
        assert!(gauge.read().unwrap_err().to_string().contains("MemAvailable"));
        let (_folder, gauge) = machine(&[
            MEMINFO,
            ("proc/pressure/memory", "some avg10=much\n"),
            ("proc/self/cgroup", "0::/../../x\n"),
            ("sys/fs/cgroup/memory.max", "-1\n"),
        ]);
        assert_eq!(gauge.read().unwrap().pressure, None);
    }

    #[test]
    fn tight_memory_becomes_ample_only_with_a_margin() {
        let bounds = MemoryBounds::default();
        let reading = |mib: u64, pressure| MemoryReading { available: mib << 20, total: GIB, pressure: Some(pressure) };
        let room = |mib, pressure, before| bounds.headroom(&reading(mib, pressure), before);
        assert_eq!(room(256, 20.0, MemoryHeadroom::Ample), MemoryHeadroom::Ample);
        assert_eq!(room(255, 0.0, MemoryHeadroom::Ample), MemoryHeadroom::Tight);
        assert_eq!(room(256, 0.0, MemoryHeadroom::Tight), MemoryHeadroom::Tight);
        assert_eq!(room(384, 10.0, MemoryHeadroom::Tight), MemoryHeadroom::Ample);
        assert_eq!(room(900, 20.1, MemoryHeadroom::Ample), MemoryHeadroom::Tight);
        assert_eq!(room(900, 10.1, MemoryHeadroom::Tight), MemoryHeadroom::Tight);
        let large = MemoryReading { available: 4 * GIB, total: 100 * GIB, pressure: None };
        assert_eq!(bounds.headroom(&large, MemoryHeadroom::Ample), MemoryHeadroom::Tight);
    }
}
