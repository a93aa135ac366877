//! A server on a port keeps nothing of sessions that were closed: no open files, sockets, threads or processes.

use std::fs;
use std::path::Path;

use testkit::binary::{PATIENCE, within};

use super::copilot::{Language, all_held, program};
use super::copilot_kills::Server;
use crate::fixture;

const HELLO: &str = "version: 1\nrules:\n  - answer: [say: Hello.]\n";

/// What a process holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Handles {
    files: usize,
    threads: usize,
    children: usize,
}

impl Handles {
    fn of(pid: u32) -> Handles {
        let own = Path::new("/proc").join(pid.to_string());
        let threads: Vec<_> = fs::read_dir(own.join("task")).unwrap().map(|thread| thread.unwrap().path()).collect();
        // A thread may end meanwhile.
        let children = threads.iter().filter_map(|thread| fs::read_to_string(thread.join("children")).ok());
        Handles {
            files: fs::read_dir(own.join("fd")).unwrap().count(),
            children: children.map(|list| list.split_whitespace().count()).sum(),
            threads: threads.len(),
        }
    }

    fn is_at_most(self, other: Handles) -> bool {
        self.files <= other.files && self.threads <= other.threads && self.children <= other.children
    }
}

#[test]
fn a_server_keeps_nothing_of_closed_sessions() {
    let fixture = fixture();
    fixture.script(HELLO);
    let server = Server::start(&fixture);
    let run = |sessions: &str| {
        all_held(server.serve(program(&fixture, Language::Node, "many_sessions")).env("SESSIONS", sessions).run());
    };
    // What the server opens once and keeps.
    let at_first = Handles::of(server.pid());
    run("2");
    let mut few = Handles::of(server.pid());
    within(PATIENCE, "what two sessions opened is closed", || {
        few = Handles::of(server.pid());
        few.files <= at_first.files + 4 && few.children <= at_first.children + 1
    });
    run("20");
    let mut many = Handles::of(server.pid());
    within(PATIENCE, "what twenty sessions opened is closed", || {
        many = Handles::of(server.pid());
        many.is_at_most(few)
    });
}
