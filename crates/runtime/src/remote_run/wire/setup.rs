//! The setup that a run in another process receives at its start: its task, its workplace and its catalogue. The run is
//! never that of the root, which works in the session's own process.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use host::{Guardian, Home, SystemClock, TimeIds, Workspace};
use net::Secret;
use policy::{Policy, RuleError};
use protocol::{
    AgentSpec, Budget, PermissionMode, PlanAction, ReasoningEffort, RunId, SessionId, SkillSpec, TaskId, TaskSpec,
};
use serde::{Deserialize, Serialize};
use tools::{Tool, ToolCatalog, ToolLimits};

use super::WirePolicy;
use super::models::{WireModels, WireRoute, WireSecret};
use super::policy::{os_strings, paths};
use super::session_tool::{SessionTool, SessionToolCatalog, WireTool};
use crate::agent::{ConversationCache, Deadline, RunParts};
use crate::catalog::Catalog;
use crate::grants::Grants;
use crate::instructions::{InstructionFile, Instructions};
use crate::redact::Redactor;
use crate::run_requests::{CheckoutOwner, TaskProfile};
use crate::session_context::{AgentCatalog, OutsideTools, SessionContext, SessionFacts, Workplace};
use crate::settings::OutsideFiles;
use crate::settings::SessionFeatures;
use crate::task_workspaces::TaskWorkspace;

/// The setup of a run in another process.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct RunSetup {
    /// The version of the program on the session's side; both sides must be the same.
    version: String,
    run: RunId,
    profile: WireProfile,
    facts: WireFacts,
    workplace: WireWorkplace,
    catalog: WireCatalog,
    models: WireModels,
}

/// It contains keys.
impl fmt::Debug for RunSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSetup").field("run", &self.run).finish_non_exhaustive()
    }
}

/// Why a run cannot begin in another process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunSetupError {
    #[error("the models of this session exist only in its own process, so `{agent}` cannot have a process of its own")]
    OnlyHere { agent: String },
    #[error("the session runs version {theirs} of Bosun, and this program is version {ours}")]
    Version { theirs: String, ours: &'static str },
    #[error("the session's home {} cannot be used", .0.display())]
    NoHome(PathBuf),
    #[error("cannot work in {}: {source}", folder.display())]
    Folder { folder: PathBuf, source: io::Error },
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("{0}")]
    Agent(String),
}

/// What the parts of a run are built from.
pub(in crate::remote_run) struct SetupParts {
    pub(in crate::remote_run) run: RunId,
    pub(in crate::remote_run) parts: RunParts,
    pub(in crate::remote_run) grants: Arc<Grants>,
}

impl RunSetup {
    /// The setup for a run of this task.
    pub(in crate::remote_run) fn new(
        context: &SessionContext,
        run: RunId,
        profile: &TaskProfile,
        workspace: &TaskWorkspace,
    ) -> Result<RunSetup, RunSetupError> {
        let only_here = || RunSetupError::OnlyHere { agent: profile.spec.agent.clone() };
        let models = context.catalog.models.sources().ok_or_else(only_here)?;
        if context.catalog.client_extensions.joined_providers.of_model(&profile.model).is_some() {
            return Err(only_here());
        }
        Ok(RunSetup {
            version: env!("CARGO_PKG_VERSION").into(),
            run,
            profile: profile.into(),
            facts: WireFacts::of(&context.facts),
            workplace: WireWorkplace::of(&context.workplace, workspace),
            catalog: WireCatalog::of(&context.catalog, profile, &context.facts.tools),
            models: WireModels::from(&models),
        })
    }

    /// The parts of the run, in the process that performs it.
    pub(in crate::remote_run) fn open(self) -> Result<SetupParts, RunSetupError> {
        let RunSetup { version, run, profile, facts, workplace, catalog, models } = self;
        let ours = env!("CARGO_PKG_VERSION");
        if version != ours {
            return Err(RunSetupError::Version { theirs: version, ours });
        }
        let profile = TaskProfile::from(profile);
        let facts = Arc::new(facts.open()?);
        let (workplace, workspace, grants) = workplace.open(&facts)?;
        let catalog = catalog.open(&profile, models)?;
        let agent = catalog.prepared_agent(&facts, &profile, workspace);
        let agent = agent.map_err(|error| RunSetupError::Agent(error.to_string()))?;
        let conversations = Arc::new(ConversationCache::default());
        let parts =
            RunParts { workplace: Arc::new(workplace), catalog: Arc::new(catalog), conversations, profile, agent };
        Ok(SetupParts { run, parts, grants })
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::remote_run) struct WireProfile {
    task: TaskId,
    spec: TaskSpec,
    path: String,
    depth: u32,
    definition: Option<AgentSpec>,
    mode: Option<PermissionMode>,
    model: String,
    effort: Option<ReasoningEffort>,
    is_budgeted: bool,
    checkout: Option<WireCheckoutOwner>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCheckoutOwner {
    task: TaskId,
    name: String,
    folder: Option<String>,
}

impl From<&TaskProfile> for WireProfile {
    fn from(profile: &TaskProfile) -> WireProfile {
        let TaskProfile { task, spec, path, depth, definition, mode, model, effort, is_budgeted, checkout } = profile;
        let checkout = checkout.as_ref().map(|CheckoutOwner { task, name, folder }| WireCheckoutOwner {
            task: *task,
            name: name.to_string(),
            folder: folder.clone(),
        });
        WireProfile {
            task: *task,
            spec: (**spec).clone(),
            path: path.to_string(),
            depth: *depth,
            definition: definition.as_deref().cloned(),
            mode: *mode,
            model: model.to_string(),
            effort: *effort,
            is_budgeted: *is_budgeted,
            checkout,
        }
    }
}

impl From<WireProfile> for TaskProfile {
    fn from(profile: WireProfile) -> TaskProfile {
        let WireProfile { task, spec, path, depth, definition, mode, model, effort, is_budgeted, checkout } = profile;
        let checkout =
            checkout.map(|WireCheckoutOwner { task, name, folder }| CheckoutOwner { task, name: name.into(), folder });
        TaskProfile {
            task,
            spec: Arc::new(spec),
            path: path.into(),
            depth,
            definition: definition.map(Arc::new),
            mode,
            model: model.into(),
            effort,
            is_budgeted,
            checkout,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireFacts {
    session: SessionId,
    home: OsString,
    cwd: OsString,
    added_folders: Vec<OsString>,
    max_depth: u32,
    day_budget_micros: Option<u64>,
    effort: Option<ReasoningEffort>,
    remaining_millis: Option<u64>,
    ask_wait_millis: Option<u64>,
    tools: WireToolLimits,
}

impl WireFacts {
    fn of(facts: &SessionFacts) -> WireFacts {
        WireFacts {
            session: facts.session,
            home: facts.home.root().into(),
            cwd: facts.cwd.clone().into(),
            added_folders: os_strings(&facts.added_folders),
            max_depth: facts.limits.depth,
            day_budget_micros: facts.day_budget,
            effort: facts.effort,
            remaining_millis: facts.deadline.remaining().map(millis),
            ask_wait_millis: facts.ask_wait.map(millis),
            tools: facts.tools.into(),
        }
    }

    fn open(self) -> Result<SessionFacts, RunSetupError> {
        let home = PathBuf::from(self.home);
        Ok(SessionFacts {
            session: self.session,
            home: Home::open_as_is(&home).ok_or(RunSetupError::NoHome(home))?,
            cwd: self.cwd.into(),
            added_folders: paths(self.added_folders),
            clock: Arc::new(SystemClock),
            ids: Arc::new(TimeIds),
            features: SessionFeatures { prompt_suggestions: false, ..SessionFeatures::default() },
            limits: kernel::SessionLimits { depth: self.max_depth, ..kernel::SessionLimits::default() },
            budget: Budget::default(),
            day_budget: self.day_budget_micros,
            tools: self.tools.into(),
            effort: self.effort,
            deadline: Deadline::after(self.remaining_millis.map(Duration::from_millis)),
            can_ask_user: false,
            ask_wait: self.ask_wait_millis.map(Duration::from_millis),
            // Calls that may take long run where the session is.
            call_background_after: Duration::MAX,
            default_plan_action: PlanAction::ExitOnly,
        })
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireToolLimits {
    output_bytes: usize,
    input_bytes: usize,
    line_bytes: usize,
    view_lines: usize,
    scan_bytes: u64,
    file_bytes: u64,
    rows: usize,
    search_millis: u64,
    shell_timeout_millis: u64,
    max_shell_timeout_millis: u64,
    command_memory_bytes: Option<u64>,
}

impl From<ToolLimits> for WireToolLimits {
    fn from(limits: ToolLimits) -> WireToolLimits {
        let ToolLimits {
            output_bytes,
            input_bytes,
            line_bytes,
            view_lines,
            scan_bytes,
            file_bytes,
            rows,
            search_time,
            shell_timeout,
            max_shell_timeout,
            command_memory_bytes,
        } = limits;
        WireToolLimits {
            output_bytes,
            input_bytes,
            line_bytes,
            view_lines,
            scan_bytes,
            file_bytes,
            rows,
            search_millis: millis(search_time),
            shell_timeout_millis: millis(shell_timeout),
            max_shell_timeout_millis: millis(max_shell_timeout),
            command_memory_bytes,
        }
    }
}

impl From<WireToolLimits> for ToolLimits {
    fn from(limits: WireToolLimits) -> ToolLimits {
        let WireToolLimits {
            output_bytes,
            input_bytes,
            line_bytes,
            view_lines,
            scan_bytes,
            file_bytes,
            rows,
            search_millis,
            shell_timeout_millis,
            max_shell_timeout_millis,
            command_memory_bytes,
        } = limits;
        ToolLimits {
            output_bytes,
            input_bytes,
            line_bytes,
            view_lines,
            scan_bytes,
            file_bytes,
            rows,
            search_time: Duration::from_millis(search_millis),
            shell_timeout: Duration::from_millis(shell_timeout_millis),
            max_shell_timeout: Duration::from_millis(max_shell_timeout_millis),
            command_memory_bytes,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireWorkplace {
    /// The checkout that the run works in, and its folder there; absent in the session's folder.
    checkout: Option<WireCheckout>,
    env: Vec<(OsString, OsString)>,
    route: WireRoute,
    secrets: Vec<WireSecret>,
    policy: WirePolicy,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCheckout {
    top: OsString,
    subfolder: OsString,
}

impl WireWorkplace {
    fn of(workplace: &Workplace, workspace: &TaskWorkspace) -> WireWorkplace {
        let checkout = workspace.checkout_top().map(|top| WireCheckout {
            top: top.into(),
            subfolder: workspace.cwd().strip_prefix(top).unwrap_or_else(|_elsewhere| workspace.cwd()).into(),
        });
        WireWorkplace {
            checkout,
            env: workplace.env.clone(),
            route: workplace.fetcher.route().into(),
            secrets: workplace.redactor.secrets().iter().map(WireSecret::from).collect(),
            policy: (&*workplace.policy()).into(),
        }
    }

    fn open(self, facts: &Arc<SessionFacts>) -> Result<(Workplace, Arc<TaskWorkspace>, Arc<Grants>), RunSetupError> {
        let unusable = |folder: PathBuf| move |source| RunSetupError::Folder { folder, source };
        let workspace = Workspace::new(&facts.cwd, &facts.added_folders).map_err(unusable(facts.cwd.clone()))?;
        let workspace = TaskWorkspace::shared(workspace, self.env.clone(), OutsideFiles::Refused);
        let grants = Arc::new(Grants::new(Policy::try_from(self.policy)?));
        let secrets: Vec<Secret> = self.secrets.into_iter().map(Secret::from).collect();
        let own_checkout = match self.checkout {
            None => None,
            Some(WireCheckout { top, subfolder }) => {
                let top = PathBuf::from(top);
                let checkout = TaskWorkspace::checkout(&top, subfolder.as_ref(), &self.env);
                Some(Arc::new(checkout.map_err(unusable(top))?))
            }
        };
        let workplace = Workplace::of_run(
            Arc::clone(facts),
            // This program can be its own guardian.
            (Guardian::new("/proc/self/exe".into()), workspace),
            Arc::clone(&grants),
            (self.env, self.route.into()),
            Redactor::new(&secrets),
        );
        let workspace = own_checkout.unwrap_or_else(|| workplace.task_workspaces.shared());
        Ok((workplace, workspace, grants))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireCatalog {
    agents: Vec<AgentSpec>,
    skills: Vec<SkillSpec>,
    instructions: Vec<WireInstruction>,
    /// The tools of the programs that are connected to the session.
    tools: Vec<WireTool>,
    /// The MCP servers whose tools the session's process finds.
    tool_sources: Vec<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireInstruction {
    path: OsString,
    scope: Option<String>,
    text: String,
}

impl WireCatalog {
    fn of(catalog: &AgentCatalog, profile: &TaskProfile, limits: &ToolLimits) -> WireCatalog {
        let instruction = |InstructionFile { path, scope, text }: &InstructionFile| WireInstruction {
            path: path.into(),
            scope: scope.clone(),
            text: text.clone(),
        };
        // Hooks run where the session is.
        let agent = |agent: &AgentSpec| AgentSpec { hooks: Vec::new(), ..agent.clone() };
        WireCatalog {
            agents: catalog.definitions.agents.iter().map(agent).collect(),
            skills: catalog.skills.enabled(),
            instructions: catalog.instructions.files.iter().map(instruction).collect(),
            tools: catalog.client_extensions.all_tools().iter().map(|tool| WireTool::of(&**tool, limits)).collect(),
            tool_sources: catalog
                .tools_for(profile.definition.as_deref())
                .map(|tools| tools.sources())
                .unwrap_or_default(),
        }
    }

    fn open(self, profile: &TaskProfile, models: WireModels) -> Result<AgentCatalog, RunSetupError> {
        let WireCatalog { agents, skills, instructions, tools, tool_sources } = self;
        let file =
            |WireInstruction { path, scope, text }: WireInstruction| InstructionFile { path: path.into(), scope, text };
        let tools = tools.into_iter().map(|tool| Arc::new(SessionTool::from(tool)) as Arc<dyn Tool>).collect();
        let outside = (!tool_sources.is_empty())
            .then(|| Arc::new(SessionToolCatalog { sources: tool_sources }) as Arc<dyn ToolCatalog>);
        let instructions = Instructions::of_files(instructions.into_iter().map(file).collect());
        let definitions = Catalog { agents, skills, ..Catalog::default() };
        AgentCatalog::of_run(
            definitions,
            instructions,
            OutsideTools { of_programs: tools, catalog: outside },
            &profile.model,
            models.into_resolver(),
        )
        .map_err(|error| RunSetupError::Agent(error.to_string()))
    }
}
