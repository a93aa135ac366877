//! What a process holds of the machine.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::memory;

/// What a process holds of the machine.
pub(super) struct ProcessHandles {
    /// Its own memory, in KiB.
    pub(super) kib: u64,
    pub(super) files: usize,
    /// Those of the files that are sockets.
    pub(super) sockets: usize,
    pub(super) threads: usize,
    /// The processes that it has started, and their descendants.
    pub(super) processes: usize,
}

impl ProcessHandles {
    pub(super) fn of(pid: u32) -> Result<ProcessHandles> {
        let own = Path::new("/proc").join(pid.to_string());
        let files: Vec<_> = fs::read_dir(own.join("fd")).context("the server is gone")?.flatten().collect();
        let is_socket = |file: &&fs::DirEntry| {
            fs::read_link(file.path()).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
        };
        Ok(ProcessHandles {
            kib: memory::own_kib(&pid.to_string()),
            sockets: files.iter().filter(is_socket).count(),
            files: files.len(),
            threads: fs::read_dir(own.join("task")).context("the server is gone")?.count(),
            processes: memory::descendants(&pid.to_string()),
        })
    }
}
