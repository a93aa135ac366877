//! Commands that begin, show and end the host.

use std::collections::BTreeSet;
use std::fs;
use std::thread;

use serde_json::Value;
use testkit::binary::{PATIENCE, within};

use super::HostFixture;
use crate::BOSUN;

#[test]
fn commands_that_start_the_host_at_once_share_one() {
    let host = HostFixture::new(BOSUN);
    let begin = |number: usize| {
        let run = host.bosun(&["-p", &format!("held job {number}"), "--detach", "--output-format", "json"]);
        run.run().expect(0).json()
    };
    let begun: Vec<Value> = thread::scope(|scope| {
        let starting: Vec<_> = (0..6).map(|number| scope.spawn(move || begin(number))).collect();
        starting.into_iter().map(|begun| begun.join().unwrap()).collect()
    });
    let pids: BTreeSet<u64> = begun.iter().map(|begun| begun["pid"].as_u64().unwrap()).collect();
    assert_eq!(pids.len(), 1, "{begun:?}");
    let held: BTreeSet<String> =
        host.status()["sessions"].as_array().unwrap().iter().map(|held| held["id"].to_string()).collect();
    assert_eq!(held, begun.iter().map(|begun| begun["session"].to_string()).collect());
}

#[test]
fn a_stopped_host_releases_its_sessions_and_a_terminated_one_does_not() {
    let host = HostFixture::new(BOSUN);
    let id = host.begin_jobs(1).remove(0);
    let shown = host.bosun(&["serve", "--status"]).run().expect(0).stdout;
    assert!(shown.contains("1 session kept") && shown.contains(&id) && shown.contains("working"), "{shown}");
    host.bosun(&["serve", "--stop"]).run().expect(0).says(&["ended process"]);
    assert!(host.status().is_null());
    assert_eq!(host.fixture.sessions()[0]["state"], "interrupted");
    // The next host leaves it alone.
    let mut resident = host.bosun(&["serve", "--no-http", "--json"]).start();
    resident.await_stdout("\n");
    assert_eq!(host.status()["sessions"], Value::Array(Vec::new()));
    // Resumed by the user, it survives the next host.
    host.bosun(&["--resume", &id, "--detach", "--allow-all"]).run().expect(0);
    resident.signal(testkit::binary::ProcessSignal::Terminate);
    resident.wait().expect(0);
    host.release();
    host.detach("busy job 1");
    host.await_rest(&[id]);
}

#[test]
fn a_host_without_sessions_ends_by_itself() {
    let host = HostFixture::new(BOSUN);
    host.release();
    let resident = host.bosun(&["serve", "--no-http", "--idle-after", "200ms"]).start();
    resident.await_stdout("the session host runs");
    host.detach("busy job 1");
    resident.wait().expect(0);
}

#[test]
fn a_second_server_is_refused_with_a_remedy() {
    let host = HostFixture::new(BOSUN);
    let first = host.bosun(&["serve", "--json"]).start();
    first.await_stdout("\n");
    host.bosun(&["serve"]).run().expect(2).says(&["the session host already runs", "--replace"]);
}

#[test]
fn what_cannot_run_in_the_background_is_refused_before_a_session_is_begun() {
    let host = HostFixture::new(BOSUN);
    host.bosun(&["-p", "/compact", "--detach"]).run().expect(2).says(&["slash command"]);
    host.bosun(&["-p", "go", "--detach", "--output-format", "jsonl"]).run().expect(2).says(&["sessions watch"]);
    host.bosun(&["-p", "go", "--detach", "--model", "nowhere/x"]).run().expect(2).says(&["nowhere"]);
    assert!(host.fixture.sessions().is_empty());
}

#[test]
fn a_fleet_works_in_the_background_and_a_bad_plan_begins_nothing() {
    let host = HostFixture::new(BOSUN);
    let plan = host.fixture.path("plan.yaml");
    fs::write(&plan, "todos:\n  - { id: a, title: Job a }\n  - { id: b, title: Job b, depends_on: [a] }\n").unwrap();
    let run = ["fleet", "run", "plan.yaml", "--detach", "--allow-all"];
    let id = host.bosun(&run).run().expect(0).stdout.trim().to_owned();
    let status = || host.bosun(&["fleet", "status", &id, "--json"]).run().expect(0).json();
    within(PATIENCE, "the fleet is done", || status()["end"] == "done");
    assert_eq!(status()["todos"][1]["status"], "done");
    fs::write(&plan, "todos:\n  - { id: a, title: Job a, agent: nobody }\n").unwrap();
    host.bosun(&run).run().expect(2).says(&["a: there is no agent type `nobody`"]);
    fs::write(&plan, "todos:\n  - { id: a }\n").unwrap();
    host.bosun(&run).run().expect(2).says(&["plan.yaml:2:", "it has no `title`"]);
    assert_eq!(host.fixture.sessions().len(), 1);
}

#[test]
fn the_service_is_a_unit_of_the_users_systemd() {
    let host = HostFixture::new(BOSUN);
    let config = host.fixture.path("config");
    let service = |args: &[&str]| host.bosun(&[&["service"], args].concat()).env("XDG_CONFIG_HOME", &config).run();
    service(&["install"]).expect(2).says(&["systemd does not run services for this user", "--no-start"]);
    let unit = config.join("systemd/user/bosun.service");
    assert!(!unit.exists());
    service(&["install", "--no-start"]).expect(0).says(&["wrote", "systemctl --user"]);
    assert!(fs::read_to_string(&unit).unwrap().contains(" serve --no-http\n"));
    assert_eq!(service(&["status", "--json"]).expect(0).json()["installed"], true);
    service(&["uninstall"]).expect(0).says(&["removed"]);
    assert!(!unit.exists());
    fs::write(&unit, "[Unit]\n").unwrap();
    service(&["install", "--no-start"]).expect(2).says(&["was not written by bosun"]);
}
