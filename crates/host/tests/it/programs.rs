//! Programs under a guardian: their output, exit and leftovers.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use bosun_host::{
    ExitStatus, Guardian, Home, KillMode, Leftovers, Process, Program, ProgramExit, SpawnError, Stderr, Stdin,
    WaitError,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::machine::{EXECUTABLE, guardian, guardians_of, processes, running, sh, unique_sleep, within_five_seconds};

/// Runs a program to its end.
async fn run(guardian: &Guardian, program: Program) -> (ProgramExit, String) {
    let mut process = guardian.spawn(program).await.unwrap();
    let mut output = String::new();
    process.output.read_to_string(&mut output).await.unwrap();
    (process.wait().await.unwrap(), output)
}

async fn refused(program: Program) -> SpawnError {
    guardian().spawn(program).await.unwrap_err()
}

fn code(code: i32) -> ProgramExit {
    ProgramExit { status: ExitStatus::Code(code), leftovers: 0 }
}

#[tokio::test]
async fn output_is_merged_in_order_and_the_exit_code_is_reported() {
    let (exit, output) = run(&guardian(), sh("echo one; echo two >&2; echo three; exit 7")).await;
    assert_eq!((exit, output.as_str()), (code(7), "one\ntwo\nthree\n"));
}

#[tokio::test]
async fn standard_error_can_be_separate() {
    let guardian = guardian();
    let mut process = guardian.spawn(Program { stderr: Stderr::Pipe, ..sh("echo out; echo err >&2") }).await.unwrap();
    let (mut output, mut complaints) = (String::new(), String::new());
    process.output.read_to_string(&mut output).await.unwrap();
    process.stderr.as_mut().unwrap().read_to_string(&mut complaints).await.unwrap();
    assert_eq!((output.as_str(), complaints.as_str()), ("out\n", "err\n"));

    let (exit, output) = run(&guardian, Program { stderr: Stderr::Null, ..sh("echo out; echo err >&2") }).await;
    assert_eq!((exit, output.as_str()), (code(0), "out\n"));
}

#[tokio::test]
async fn input_reaches_the_program_and_ends_with_its_handle() {
    let guardian = guardian();
    let mut process = guardian.spawn(Program { stdin: Stdin::Pipe, ..sh("cat; echo end") }).await.unwrap();
    let mut input = process.stdin.take().unwrap();
    input.write_all(b"hello\n").await.unwrap();
    drop(input);
    let mut output = String::new();
    process.output.read_to_string(&mut output).await.unwrap();
    assert_eq!(output, "hello\nend\n");
    assert_eq!(run(&guardian, sh("cat; echo end")).await.1, "end\n");
}

#[tokio::test]
async fn death_by_signal_is_reported() {
    let (exit, _) = run(&guardian(), sh("kill -SEGV $$")).await;
    assert_eq!(exit.status, ExitStatus::Signal(11));
    assert!(!exit.status.is_success());
}

#[tokio::test]
async fn waiting_twice_returns_the_same_result() {
    let mut process = guardian().spawn(sh("exit 3")).await.unwrap();
    assert!(process.pid() > 0);
    assert_eq!(process.wait().await, Ok(code(3)));
    assert_eq!(process.wait().await, Ok(code(3)));
    process.kill(KillMode::Now);
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    let value = OsString::from_vec(vec![b'a', 0xff, b'\n', b'z']);
    let program = Program::new("env", "/").args(["-0"]).env("PATH", "/usr/bin:/bin").env("ODD", value);
    let mut process = guardian().spawn(program).await.unwrap();
    let mut output = Vec::new();
    process.output.read_to_end(&mut output).await.unwrap();
    let mut names: Vec<_> = output.split(|&byte| byte == 0).filter(|entry| !entry.starts_with(b"BOSUN_JOB=")).collect();
    names.sort_unstable();
    assert_eq!(names, [&b""[..], b"ODD=a\xff\nz", b"PATH=/usr/bin:/bin"]);
}

#[tokio::test]
async fn failed_start_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let gone = folder.path().join("gone");

    for program in [Program::new("no-such-program", "/").env("PATH", "/usr/bin"), Program::new("/no/such", "/")] {
        let error = refused(program).await;
        assert!(matches!(error, SpawnError::ProgramMissing(_)), "{error:?}");
    }
    for cwd in [&gone, &plain] {
        let error = refused(Program::new("/bin/true", cwd)).await;
        assert!(matches!(&error, SpawnError::DirectoryMissing(path) if path == cwd), "{error:?}");
    }
    let error = refused(Program::new(&plain, "/")).await;
    assert!(matches!(&error, SpawnError::Forbidden(path) if *path == plain), "{error:?}");

    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o755)).unwrap();
    let error = refused(Program::new(&plain, "/")).await;
    assert!(matches!(error, SpawnError::Failed { .. }), "text is not a program: {error:?}");
    let error = refused(Program::new("/bin/true\0", "/")).await;
    assert!(matches!(error, SpawnError::Failed { .. }), "{error:?}");
}

#[tokio::test]
async fn deleted_working_directory_is_an_error_and_the_guardian_continues() {
    let guardian = guardian();
    let folder = tempfile::tempdir().unwrap();
    let here = || Program { cwd: folder.path().to_owned(), ..sh("pwd") };
    let before = run(&guardian, here()).await.1;
    assert_eq!(before.trim_end(), folder.path().to_str().unwrap());
    std::fs::remove_dir(folder.path()).unwrap();
    let error = guardian.spawn(here()).await.unwrap_err();
    assert!(matches!(error, SpawnError::DirectoryMissing(_)), "{error:?}");
    assert_eq!(run(&guardian, sh("echo on")).await, (code(0), "on\n".into()));
}

#[tokio::test]
async fn commands_may_be_as_large_as_the_system_allows() {
    let guardian = guardian();
    let count = |args: Vec<String>| sh("echo $#; printf %s \"$*\" | wc -c").args(["sh"]).args(args);
    let (exit, output) = run(&guardian, count(vec!["x".repeat(120 * 1024)])).await;
    assert_eq!((exit, output.as_str()), (code(0), "1\n122880\n"));
    let (exit, output) = run(&guardian, count(vec!["y".repeat(100 * 1024); 6])).await;
    assert_eq!((exit, output.as_str()), (code(0), "6\n614405\n"));
    let error = guardian.spawn(count(vec!["z".repeat(200 * 1024)])).await.unwrap_err();
    assert!(matches!(error, SpawnError::TooLarge), "one argument is at most 128 KiB: {error:?}");
    let error = guardian.spawn(count(vec!["z".repeat(100 * 1024); 400])).await.unwrap_err();
    assert!(matches!(error, SpawnError::TooLarge), "{error:?}");
    assert_eq!(run(&guardian, sh("echo on")).await.1, "on\n");
}

#[tokio::test]
async fn leftovers_are_killed_and_counted_before_the_exit_is_reported() {
    let sleep = unique_sleep();
    let script = format!("sleep {sleep} & setsid sleep {sleep} & nohup setsid -f sleep {sleep} & wait %3; exit 4");
    let (exit, _) = run(&guardian(), sh(&script)).await;
    assert_eq!(exit, ProgramExit { status: ExitStatus::Code(4), leftovers: 3 });
    assert!(running(&sleep).is_empty());
}

#[tokio::test]
async fn killing_leftovers_of_one_job_spares_other_jobs() {
    let guardian = guardian();
    let (mine, other) = (unique_sleep(), unique_sleep());
    let ready = format!("setsid -f sleep {other}; echo ready; sleep {other}");
    let mut neighbour = guardian.spawn(sh(&ready)).await.unwrap();
    neighbour.output.read_exact(&mut [0; 6]).await.unwrap();
    let (exit, _) = run(&guardian, sh(&format!("setsid -f sleep {mine} >/dev/null; true"))).await;
    assert_eq!(exit, ProgramExit { status: ExitStatus::Code(0), leftovers: 1 });
    assert!(running(&mine).is_empty());
    let sleepers = |words| running(words).into_iter().filter(|seen| seen.command.starts_with("sleep")).count();
    assert_eq!(sleepers(&other), 2);
    neighbour.kill(KillMode::Now);
    assert_eq!(neighbour.wait().await.unwrap().status, ExitStatus::Signal(9));
    assert!(running(&other).is_empty());
}

#[tokio::test]
async fn unattributable_leftover_is_killed_with_the_last_job() {
    let sleep = unique_sleep();
    let (exit, _) = run(&guardian(), sh(&format!("env -i setsid -f sleep {sleep} >/dev/null 2>&1"))).await;
    assert_eq!(exit, ProgramExit { status: ExitStatus::Code(0), leftovers: 1 });
    assert!(running(&sleep).is_empty());
}

#[tokio::test]
async fn leftovers_may_be_kept_until_the_owner_ends() {
    let sleep = unique_sleep();
    let guardian = guardian();
    let script = format!("setsid -f sleep {sleep} >/dev/null 2>&1");
    let (exit, _) = run(&guardian, Program { leftovers: Leftovers::Keep, ..sh(&script) }).await;
    assert_eq!(exit, ProgramExit { status: ExitStatus::Code(0), leftovers: 1 });
    assert_eq!(run(&guardian, sh("true")).await.0, code(0));
    assert_eq!(running(&sleep).len(), 1);
    drop(guardian);
    tokio::task::yield_now().await;
    within_five_seconds("the kept process is gone", || running(&sleep).is_empty());
}

#[tokio::test]
async fn a_gentle_kill_lets_a_program_end_by_itself() {
    let guardian = guardian();
    let script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.01; done";
    let mut process = guardian.spawn(sh(script)).await.unwrap();
    process.output.read_exact(&mut [0; 6]).await.unwrap();
    let began = Instant::now();
    process.kill(KillMode::Gentle);
    let mut output = String::new();
    process.output.read_to_string(&mut output).await.unwrap();
    let exit = process.wait().await.unwrap();
    assert_eq!(exit.status, ExitStatus::Code(5));
    assert!(output.ends_with("bye\n"), "{output}");
    assert!(began.elapsed() < Duration::from_secs(2), "the grace was not waited for");
}

#[tokio::test]
async fn program_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let sleep = unique_sleep();
    let guardian = guardian();
    let script = format!("trap '' TERM; setsid -f sleep {sleep}; echo ready; sleep {sleep}; sleep {sleep}");
    let mut process = guardian.spawn(sh(&script)).await.unwrap();
    process.output.read_exact(&mut [0; 6]).await.unwrap();
    let began = Instant::now();
    process.kill(KillMode::Gentle);
    let exit = process.wait().await.unwrap();
    let took = began.elapsed();
    assert_eq!(exit.status, ExitStatus::Signal(9));
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(4), "{took:?}");
    assert!(running(&sleep).is_empty());
}

#[tokio::test]
async fn nested_bosun_ends_with_its_job_and_spares_other_jobs() {
    let (inner, other) = (unique_sleep(), unique_sleep());
    let guardian = guardian();
    let neighbour = guardian.spawn(sh(&format!("sleep {other}; true"))).await.unwrap();
    let script = format!("exec {EXECUTABLE} owner 'setsid -f sleep {inner}; setsid sleep {inner}'");
    let mut process = guardian.spawn(sh(&script)).await.unwrap();
    process.output.read_exact(&mut [0; 6]).await.unwrap();
    let sleepers = || running(&inner).into_iter().filter(|seen| seen.command.starts_with("sleep")).count();
    within_five_seconds("the inner job runs", || sleepers() == 2);
    process.kill(KillMode::Now);
    assert_eq!(process.wait().await.unwrap().status, ExitStatus::Signal(9));
    assert_eq!(running(&inner).len(), 0, "{:?}", running(&inner));
    assert!(!running(&other).is_empty());
    drop(neighbour);
}

#[tokio::test]
async fn dropping_a_program_kills_it() {
    let sleep = unique_sleep();
    let guardian = guardian();
    let mut process = guardian.spawn(sh(&format!("echo ready; sleep {sleep}; true"))).await.unwrap();
    process.output.read_exact(&mut [0; 6]).await.unwrap();
    drop(process);
    assert_eq!(run(&guardian, sh("true")).await.0, code(0));
    within_five_seconds("the dropped program is gone", || running(&sleep).is_empty());
}

#[tokio::test]
async fn a_closed_output_pipe_ends_the_writer() {
    let process = guardian().spawn(Program::new("yes", "/").env("PATH", "/usr/bin:/bin")).await.unwrap();
    let (output, mut job) = (process.output, process.job);
    drop(output);
    assert_eq!(job.wait().await.unwrap().status, ExitStatus::Signal(13));
}

#[tokio::test]
async fn two_hundred_programs_at_once_leave_no_zombie() {
    let guardian = guardian();
    let mut all = tokio::task::JoinSet::new();
    for number in 0..200 {
        let guardian = guardian.clone();
        all.spawn(async move { (number, run(&guardian, sh(&format!("echo {number}; exit {}", number % 256))).await) });
    }
    while let Some(ended) = all.join_next().await {
        let (number, (exit, output)) = ended.unwrap();
        assert_eq!((exit, output), (code(number % 256), format!("{number}\n")));
    }
    let children = |parent: i32| processes().into_iter().filter(move |seen| seen.parent == parent);
    let mine: Vec<_> = guardians_of(std::process::id());
    assert!(mine.iter().all(|guardian| !children(guardian.pid).any(|child| child.is_zombie)));
}

#[tokio::test]
async fn a_dead_guardian_fails_its_jobs_leaves_nothing_and_is_replaced() {
    let sleep = unique_sleep();
    let guardian = guardian();
    let script = format!(
        "setsid -f sleep {sleep}; env -i setsid -f sleep {sleep}; (nohup sleep {sleep} &); echo ready; sleep {sleep} | cat"
    );
    let mut process = guardian.spawn(sh(&script)).await.unwrap();
    process.output.read_exact(&mut [0; 6]).await.unwrap();
    let pid = processes().into_iter().find(|seen| seen.pid.unsigned_abs() == process.pid()).unwrap().parent;
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    assert_eq!(process.wait().await, Err(WaitError::GuardianDied));
    assert_eq!(running(&sleep).len(), 0, "{:?}", running(&sleep));
    assert!(!processes().iter().any(|seen| seen.pid == pid), "the guardian was reaped");
    assert_eq!(run(&guardian, sh("echo on")).await, (code(0), "on\n".into()));
}

#[tokio::test]
async fn without_an_executable_there_is_no_guardian() {
    for path in ["/no/such/guardian", "/bin/true"] {
        let error = Guardian::new(path.into()).spawn(sh("true")).await.unwrap_err();
        assert!(matches!(error, SpawnError::Unavailable(_)), "{path}: {error:?}");
    }
}

#[tokio::test]
async fn starting_is_cheap() {
    let guardian = guardian();
    run(&guardian, Program::new("/bin/true", "/")).await;
    // Other processes on the machine may slow down some of them, but hardly all.
    let mut each = Duration::MAX;
    for _ in 0..10 {
        let began = Instant::now();
        for _ in 0..50 {
            let mut process = guardian.spawn(Program::new("/bin/true", "/")).await.unwrap();
            process.wait().await.unwrap();
        }
        each = each.min(began.elapsed() / 50);
    }
    println!("one program costs {each:?}");
    assert!(each < Duration::from_millis(20), "{each:?}");
}

#[tokio::test]
async fn fast_forking_program_is_killed() {
    // Each process starts the next one and ends; the pipe is open as long as one of them lives.
    let plain = "hop() { hop & }; hop";
    let away = "setsid sh -c 'hop() { hop & }; hop' &";
    for script in [plain, away] {
        for round in 0..5 {
            let guardian = guardian();
            let mut process = guardian.spawn(sh(script)).await.unwrap();
            let exit = tokio::time::timeout(Duration::from_secs(10), process.wait()).await.unwrap().unwrap();
            let mut said = Vec::new();
            let closed = tokio::time::timeout(Duration::from_secs(10), process.output.read_to_end(&mut said)).await;
            assert!(closed.is_ok(), "{script} lives on in round {round} after {exit:?}");
        }
    }
}

#[tokio::test]
async fn lock_is_held_until_all_started_processes_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(folder.path().join("home")).unwrap();
    let session = protocol::SessionId::new(uuid::Uuid::from_u128(1));
    home.make_session(session).unwrap();
    let guardian = guardian().with_lock(home.take_idle_session(session).unwrap().lock);
    let sleep = unique_sleep();
    let mut process = guardian.spawn(sh(&format!("echo ready; setsid sleep {sleep}; true"))).await.unwrap();
    process.output.read_exact(&mut [0; 6]).await.unwrap();
    drop((process, guardian));
    let settled = tokio::task::spawn_blocking(move || home.take_idle_session(session)).await.unwrap().unwrap();
    assert!(running(&sleep).is_empty(), "the lock was free while a program still ran");
    assert!(settled.had_programs());
}

/// Scripts that stop their guardian, once or for as long as they live.
const STOPPERS: [&str; 6] = [
    "echo ready; kill -STOP $PPID; exec sleep {}",
    "echo ready; kill -TSTP $PPID; kill -STOP $PPID; exec sleep {}",
    "echo ready; kill -STOP $PPID; setsid sleep {} & kill -STOP $PPID; exec sleep {}",
    "echo ready; trap '' TERM; while :; do kill -STOP $PPID; done & exec sleep {}",
    "echo ready; p=$PPID; env -i setsid -f sh -c \"while :; do kill -STOP $p; sleep 0.01; done\"; exec sleep {}",
    "echo ready; p=$PPID; (while kill -STOP $p; do :; done) & (while kill -STOP $p; do :; done) & exec sleep {}",
];

/// Starts such a script. On a busy machine it may stop its guardian so often before the guardian has said that it
/// started that the owner kills both: then there is no process, and nothing may be left.
async fn start_stopper(guardian: &Guardian, script: &str, sleep: &str) -> Option<Process> {
    match guardian.spawn(sh(&script.replace("{}", sleep))).await {
        Ok(mut process) => {
            process.output.read_exact(&mut [0; 6]).await.unwrap();
            Some(process)
        }
        Err(error) => {
            assert!(matches!(error, SpawnError::Unavailable(_)), "{script}: {error}");
            within_five_seconds("everything is gone", || running(sleep).is_empty());
            None
        }
    }
}

#[tokio::test]
async fn program_that_stops_its_guardian_is_still_ended() {
    for script in STOPPERS {
        for how in [KillMode::Now, KillMode::Gentle] {
            let sleep = unique_sleep();
            let guardian = guardian();
            let Some(mut process) = start_stopper(&guardian, script, &sleep).await else { continue };
            process.kill(how);
            let ended = tokio::time::timeout(Duration::from_secs(20), process.wait()).await;
            assert!(ended.is_ok(), "{script}: its end is not known");
            within_five_seconds("everything is gone", || running(&sleep).is_empty());
        }
    }
}

#[tokio::test]
async fn ending_a_stopped_guardian_leaves_no_processes() {
    for script in STOPPERS {
        let sleep = unique_sleep();
        let guardian = guardian();
        let Some(mut process) = start_stopper(&guardian, script, &sleep).await else { continue };
        let ended = tokio::time::timeout(Duration::from_secs(20), guardian.end()).await.unwrap();
        assert_eq!(ended, Ok(()), "{script}");
        assert!(running(&sleep).is_empty(), "{script}");
        assert_eq!(process.wait().await, Err(bosun_host::WaitError::GuardianDied));
    }
}

#[tokio::test]
async fn system_out_of_memory_kills_programs_before_their_owner() {
    let own: i32 = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    // The guardian lowers its own score again once the program has started.
    let lowered = format!("until grep -qx -- {own} /proc/$PPID/oom_score_adj; do sleep 0.01; done");
    let mut process = guardian().spawn(sh(&format!("cat /proc/self/oom_score_adj; {lowered}"))).await.unwrap();
    let mut said = String::new();
    let reading = process.output.read_to_string(&mut said);
    tokio::time::timeout(Duration::from_secs(20), reading).await.expect("the guardian's score is lowered").unwrap();
    assert_eq!(said, format!("{}\n", (own + 300).min(1000)));
}

#[tokio::test]
async fn memory_limit_applies_to_each_process_but_not_to_the_next_program() {
    let guardian = guardian();
    // dd allocates a block of this size.
    let takes =
        |megabytes: u32| format!("sh -c 'dd if=/dev/zero of=/dev/null bs={megabytes}M count=1 2>&1' | tail -n 1");
    for (memory, megabytes, works) in [(Some(64 << 20), 16, true), (Some(64 << 20), 128, false), (None, 128, true)] {
        let (_, said) = run(&guardian, Program { max_memory_bytes: memory, ..sh(&takes(megabytes)) }).await;
        assert_eq!(said.contains("copied"), works, "{memory:?}, {megabytes}: {said}");
    }
}
