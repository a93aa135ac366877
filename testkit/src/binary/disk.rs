//! A disk small enough to be filled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::is_root;

/// A file system in memory, unmounted when it is dropped.
#[derive(Debug)]
pub struct SmallDisk {
    root: PathBuf,
}

impl SmallDisk {
    /// Mounts a disk of this many KiB on an existing folder; `None` if the test does not run as root.
    pub fn mount(root: &Path, kib: u32) -> Option<SmallDisk> {
        let options = format!("size={kib}k,mode=700");
        let mount = || Command::new("mount").args(["-t", "tmpfs", "-o", &options, "none"]).arg(root).status();
        let mounted = is_root() && mount().is_ok_and(|status| status.success());
        mounted.then(|| SmallDisk { root: root.to_owned() })
    }

    /// Makes it read-only.
    #[track_caller]
    pub fn seal(&self) {
        let sealed = Command::new("mount").args(["-o", "remount,ro"]).arg(&self.root).status().unwrap();
        assert!(sealed.success(), "{} cannot be made read-only", self.root.display());
    }

    /// Makes it writable again.
    #[track_caller]
    pub fn unseal(&self) {
        let opened = Command::new("mount").args(["-o", "remount,rw"]).arg(&self.root).status().unwrap();
        assert!(opened.success(), "{} cannot be made writable", self.root.display());
    }

    /// Fills every free byte until the ballast is dropped.
    pub fn fill(&self) -> Ballast {
        let path = self.root.join("ballast");
        let mut file = File::create(&path).unwrap();
        for size in [65_536, 4096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
        Ballast { path }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that is being killed may still have a file open.
        let _unmounted = Command::new("umount").arg("--lazy").arg(&self.root).status();
    }
}

/// A file that fills a disk; dropping it frees the space.
#[derive(Debug)]
pub struct Ballast {
    path: PathBuf,
}

impl Drop for Ballast {
    fn drop(&mut self) {
        let _freed = fs::remove_file(&self.path);
    }
}
