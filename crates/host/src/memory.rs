//! The memory available to this process: the machine's free memory, the limits of its control groups, and the memory
//! pressure. Nothing here allocates much or blocks: it is read every second while agents run.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum bytes read of one file; all of them are far smaller.
const FILE: u64 = 64 * 1024;

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
    /// The total bytes for it.
    pub total: u64,
    /// The share of the last ten seconds in which some program waited for memory, in percent; none if the kernel does
    /// not report it.
    pub pressure: Option<f64>,
}

/// The limits below which memory is too low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MemoryBounds {
    /// The minimum of available bytes.
    pub bytes: u64,
    /// The minimum share of the total memory, in percent.
    pub percent: u64,
    /// The maximum pressure, in percent.
    pub pressure: f64,
}

impl Default for MemoryBounds {
    fn default() -> MemoryBounds {
        MemoryBounds { bytes: 256 * 1024 * 1024, percent: 5, pressure: 20.0 }
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
            kibibytes(&meminfo, name)
                .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/meminfo has no {name}")))
        };
        let (mut available, mut total) = (machine("MemAvailable:")?, machine("MemTotal:")?);
        for group in self.groups(total) {
            available = available.min(group.left);
            total = total.min(group.limit);
        }
        let pressure = self.text("proc/pressure/memory").ok().and_then(|text| pressure(&text));
        Ok(MemoryReading { available, total, pressure })
    }

    /// The control groups that limit this process below the machine's `total`: its own and those above it, as far as
    /// they are visible.
    fn groups(&self, total: u64) -> Vec<CgroupLimits> {
        let own = self.text("proc/self/cgroup").unwrap_or_default();
        let second = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
        let first = own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(":/")?;
            controllers.split(',').any(|name| name == "memory").then_some(path)
        });
        let of = |version: &'static CgroupVersion, path: &str| {
            let folders: Vec<PathBuf> =
                Path::new(path).ancestors().map(|group| Path::new(version.folder).join(group)).collect();
            folders.into_iter().filter_map(|folder| self.group(version, &folder, total)).collect::<Vec<CgroupLimits>>()
        };
        let first = first.map(|path| of(&FIRST, path)).unwrap_or_default();
        of(&SECOND, second).into_iter().chain(first).collect()
    }

    fn group(&self, version: &CgroupVersion, folder: &Path, total: u64) -> Option<CgroupLimits> {
        let number = |name: &str| self.text(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        // A group without a limit has `max`, or a number larger than any machine. Reading its statistics is slow.
        let limit = number(version.limit).filter(|limit| *limit < total)?;
        let stat = self.text(folder.join("memory.stat")).unwrap_or_default();
        // Memory that the kernel reclaims on demand does not count as used.
        let in_use = number(version.used)?.saturating_sub(field(&stat, version.spare).unwrap_or_default());
        Some(CgroupLimits { limit, left: limit.saturating_sub(in_use) })
    }

    fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        let mut text = String::new();
        File::open(self.root.join(path))?.take(FILE).read_to_string(&mut text)?;
        Ok(text)
    }
}

impl MemoryBounds {
    /// Whether there is enough memory, given the previous result. Once tight, it takes half as much again to be ample,
    /// so that values at the limit do not flip back and forth.
    pub fn room(&self, reading: &MemoryReading, before: MemoryHeadroom) -> MemoryHeadroom {
        let least = self.bytes.max(reading.total / 100 * self.percent);
        let (least, most) = match before {
            MemoryHeadroom::Ample => (least, self.pressure),
            MemoryHeadroom::Tight => (least + least / 2, self.pressure / 2.0),
        };
        let pressed = reading.pressure.is_some_and(|pressure| pressure > most);
        if reading.available < least || pressed { MemoryHeadroom::Tight } else { MemoryHeadroom::Ample }
    }
}

/// The file names of a version of control groups.
struct CgroupVersion {
    folder: &'static str,
    limit: &'static str,
    used: &'static str,
    spare: &'static str,
}

const FIRST: CgroupVersion = CgroupVersion {
    folder: "sys/fs/cgroup/memory",
    limit: "memory.limit_in_bytes",
    used: "memory.usage_in_bytes",
    spare: "total_inactive_file",
};

const SECOND: CgroupVersion =
    CgroupVersion { folder: "sys/fs/cgroup", limit: "memory.max", used: "memory.current", spare: "inactive_file" };

/// The limits of a control group.
struct CgroupLimits {
    limit: u64,
    left: u64,
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.checked_mul(1024)
}

/// The number after a name.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

/// The `some` pressure of the last ten seconds.
fn pressure(text: &str) -> Option<f64> {
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
    fn this_machine_tells_of_its_memory() {
        let reading = MemoryGauge::default().read().unwrap();
        assert!(reading.total > 0 && reading.available <= reading.total, "{reading:?}");
    }

    #[test]
    fn a_machine_without_limits_tells_what_it_has() {
        let psi = "some avg10=1.25 avg60=0.00 avg300=0.00 total=5\nfull avg10=9.00 avg60=0.00 avg300=0.00 total=5\n";
        let (_folder, gauge) = machine(&[MEMINFO, ("proc/pressure/memory", psi)]);
        let reading = MemoryReading { available: 8 * GIB, total: 16 * GIB, pressure: Some(1.25) };
        assert_eq!(gauge.read().unwrap(), reading);
    }

    #[test]
    fn the_narrowest_control_group_above_this_process_counts() {
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
    fn limits_of_the_first_version_of_control_groups_count_too() {
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
    fn files_that_make_no_sense_are_an_error_or_nothing() {
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
    fn what_became_tight_is_ample_only_with_room_to_spare() {
        let bounds = MemoryBounds::default();
        let reading = |mib: u64, pressure| MemoryReading { available: mib << 20, total: GIB, pressure: Some(pressure) };
        let room = |mib, pressure, before| bounds.room(&reading(mib, pressure), before);
        assert_eq!(room(256, 20.0, MemoryHeadroom::Ample), MemoryHeadroom::Ample);
        assert_eq!(room(255, 0.0, MemoryHeadroom::Ample), MemoryHeadroom::Tight);
        assert_eq!(room(256, 0.0, MemoryHeadroom::Tight), MemoryHeadroom::Tight);
        assert_eq!(room(384, 10.0, MemoryHeadroom::Tight), MemoryHeadroom::Ample);
        assert_eq!(room(900, 20.1, MemoryHeadroom::Ample), MemoryHeadroom::Tight);
        assert_eq!(room(900, 10.1, MemoryHeadroom::Tight), MemoryHeadroom::Tight);
        let large = MemoryReading { available: 4 * GIB, total: 100 * GIB, pressure: None };
        assert_eq!(bounds.room(&large, MemoryHeadroom::Ample), MemoryHeadroom::Tight);
    }
}
