//! The fixture of a scenario: its own home and working folder, in which sessions are opened one after the other, as
//! processes would.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fleet::FleetEngine;
use host::{Clock, Home, Ids, ProcessIdentity};
use model::Model;
use policy::{Policy, Rule, RuleSource};
use protocol::{AgentSpec, Budget, PermissionMode, RuleText, SessionId};
use runtime::{ClientExtensions, Session, SessionOpenError, SessionSettings, SessionStart};
use store::{WriterProbe, copy_session};
use tempfile::TempDir;

use super::scenario::Folders;
use super::{CheckedModel, CountedIds, FailingProbe, FakeClock, Scenario, SessionDriver, guardian};

/// The fixture of a scenario. Clones share everything.
#[derive(Debug, Clone)]
pub struct SessionFixture(Arc<FixtureParts>);

#[derive(Debug)]
struct FixtureParts {
    /// Removed with the fixture.
    _top: TempDir,
    cwd: PathBuf,
    home: Home,
    clock: Arc<FakeClock>,
    ids: Arc<CountedIds>,
    probe: Arc<FailingProbe>,
    scenario: Scenario,
    /// The budget of sessions opened next.
    budget: Mutex<Budget>,
    /// The permission mode of sessions opened next.
    mode: Mutex<PermissionMode>,
    /// The main agent of sessions opened next.
    main: Mutex<Option<AgentSpec>>,
    /// How long sessions opened next wait for a person.
    ask_wait: Mutex<Option<Duration>>,
    /// Each session's model with its requests, across its owners.
    models: Mutex<HashMap<SessionId, Arc<CheckedModel>>>,
}

impl SessionFixture {
    pub(super) fn set(scenario: Scenario) -> SessionFixture {
        let top = TempDir::new().unwrap();
        let real = top.path().canonicalize().unwrap();
        let cwd = real.join("work");
        fs::create_dir(&cwd).unwrap();
        for (path, text) in &scenario.files {
            let path = cwd.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let home = Home::open(real.join("home")).unwrap();
        SessionFixture(Arc::new(FixtureParts {
            _top: top,
            cwd,
            home,
            clock: Arc::default(),
            ids: Arc::default(),
            probe: Arc::default(),
            budget: Mutex::new(scenario.budget),
            mode: Mutex::new(scenario.mode),
            ask_wait: Mutex::new(scenario.ask_wait),
            main: Mutex::new(scenario.main.clone()),
            scenario,
            models: Mutex::default(),
        }))
    }

    /// Opens a session, which must succeed.
    pub async fn open(&self, start: SessionStart) -> SessionDriver {
        self.try_open(start).await.unwrap_or_else(|error| panic!("{start:?}: {error}"))
    }

    /// Opens a session.
    pub async fn try_open(&self, start: SessionStart) -> Result<SessionDriver, SessionOpenError> {
        let model = match start {
            SessionStart::Resume(id) => self.model(id),
            SessionStart::New | SessionStart::Fork(_) => self.fresh_model(),
        };
        let session = Session::open(self.settings(&model), start).await?;
        self.0.models.lock().unwrap().insert(session.id(), Arc::clone(&model));
        Ok(SessionDriver::new(self.clone(), session, model))
    }

    /// Opens a session as an adapter does: with this id and its client's extensions.
    pub async fn open_as_adapter(
        &self,
        start: SessionStart,
        id: Option<SessionId>,
        extensions: ClientExtensions,
    ) -> Result<Session, SessionOpenError> {
        let model = match start {
            SessionStart::Resume(id) => self.model(id),
            SessionStart::New | SessionStart::Fork(_) => self.fresh_model(),
        };
        let session =
            Session::open(SessionSettings { id, client_extensions: extensions, ..self.settings(&model) }, start)
                .await?;
        self.0.models.lock().unwrap().insert(session.id(), model);
        Ok(session)
    }

    /// A session's model with its requests.
    pub fn model(&self, id: SessionId) -> Arc<CheckedModel> {
        self.0.models.lock().unwrap().get(&id).cloned().unwrap_or_else(|| self.fresh_model())
    }

    /// Sets the budget of sessions opened next.
    pub fn set_budget(&self, budget: Budget) {
        *self.0.budget.lock().unwrap() = budget;
    }

    /// Sets the permission mode of sessions opened next.
    pub fn set_mode(&self, mode: PermissionMode) {
        *self.0.mode.lock().unwrap() = mode;
    }

    /// Sets how long sessions opened next wait for a person; `None` means for ever.
    pub fn set_ask_wait(&self, wait: Option<Duration>) {
        *self.0.ask_wait.lock().unwrap() = wait;
        // The offered tools may change with it, so the history of requests starts anew.
        self.0.models.lock().unwrap().clear();
    }

    /// Sets the main agent of sessions opened next; `None` means the default one.
    pub fn set_main(&self, main: Option<AgentSpec>) {
        *self.0.main.lock().unwrap() = main;
    }

    /// The home of sessions.
    pub fn home(&self) -> &Home {
        &self.0.home
    }

    /// The clock of every session.
    pub fn clock(&self) -> &FakeClock {
        &self.0.clock
    }

    /// The probe in every session's writer.
    pub fn probe(&self) -> &FailingProbe {
        &self.0.probe
    }

    /// A path in the working folder.
    pub fn path(&self, path: &str) -> PathBuf {
        self.0.cwd.join(path)
    }

    /// The text of a file in the working folder; `None` if it does not exist.
    pub fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }

    /// Replaces this fixture's paths in a text with fixed names.
    pub fn plain(&self, text: &str) -> String {
        let named = |text: String, path: &Path, name: &str| text.replace(&path.display().to_string(), name);
        named(named(text.to_owned(), &self.0.cwd, "<dir>"), self.0.home.root(), "<home>")
    }

    /// Makes a session whose owner crashed available to the next: for the store, this process is still alive.
    pub(super) fn release(&self, id: SessionId) {
        let home = self.home();
        let copy = SessionId::new(self.0.ids.uuid());
        copy_session(home, id, copy).unwrap();
        let (grave, folder) = (home.session_dir(copy), home.session_dir(id));
        for ending in ["-wal", "-shm"] {
            // They exist unless the log was checkpointed.
            fs::remove_file(folder.join(format!("session.db{ending}"))).unwrap_or_default();
        }
        fs::rename(home.session_db(copy), home.session_db(id)).unwrap();
        fs::remove_dir_all(grave).unwrap();
    }

    fn fresh_model(&self) -> Arc<CheckedModel> {
        Arc::new(CheckedModel::new(Arc::clone(&self.0.scenario.model)))
    }

    fn settings(&self, model: &Arc<CheckedModel>) -> SessionSettings {
        let FixtureParts { cwd, home, clock, ids, probe, scenario, budget, mode, ask_wait, main, .. } = &*self.0;
        SessionSettings {
            added_folders: match scenario.reach {
                Folders::Own => Vec::new(),
                Folders::Home => vec![home.root().to_owned()],
            },
            outside_files: scenario.outside_files,
            models: Arc::clone(&scenario.models),
            cost_guard: scenario.guard,
            catalog: scenario.catalog.clone(),
            main_agent: main.lock().unwrap().clone(),
            fleet_runner: Some(Arc::new(FleetEngine)),
            client_extensions: scenario.extensions.clone(),
            tool_catalog: scenario.tool_catalog.clone(),
            id: scenario.id,
            features: scenario.features,
            policy: policy(scenario, *mode.lock().unwrap(), cwd, home),
            rules: scenario.rules.clone(),
            mode: scenario.session_mode,
            default_plan_action: scenario.plan_exit,
            ask_user: scenario.ask_user,
            ask_wait: *ask_wait.lock().unwrap(),
            call_background_after: scenario.background_after,
            limits: scenario.limits.clone(),
            watchdog: scenario.watch.clone(),
            list: scenario.list.clone(),
            max_turns: scenario.max_turns,
            budget: *budget.lock().unwrap(),
            day_budget: scenario.day_budget,
            timeout: scenario.timeout,
            secrets: scenario.secrets.clone(),
            tools: scenario.tools,
            spools: Arc::new(runtime::Spools::new(scenario.spools, Arc::clone(&scenario.disk))),
            guardian: scenario.guardian.clone().unwrap_or_else(guardian),
            env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), ("HOME".into(), cwd.into())],
            clock: Arc::clone(clock) as Arc<dyn Clock>,
            ids: Arc::clone(ids) as Arc<dyn Ids>,
            probe: Arc::clone(probe) as Arc<dyn WriterProbe>,
            ..SessionSettings::minimal(home.clone(), cwd.clone(), Arc::clone(model) as Arc<dyn Model>, model.name())
        }
    }
}

/// Files that control Bosun in a project.
const CONTROLS: [&str; 6] =
    [".bosun", ".claude/settings.json", ".claude/settings.local.json", ".claude/hooks", ".mcp.json", ".github/hooks"];

fn policy(scenario: &Scenario, mode: PermissionMode, cwd: &Path, home: &Home) -> Policy {
    let rule = |text: &RuleText| Rule::parse(text.effect, &text.rule, RuleSource::Flag).unwrap();
    let rules = scenario.rules.iter().map(rule).collect();
    let controls = CONTROLS.iter().map(|name| cwd.join(name)).chain([home.root().to_owned()]).collect();
    Policy { mode, rules, project_dir: cwd.to_owned(), control_paths: controls, ..Policy::default() }
}

/// Whether a process still holds the session.
pub(super) fn held(home: &Home, id: SessionId) -> Option<ProcessIdentity> {
    store::SessionReader::open(home, id).and_then(|reader| reader.lease()).unwrap().map(|(_, owner)| owner)
}
