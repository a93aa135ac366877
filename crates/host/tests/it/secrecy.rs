//! Secrets and origin: a guardian contains no secrets, and no process can hide who started it.

use bosun_host::{Lineage, Program};
use tokio::io::AsyncReadExt;

use crate::machine::{EXECUTABLE, as_ordinary_user, guardian, guardians_of, program, sh};

async fn said(program: Program) -> String {
    let mut process = guardian().spawn(program).await.unwrap();
    let mut output = String::new();
    process.output.read_to_string(&mut output).await.unwrap();
    process.wait().await.unwrap();
    output
}

#[test]
fn a_program_cannot_read_its_guardian() {
    as_ordinary_user("secrecy::a_program_cannot_read_its_guardian", || {
        let look = "for file in environ maps mem fd/0; do (: < /proc/$PPID/$file) 2> /dev/null && echo $file; done; \
            ls /proc/$PPID/fd 2> /dev/null; (: < /proc/$$/environ) && tr '\\0' ' ' < /proc/$PPID/cmdline";
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        assert_eq!(runtime.block_on(said(sh(look))), "guardian __guardian ");
    });
}

#[tokio::test]
async fn guardian_does_not_inherit_the_environment() {
    let guardian = guardian();
    let _process = guardian.spawn(sh("sleep 1000")).await.unwrap();
    let pid = guardians_of(std::process::id())[0].pid;
    // Only root can read it; an ordinary user is refused, which is fine too.
    let environ = std::fs::read_to_string(format!("/proc/{pid}/environ")).unwrap_or_default();
    let names = environ.split('\0').filter(|entry| !entry.is_empty()).map(|entry| entry.split('=').next().unwrap());
    let kept = ["PATH", "LD_LIBRARY_PATH", "BOSUN_JOB", "BOSUN_RECORD"];
    assert_eq!(names.filter(|name| !kept.contains(name)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[tokio::test]
async fn processes_started_by_a_program_have_agent_lineage() {
    let guardian = guardian();
    let scripts = [
        "echo $$; exec sleep 1000",
        "sh -c 'sh -c \"echo \\$\\$; exec sleep 1000\"'; true",
        "env -i setsid -f sh -c 'echo $$; exec sleep 1000'; sleep 1000",
        "(setsid sh -c '(echo $$; sleep 1000) & sh -c \"echo \\$\\$; exec sleep 1000\" & exit' &); sleep 1000",
    ];
    for script in scripts {
        let mut process = guardian.spawn(sh(script)).await.unwrap();
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            line.push(process.output.read_u8().await.unwrap());
        }
        let last = String::from_utf8(line).unwrap();
        let pid = last.trim().parse().unwrap();
        // The shell in the middle of a double fork ends by itself; one that has ended is nobody's.
        let lineage = Lineage::of(pid);
        assert!(matches!(lineage, Lineage::Agent | Lineage::Unknown), "{script}: {lineage:?}");
        assert!(lineage == Lineage::Agent || !std::path::Path::new(&format!("/proc/{pid}")).exists(), "{script}");
    }
}

#[test]
fn processes_started_by_the_user_have_user_lineage() {
    let mut child = program("sleep").arg("1000").env("BOSUN_JOB", "1.2.3").spawn().unwrap();
    assert_eq!(Lineage::of(child.id()), Lineage::Person);
    assert_eq!(Lineage::of(std::process::id()), Lineage::Person);
    assert_eq!(Lineage::of_this_process(), Lineage::Person);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(Lineage::of(child.id()), Lineage::Unknown);
}

/// Ways in which an agent's program could hide from a Bosun that an agent started it. `{}` is the Bosun.
const DISGUISES: [&str; 24] = [
    "{}",
    "env -i {}",
    "env -u BOSUN_JOB {}",
    "env BOSUN_JOB= {}",
    "env -i setsid {}",
    "env -i setsid -w -f {}",
    "env -i sh -c '(sh -c \"{}; true\"; true)'",
    "env -i nohup {} 2> /dev/null",
    "cp $(echo {} | cut -d' ' -f1) $TMPDIR/copy && env -i $TMPDIR/copy lineage; rm -f $TMPDIR/copy",
    "ulimit -x unlimited 2> /dev/null; env -i {}",
    "(ulimit -x 5; env -i {})",
    "env -i prlimit --locks=unlimited {} 2> /dev/null || env -i {}",
    "env -i unshare -Ur {}",
    "env -i unshare -Urpf {}",
    "env -i unshare -Urpf --mount-proc {}",
    "env -i unshare -Urpf --mount-proc setsid {}",
    "env -i unshare -Urpf --mount-proc sh -c '{}; true'",
    "env -i unshare -Urpf --mount-proc unshare -Urpf --mount-proc {}",
    "env -i unshare -Urpfm sh -c 'mount -t tmpfs none /proc; {}; true'",
    "env -i unshare -Urpfmuin --mount-proc {}",
    "env -i unshare -Urpf --mount-proc sh -c 'ulimit -x unlimited; {}; true' 2> /dev/null",
    "env -i unshare -Urpf --mount-proc sh -c 'ulimit -x 7; {}; true'",
    "env -i unshare -Urpf --mount-proc prlimit --locks=unlimited {} 2> /dev/null || echo Unknown",
    "env -i unshare -UrC {}",
];

#[test]
fn nested_bosun_cannot_hide_its_agent_lineage() {
    as_ordinary_user("secrecy::nested_bosun_cannot_hide_its_agent_lineage", || {
        let bosun = format!("{EXECUTABLE} lineage");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let has_namespaces = program("unshare").args(["-Urpf", "--mount-proc", "true"]).status().unwrap().success();
        let folder = tempfile::tempdir().unwrap();
        for disguise in DISGUISES {
            let script = disguise.replace("{}", &bosun);
            let said = runtime.block_on(said(sh(&script).env("TMPDIR", folder.path())));
            let possible = has_namespaces || !disguise.contains("unshare");
            assert!(!said.contains("Person"), "{disguise}: {said}");
            assert!(!possible || said.contains("Agent") || said.contains("Unknown"), "{disguise}: {said}");
        }
    });
}
