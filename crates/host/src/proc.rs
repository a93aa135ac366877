//! Reads `/proc`. Nothing is cached. A process may be gone as soon as it was read, so every answer is about the past.

use std::collections::HashMap;
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::{Pid, getpid};

/// The fields of `/proc/PID/stat` that identify a process and its relatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// The letter of its state.
    pub(crate) state: u8,
    /// Its parent; none if that is outside the namespace.
    pub(crate) parent: Option<Pid>,
    /// Its process group.
    pub(crate) group: Option<Pid>,
    /// Its session.
    pub(crate) session: Option<Pid>,
    /// When it started, in clock ticks since boot.
    pub(crate) start_ticks: u64,
}

impl ProcessStat {
    /// Reads the fields of one process.
    pub(crate) fn read(pid: Pid) -> io::Result<ProcessStat> {
        let line = fs::read(format!("/proc/{pid}/stat"))?;
        ProcessStat::parse(&line).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat")))
    }

    /// Parses the fields after the name, which may itself contain spaces, brackets and any other byte.
    fn parse(line: &[u8]) -> Option<ProcessStat> {
        let name_ends = line.iter().rposition(|&byte| byte == b')')?;
        let rest = str::from_utf8(line.get(name_ends + 1..)?).ok()?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let pid = |index: usize| fields.get(index)?.parse().ok().map(positive_pid);
        Some(ProcessStat {
            state: *fields.first()?.as_bytes().first()?,
            parent: pid(1)?,
            group: pid(2)?,
            session: pid(3)?,
            start_ticks: fields.get(19)?.parse().ok()?,
        })
    }

    /// Whether the process is stopped by a signal, or traced.
    pub(crate) fn is_stopped(&self) -> bool {
        matches!(self.state, b'T' | b't')
    }

    /// Whether the process has ended and only waits to be reaped.
    pub(crate) fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }
}

/// All processes of the machine at about one moment.
#[derive(Debug)]
pub(crate) struct ProcessTable(HashMap<Pid, ProcessStat>);

impl ProcessTable {
    /// Reads every process. Fails rather than omit one, unless it has just ended.
    pub(crate) fn read() -> io::Result<ProcessTable> {
        let mut all = HashMap::new();
        for entry in fs::read_dir("/proc")? {
            let Some(pid) = entry?.file_name().to_str().and_then(parse_pid) else { continue };
            if let Some(stat) = none_if_gone(ProcessStat::read(pid))? {
                all.insert(pid, stat);
            }
        }
        Ok(ProcessTable(all))
    }

    /// The children of `parent`, dead ones included.
    pub(crate) fn children(&self, parent: Pid) -> impl Iterator<Item = (Pid, &ProcessStat)> {
        self.0.iter().filter(move |(_, stat)| stat.parent == Some(parent)).map(|(&pid, stat)| (pid, stat))
    }

    /// The live processes among `roots` and their descendants.
    pub(crate) fn live_descendants(&self, roots: impl IntoIterator<Item = Pid>) -> Vec<(Pid, ProcessStat)> {
        let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for (&pid, stat) in &self.0 {
            if let Some(parent) = stat.parent {
                children.entry(parent).or_default().push(pid);
            }
        }
        let mut to_visit: Vec<Pid> = roots.into_iter().collect();
        let mut living = Vec::new();
        while let Some(pid) = to_visit.pop() {
            to_visit.extend(children.remove(&pid).unwrap_or_default());
            living.extend(self.0.get(&pid).filter(|stat| !stat.is_dead()).map(|stat| (pid, *stat)));
        }
        living
    }
}

/// The id of this process in the namespace that `/proc` shows, which need not be its own.
pub(crate) fn own_visible_pid() -> io::Result<Pid> {
    let link = fs::read_link("/proc/self")?;
    let number = link.to_str().and_then(parse_pid);
    number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "/proc/self"))
}

/// The children of this process, which must be single-threaded; dead ones may be among them.
pub(crate) fn own_children() -> io::Result<Vec<Pid>> {
    let own = getpid();
    match fs::read_to_string(format!("/proc/self/task/{own}/children")) {
        Ok(list) => Ok(list.split_ascii_whitespace().filter_map(parse_pid).collect()),
        // Not every kernel is built with this file.
        Err(_) => Ok(ProcessTable::read()?.children(own).map(|(pid, _)| pid).collect()),
    }
}

/// The value of a variable in the initial environment of a process, if it may be read.
pub(crate) fn environment_variable(pid: Pid, name: &str) -> Option<Vec<u8>> {
    let environ = fs::read(format!("/proc/{pid}/environ")).ok()?;
    environ
        .split(|&byte| byte == 0)
        .find_map(|entry| Some(entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?.to_vec()))
}

/// The command line of a process, its name first; readable for other users' processes too. A program can change
/// only its own.
pub(crate) fn command_line(pid: Pid) -> io::Result<Vec<Vec<u8>>> {
    let line = fs::read(format!("/proc/{pid}/cmdline"))?;
    Ok(line.strip_suffix(&[0]).unwrap_or(&line).split(|&byte| byte == 0).map(<[u8]>::to_vec).collect())
}

/// The short name of a process.
pub(crate) fn process_name(pid: Pid) -> io::Result<String> {
    Ok(fs::read_to_string(format!("/proc/{pid}/comm"))?.trim_end_matches('\n').to_owned())
}

/// Distinguishes a process that is gone from one that could not be read.
fn none_if_gone<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(crate) fn parse_pid(text: &str) -> Option<Pid> {
    positive_pid(text.parse().ok()?)
}

/// The process with this id. The kernel writes 0 for a process outside the namespace, and -1 for one that is being
/// reaped; neither number may ever be passed to `kill`.
pub(crate) fn positive_pid(number: i32) -> Option<Pid> {
    (number > 0).then(|| Pid::from_raw(number)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str) -> Option<ProcessStat> {
        ProcessStat::parse(format!("42 ({name}) S 7 40 39 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n").as_bytes())
    }

    #[test]
    fn process_name_with_spaces_and_brackets_does_not_shift_the_fields() {
        for name in ["sh", "a b", ") R 1 1 (", "x) Z 9 9 9", ""] {
            let stat = stat(name).unwrap();
            assert_eq!((stat.state, stat.start_ticks), (b'S', 98765), "{name}");
            assert_eq!(stat.parent, Pid::from_raw(7), "{name}");
        }
    }

    #[test]
    fn pids_that_are_not_positive_are_none() {
        let line = "42 (sh) X 0 -1 -1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        let stat = ProcessStat::parse(line.as_bytes()).unwrap();
        assert_eq!((stat.parent, stat.group, stat.session), (None, None, None));
    }

    #[test]
    fn truncated_line_is_not_parsed() {
        for line in ["", "42", "42 (sh", "42 (sh)", "42 (sh) S 7 40"] {
            assert_eq!(ProcessStat::parse(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn this_process_is_a_child_of_its_parent() {
        let own = getpid();
        let parent = ProcessStat::read(own).unwrap().parent.unwrap();
        let snapshot = ProcessTable::read().unwrap();
        assert!(snapshot.children(parent).any(|(pid, _)| pid == own));
        assert!(snapshot.live_descendants([parent]).iter().any(|(pid, _)| *pid == own));
    }
}
