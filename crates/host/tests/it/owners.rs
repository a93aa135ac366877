//! Recognising whether an owner process is still alive.

use std::fs;

use bosun_host::ProcessIdentity;

use crate::machine::program;

#[test]
fn ended_owner_is_dead_even_if_not_reaped() {
    let mut child = program("sleep").arg("1000").spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let started = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap();
    let owner = ProcessIdentity { pid: child.id(), start_ticks: started, ..ProcessIdentity::current().unwrap() };
    assert!(owner.is_alive());
    child.kill().unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    let ended = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(pid), ended).unwrap();
    assert!(!owner.is_alive(), "not reaped");
    child.wait().unwrap();
    assert!(!owner.is_alive(), "reaped");
}
