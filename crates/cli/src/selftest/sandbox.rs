//! One run: its own home and folder, and owners that are killed until the last one finishes the work.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use client::SessionHandle;
use config::Env;
use host::sibling::{SiblingProcess, SiblingStart, count_processes_in};
use host::{ExitStatus, Home};
use protocol::api::TasksParams;
use protocol::{Envelope, Event, SessionId};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::audit::{OwnerDeath, RunArtifacts};
use super::kill_plan::{KillPlan, KillPoint};
use super::workload::Workload;
use crate::error::CliError;

/// The time limit of one owner.
const MAX_OWNER_TIME: Duration = Duration::from_secs(180);

/// How long processes may take to exit after the end.
const EXIT_GRACE: Duration = Duration::from_secs(5);

/// Settings with a limit so low that agents queue.
const SETTINGS: &str = "[limits]\nlive = 8\n";

/// Appends a line for every start and stop of an agent.
const HOOK: &str = r#"read -r told; printf '%s\n' "$told" >> "$HOME/told""#;

/// The folder of a run.
#[derive(Debug)]
pub(super) struct SelftestSandbox {
    base: TempDir,
    home: Home,
    path: OsString,
}

/// The outcome of a run.
#[derive(Debug)]
pub(super) struct SandboxRun {
    pub(super) artifacts: RunArtifacts,
    /// The output of the last owner if it failed.
    pub(super) failure: Option<String>,
}

impl SelftestSandbox {
    pub(super) fn new(env: &Env, workload: Workload) -> Result<SelftestSandbox, CliError> {
        let base = tempfile::Builder::new().prefix("bosun-").tempdir()?;
        fs::create_dir(base.path().join("work"))?;
        fs::write(base.path().join("model.yaml"), workload.script())?;
        let home = Home::open(base.path().join("home"))?;
        fs::write(home.root().join("config.toml"), SETTINGS)?;
        fs::create_dir_all(home.root().join("hooks"))?;
        fs::write(home.root().join("hooks/told.json"), hooks().to_string())?;
        let path = env.text("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        Ok(SelftestSandbox { base, home, path: path.into() })
    }

    /// Keeps the folder and returns its path.
    pub(super) fn keep(self) -> PathBuf {
        self.base.keep()
    }

    /// Starts and kills owners according to the plan.
    pub(super) fn run_plan(&self, plan: &KillPlan) -> Result<SandboxRun, CliError> {
        let mut deaths: Vec<OwnerDeath> = Vec::new();
        let mut kills = plan.kills.iter();
        loop {
            let session = self.resumable_session()?;
            if session.is_none() {
                deaths.iter_mut().for_each(|death| death.log.clear());
            }
            let kill = kills.next();
            let ended = self.run_owner(session.as_ref(), kill)?;
            let killed = ended == Some(ExitStatus::Signal(9));
            if killed && kill.is_some() {
                deaths.push(OwnerDeath { log: self.log()?, recorded_bytes: whole_lines_len(&self.recording()) });
                continue;
            }
            let failure = self.last_owner_failure(ended, session.is_some());
            return Ok(SandboxRun { artifacts: self.collect_artifacts(deaths)?, failure });
        }
    }

    /// Runs one owner; `None` if it did not end.
    fn run_owner(
        &self,
        session: Option<&(SessionId, u64)>,
        kill: Option<&KillPoint>,
    ) -> Result<Option<ExitStatus>, CliError> {
        let last_seq = session.map_or(0, |(_, last_seq)| *last_seq);
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), self.path.clone()),
            ("HOME".into(), self.base.path().into()),
            ("BOSUN_HOME".into(), self.home.root().into()),
        ];
        env.extend(kill.and_then(|kill| kill.fault(last_seq)).map(|fault| (config::FAULT.into(), fault.into())));
        let start = SiblingStart {
            args: self.args(session.map(|(id, _)| *id)),
            env,
            cwd: &self.work_dir(),
            output: self.output()?,
        };
        let mut owner = SiblingProcess::start(start)?;
        if let Some(KillPoint::Time(time)) = kill {
            if let Some(ended) = owner.wait(*time)? {
                return Ok(Some(ended));
            }
            owner.kill()?;
        }
        Ok(owner.wait(MAX_OWNER_TIME)?)
    }

    fn args(&self, session: Option<SessionId>) -> Vec<OsString> {
        let mut args: Vec<OsString> = match session {
            Some(id) => vec!["--resume".into(), id.to_string().into()],
            None => {
                let mut model = OsString::from("script/");
                model.push(self.base.path().join("model.yaml"));
                vec!["-p".into(), Workload::PROMPT.into(), "--model".into(), model]
            }
        };
        args.extend(["--allow-all", "--quiet", "--background-wait", "3m", "--record"].map(OsString::from));
        args.push(self.base.path().join("recording").into());
        args
    }

    /// The session and its last event. A session killed before its prompt was durable cannot be resumed and is removed.
    fn resumable_session(&self) -> Result<Option<(SessionId, u64)>, CliError> {
        let Some(id) = self.session()? else { return Ok(None) };
        let log = self.log()?;
        if log.iter().any(|envelope| matches!(envelope.entry.event, Event::MailAdmitted { .. })) {
            return Ok(Some((id, log.last().map_or(0, |envelope| envelope.seq))));
        }
        fs::remove_dir_all(self.home.session_dir(id))?;
        Ok(None)
    }

    fn session(&self) -> Result<Option<SessionId>, CliError> {
        for entry in fs::read_dir(self.home.sessions_dir())? {
            if let Some(id) = entry?.file_name().to_str().and_then(|name| name.parse().ok()) {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    fn log(&self) -> Result<Vec<Envelope>, CliError> {
        let Some(id) = self.session()? else { return Ok(Vec::new()) };
        // The file of a session killed during its creation may not be valid yet.
        Ok(SessionHandle::new(&self.home, id).events_after(0, usize::MAX).unwrap_or_default())
    }

    fn collect_artifacts(&self, deaths: Vec<OwnerDeath>) -> Result<RunArtifacts, CliError> {
        let tasks = match self.session()? {
            Some(id) => SessionHandle::new(&self.home, id).tasks(&TasksParams::all_tasks())?.tasks,
            None => Vec::new(),
        };
        let witness = fs::read_to_string(self.work_dir().join("witness")).unwrap_or_default();
        let strays = count_strays(&self.work_dir())?;
        let hook_lines = fs::read_to_string(self.base.path().join("told")).unwrap_or_default();
        Ok(RunArtifacts {
            log: self.log()?,
            tasks,
            deaths,
            witness,
            recording: self.recording(),
            hook_lines,
            stray_processes: strays,
        })
    }

    /// Why the last owner's end is a failure, if it is. An owner with nothing left to do says so.
    fn last_owner_failure(&self, ended: Option<ExitStatus>, resumed: bool) -> Option<String> {
        let output = fs::read(self.base.path().join("output")).unwrap_or_default();
        let output = String::from_utf8_lossy(&output);
        let has_nothing_left =
            resumed && ended == Some(ExitStatus::Code(2)) && output.contains("has nothing left to do");
        match ended {
            Some(ExitStatus::Code(0)) => None,
            Some(ExitStatus::Code(_)) if has_nothing_left => None,
            Some(status) => Some(format!("the last owner ended with {status}: {}", output.trim())),
            None => Some(format!("the last owner did not end within {} s", MAX_OWNER_TIME.as_secs())),
        }
    }

    fn recording(&self) -> String {
        let bytes = fs::read(self.base.path().join("recording")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn work_dir(&self) -> PathBuf {
        self.base.path().join("work")
    }

    fn output(&self) -> Result<File, CliError> {
        Ok(File::create(self.base.path().join("output"))?)
    }
}

/// The hooks file.
fn hooks() -> Value {
    let hook = json!([{ "type": "command", "bash": HOOK }]);
    json!({ "version": 1, "hooks": { "subagentStart": hook, "subagentStop": hook } })
}

/// The length of the complete lines of the recording; a crash may have cut off the last one.
fn whole_lines_len(recording: &str) -> usize {
    recording.rfind('\n').map_or(0, |end| end + 1)
}

/// The number of a run's processes that are left after the grace period.
fn count_strays(folder: &Path) -> Result<usize, CliError> {
    let started = Instant::now();
    loop {
        let count = count_processes_in(folder)?;
        if count == 0 || started.elapsed() > EXIT_GRACE {
            return Ok(count);
        }
        thread::sleep(Duration::from_millis(10));
    }
}
