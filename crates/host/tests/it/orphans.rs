//! No orphans: a killed owner leaves nothing behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::machine::{EXECUTABLE, guardians_of, program, running, unique_sleep, within_five_seconds};

/// Starts an owner of these scripts in a process of its own, and returns when they all run.
fn owner(scripts: &[String]) -> Child {
    let mut owner = program(EXECUTABLE).arg("owner").args(scripts).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    owner
}

fn sleepers(sleep: &str) -> usize {
    running(sleep).into_iter().filter(|seen| seen.command.starts_with("sleep")).count()
}

/// Waits for that many sleepers, kills the owner, and expects everything to be gone in time.
fn kill_and_expect_nothing(mut owner: Child, sleep: &str, count: usize) {
    within_five_seconds("every sleeper runs", || sleepers(sleep) == count);
    let guardians = guardians_of(owner.id());
    assert_eq!(guardians.len(), 1);
    owner.kill().unwrap();
    owner.wait().unwrap();
    within_five_seconds("every process is gone", || running(sleep).is_empty());
    within_five_seconds("the guardian is gone", || {
        running("__guardian").iter().all(|seen| seen.pid != guardians[0].pid)
    });
}

#[test]
fn a_killed_owner_leaves_no_pipeline_background_job_or_daemon() {
    let sleep = unique_sleep();
    let scripts = [
        format!("sleep {sleep} | sleep {sleep} | cat"),
        format!("sleep {sleep} & wait"),
        format!("setsid sleep {sleep} & wait"),
        format!("(setsid sh -c 'sleep {sleep} & exit' &) ; sleep {sleep}"),
        format!("nohup sh -c 'trap \"\" HUP TERM INT; sleep {sleep}; true' >/dev/null & sleep {sleep}"),
        format!("env -i setsid -f sleep {sleep}; sleep {sleep}"),
    ];
    kill_and_expect_nothing(owner(&scripts), &sleep, 10);
}

#[test]
fn a_killed_owner_leaves_no_program_that_keeps_forking() {
    let sleep = unique_sleep();
    let script = format!("while :; do setsid -f sh -c 'sleep 0.1; : {sleep}'; sleep 0.01; done & sleep {sleep}");
    kill_and_expect_nothing(owner(&[script]), &sleep, 1);
}

#[test]
fn a_killed_owner_leaves_no_program_that_forks_faster_than_it_can_be_looked_at() {
    let sleep = unique_sleep();
    let hop = "hop() { hop & }; hop".to_owned();
    let scripts = [format!("{hop}; sleep {sleep}"), format!("setsid sh -c '{hop}' & sleep {sleep}")];
    kill_and_expect_nothing(owner(&scripts), &sleep, 2);
}

#[test]
fn an_owner_inside_a_job_goes_with_the_outer_owner() {
    let sleep = unique_sleep();
    let script =
        format!("exec {EXECUTABLE} owner 'setsid -f sleep {sleep}; env -i setsid -f sleep {sleep}; sleep {sleep}'");
    kill_and_expect_nothing(owner(&[script]), &sleep, 3);
}

#[test]
fn signals_that_end_an_owner_do_not_end_its_guardian_first() {
    use rustix::process::{Pid, Signal, kill_process};
    let sleep = unique_sleep();
    let owner = owner(&[format!("sleep {sleep}")]);
    let guardian = guardians_of(owner.id())[0].pid;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1] {
        kill_process(Pid::from_raw(guardian).unwrap(), signal).unwrap();
    }
    kill_and_expect_nothing(owner, &sleep, 1);
}

#[test]
fn a_program_of_a_killed_owner_may_take_its_lock_away() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("index.lock");
    let script =
        format!("exec 2>/dev/null; trap 'rm {0}; exit' TERM; : > {0}; while :; do sleep 0.01; done", lock.display());
    let mut owner = owner(&[script]);
    within_five_seconds("the lock is there", || lock.exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    within_five_seconds("the lock is gone", || !lock.exists());
}
