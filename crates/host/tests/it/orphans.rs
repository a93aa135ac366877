//! No orphans: a killed owner leaves nothing behind.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use bosun_host::Home;
use protocol::SessionId;
use rustix::process::{Pid, Signal, kill_process};

use crate::machine::{EXECUTABLE, guardians_of, program, running, unique_sleep, within_five_seconds};

/// Starts an owner of these scripts in a process of its own, and returns when they all run.
fn owner(scripts: &[String]) -> Child {
    owner_with(&["owner"], scripts)
}

fn owner_with(how: &[&str], scripts: &[String]) -> Child {
    let mut owner = program(EXECUTABLE).args(how).args(scripts).stdout(Stdio::piped()).spawn().unwrap();
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
fn a_killed_owner_leaves_no_fast_forking_program() {
    let sleep = unique_sleep();
    let hop = "hop() { hop & }; hop".to_owned();
    let scripts = [format!("{hop}; sleep {sleep}"), format!("setsid sh -c '{hop}' & sleep {sleep}")];
    kill_and_expect_nothing(owner(&scripts), &sleep, 2);
}

#[test]
fn inner_owner_ends_with_the_outer_owner() {
    let sleep = unique_sleep();
    let script =
        format!("exec {EXECUTABLE} owner 'setsid -f sleep {sleep}; env -i setsid -f sleep {sleep}; sleep {sleep}'");
    kill_and_expect_nothing(owner(&[script]), &sleep, 3);
}

#[test]
fn signals_that_end_an_owner_do_not_end_its_guardian_first() {
    let sleep = unique_sleep();
    let owner = owner(&[format!("sleep {sleep}")]);
    let guardian = guardians_of(owner.id())[0].pid;
    for signal in [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1] {
        kill_process(Pid::from_raw(guardian).unwrap(), signal).unwrap();
    }
    kill_and_expect_nothing(owner, &sleep, 1);
}

#[test]
fn program_of_a_killed_owner_can_remove_its_lock_file() {
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

/// Like git on a slow disk.
#[test]
fn patient_program_can_remove_its_lock_file_after_its_owner_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("packed-refs.lock");
    let waits = "while :; do sleep 0.01; done";
    let script = format!("exec 2>/dev/null; trap 'sleep 1; rm {0}; exit' TERM; : > {0}; {waits}", lock.display());
    let mut owner = owner_with(&["patient-owner"], &[script]);
    within_five_seconds("the lock is there", || lock.exists());
    owner.kill().unwrap();
    owner.wait().unwrap();
    within_five_seconds("the lock is gone", || !lock.exists());
}

/// Programs that try to outlive both their owner and their guardian.
fn survivors(sleep: &str) -> Vec<String> {
    [
        "exec sleep {}",
        "exec env -i sleep {}",
        "env -i setsid sleep {} & wait",
        "env -u BOSUN_JOB setsid -f sh -c 'trap \"\" TERM HUP; sleep {}; true'; sleep {}",
        "(env -i setsid sh -c '(sleep {} &) ; exit' &); exec sleep {}",
        "env -i nohup sh -c 'setsid -f sleep {}' > /dev/null; exec sleep {}",
        "env BOSUN_JOB=1.2.3 setsid -f sleep {}; exec env BOSUN_JOB= sleep {}",
        "unshare -Urpf --kill-child=KILL true; env -i unshare -Urpf sleep {} & exec sleep {}",
    ]
    .map(|script| script.replace("{}", sleep))
    .to_vec()
}

#[test]
fn next_owner_ends_the_leftovers_of_a_killed_owner_and_guardian() {
    for stopped_only in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let sleep = unique_sleep();
        let mut owner = owner_with(&["owner-of", folder.path().to_str().unwrap()], &survivors(&sleep));
        within_five_seconds("every sleeper runs", || sleepers(&sleep) >= 13);
        let guardian = Pid::from_raw(guardians_of(owner.id())[0].pid).unwrap();
        let owner_pid = Pid::from_raw(owner.id().cast_signed()).unwrap();
        if stopped_only {
            kill_process(guardian, Signal::STOP).unwrap();
        } else {
            // The owner must not see that its guardian is gone.
            kill_process(owner_pid, Signal::STOP).unwrap();
            kill_process(guardian, Signal::KILL).unwrap();
        }
        kill_process(owner_pid, Signal::KILL).unwrap();
        owner.wait().unwrap();
        assert!(sleepers(&sleep) > 0, "nothing was left to end");
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session = SessionId::new(uuid::Uuid::from_u128(1));
        let mut settled = home.take_idle_session(session).unwrap();
        assert_eq!((settled.had_programs(), running(&sleep).len()), (true, 0));
        settled.clear_programs_record().unwrap();
        drop(settled);
        assert!(!home.take_idle_session(session).unwrap().had_programs());
    }
}

#[test]
fn record_is_written_again_after_the_last_program() {
    for change in ["rm", "echo forged >", "ln -sf /dev/null"] {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path().to_owned()).unwrap();
        let session = SessionId::new(uuid::Uuid::from_u128(1));
        let record = home.session_dir(session).join("programs");
        let sleep = unique_sleep();
        let script = format!("{change} {}; exec sleep {sleep}", record.display());
        let mut owner = owner_with(&["owner-of", folder.path().to_str().unwrap()], &[script]);
        within_five_seconds("the program runs", || sleepers(&sleep) == 1);
        owner.kill().unwrap();
        owner.wait().unwrap();
        assert!(home.take_idle_session(session).unwrap().had_programs(), "{change}");
    }
}
