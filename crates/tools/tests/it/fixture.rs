//! A workspace in a temporary folder, and agents that work in it.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bosun_tools::{
    BackgroundCommand, BackgroundCommands, BackgroundRow, BackgroundStatus, BoxFuture, CallIdentity, CallInProgress,
    CreateItemRequest, FileAccess, FileAccessGuard, FileStamps, FollowedCall, Heartbeat, IntentReporter, ItemEdit,
    LongCallStart, LongCalls, McpResources, MessageAgentsRequest, ModelAsker, ModelQuestion, ModelReply, MovedCall,
    PlanExitRequest, ReadAgentRequest, RequestMeta, RequestMetaSource, SessionControl, SessionServices,
    SharedListAccess, SqlExecutor, StartAgentRequest, Subagents, ToolContext, ToolError, ToolLimits, ToolOutput,
    UserPrompter, UserQuestion, WaitLimit, WaitRequest, WaitUntilRequest, ask_user, autopilot_tools, builtin_tools,
    plan_mode_tools, shared_list_tools,
};
use host::{Guardian, Workspace};
use net::NetworkRoute;
use net::fetch::{AddressGate, PageFetcher};
use protocol::{Clip, McpProgress, ObjectiveReport};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// An agent in a workspace of its own or shared with another agent.
#[derive(Debug)]
pub(crate) struct Agent {
    folder: Arc<TempDir>,
    pub(crate) cx: ToolContext,
    pub(crate) above: Arc<Above>,
}

impl Agent {
    /// An agent in an empty workspace.
    pub(crate) fn new() -> Agent {
        Agent::in_folder(Arc::new(tempfile::tempdir().unwrap()), ToolLimits::default())
    }

    /// An agent with its own limits.
    pub(crate) fn with(limits: ToolLimits) -> Agent {
        Agent::in_folder(Arc::new(tempfile::tempdir().unwrap()), limits)
    }

    /// Another agent in the same workspace.
    pub(crate) fn other(&self) -> Agent {
        Agent::in_folder(self.folder.clone(), self.cx.limits)
    }

    fn in_folder(folder: Arc<TempDir>, limits: ToolLimits) -> Agent {
        let above = Arc::new(Above::default());
        let place = CallIdentity {
            task: "task-00000000000000000000000000000001".parse().unwrap(),
            call: protocol::CallId("c1".into()),
        };
        let cx = ToolContext {
            identity: place,
            workspace: Arc::new(Workspace::new(folder.path(), &[]).unwrap()),
            access_guard: above.clone(),
            stamps: Arc::new(FileStamps::new()),
            file_changes: None,
            guardian: Guardian::new(env!("CARGO_BIN_EXE_bosun-tools-guardian").into()),
            env: Arc::new(vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())]),
            cancel: CancellationToken::new(),
            heartbeat: Heartbeat::default(),
            limits,
            session: Some(SessionServices {
                sql: above.clone(),
                background: above.clone(),
                subagents: above.clone(),
                shared_list: above.clone(),
                intent: above.clone(),
                session_control: above.clone(),
                user_prompter: above.clone(),
                long_calls: above.clone(),
                model: above.clone(),
                resources: above.clone(),
                request_meta: above.clone(),
            }),
            fetcher: PageFetcher::new(NetworkRoute::default(), net::fetch::FetchLimits::default()),
            address_gate: above.clone(),
        };
        Agent { folder, cx, above }
    }

    /// The real path of a file of the workspace.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file without a tool.
    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// The bytes of a file.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The text of a file.
    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    /// Every file and folder of the workspace, sorted.
    pub(crate) fn tree(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(self.folder.path(), self.folder.path(), &mut names);
        names.sort();
        names
    }

    /// Calls a tool with raw text.
    pub(crate) async fn raw(&self, tool: &str, input: &str) -> Result<ToolOutput, ToolError> {
        let tools = builtin_tools()
            .into_iter()
            .chain([ask_user()])
            .chain(shared_list_tools())
            .chain(plan_mode_tools())
            .chain(autopilot_tools());
        let tool = tools.into_iter().find(|candidate| candidate.spec().name == tool).unwrap();
        let result = tool.run(input, &self.cx).await;
        if let Ok(output) = &result {
            assert!(output.text.as_str().len() <= self.cx.limits.output_bytes);
        }
        result
    }

    /// Calls a tool that must succeed, and returns its text.
    pub(crate) async fn done(&self, tool: &str, input: Value) -> String {
        self.output(tool, input).await.text.into_string()
    }

    /// Calls a tool that must succeed, and returns its whole output.
    pub(crate) async fn output(&self, tool: &str, input: Value) -> ToolOutput {
        self.raw(tool, &input.to_string()).await.unwrap_or_else(|error| panic!("{tool} {input}: {error}"))
    }

    /// Calls a tool that must refuse.
    pub(crate) async fn refused(&self, tool: &str, input: Value) -> String {
        match self.raw(tool, &input.to_string()).await {
            Err(ToolError::Refused(text)) => text,
            other => panic!("{tool} {input}: {other:?}"),
        }
    }
}

fn collect(root: &Path, folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        names.push(path.strip_prefix(root).unwrap().display().to_string());
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, names);
        }
    }
}

/// Records the calls of tools to the runtime.
#[derive(Debug, Default)]
pub(crate) struct Above {
    pub(crate) heard: Mutex<Vec<String>>,
    /// The user's next answer.
    pub(crate) answer: Mutex<Option<String>>,
    /// The address that may be connected to.
    pub(crate) open: Mutex<Option<IpAddr>>,
}

impl Above {
    fn hear(&self, words: String) {
        self.heard.lock().unwrap().push(words);
    }

    /// Records a request and returns its text.
    fn told(&self, words: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            self.hear(words.clone());
            Ok(words)
        })
    }
}

impl SqlExecutor for Above {
    fn execute(&self, sql: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move { Ok(format!("ran {sql}")) })
    }
}

impl Subagents for Above {
    fn start(&self, order: StartAgentRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{order:?}"))
    }

    fn read(&self, order: ReadAgentRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{order:?}"))
    }

    fn message(&self, order: MessageAgentsRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{order:?}"))
    }

    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told("list".into())
    }

    fn stop(&self, agent: String, how: protocol::CancelMode) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("stop {agent} {how:?}"))
    }

    fn wait(&self, order: WaitRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{order:?}"))
    }

    fn wait_until(&self, order: WaitUntilRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{order:?}"))
    }

    fn search_tools(&self, query: String) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("load {query}"))
    }

    fn load_skill(&self, name: String) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("skill {name}"))
    }
}

impl SharedListAccess for Above {
    fn create(&self, order: CreateItemRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{order:?}"))
    }

    fn get(&self, id: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("get {id} {wait:?}"))
    }

    fn list(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told("list".into())
    }

    fn update(&self, item: protocol::ItemId, order: ItemEdit) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("{item}: {order:?}"))
    }

    fn output(&self, task: String, wait: WaitLimit) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("output {task} {wait:?}"))
    }

    fn stop(&self, task: String) -> BoxFuture<'_, Result<String, ToolError>> {
        self.told(format!("stop {task}"))
    }
}

impl IntentReporter for Above {
    fn report(&self, text: Clip) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.hear(text.into_string());
            Ok(())
        })
    }
}

impl BackgroundCommands for Above {
    fn start(&self, command: BackgroundCommand) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            self.hear(format!("start {} ({})", command.command, command.description));
            Ok("server".into())
        })
    }

    fn read(&self, name: String, wait: WaitLimit) -> BoxFuture<'_, Result<BackgroundStatus, ToolError>> {
        Box::pin(async move {
            match wait {
                WaitLimit::NoWait => {
                    Ok(BackgroundStatus { state: format!("{name} runs"), output: Clip::new("line\n", 100) })
                }
                WaitLimit::For(time) if time < Duration::from_secs(60) => Err(ToolError::refused(format!("{time:?}"))),
                WaitLimit::For(_) => std::future::pending().await,
            }
        })
    }

    fn stop(&self, name: String) -> BoxFuture<'_, Result<BackgroundStatus, ToolError>> {
        Box::pin(async move { Ok(BackgroundStatus { state: format!("{name} stopped"), output: Clip::default() }) })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<BackgroundRow>, ToolError>> {
        let row = BackgroundRow { name: "server".into(), state: "running".into(), description: "the site".into() };
        Box::pin(async move { Ok(vec![row]) })
    }
}

impl FileAccessGuard for Above {
    fn check(&self, _path: &Path, _how: FileAccess) -> Result<(), ToolError> {
        Ok(())
    }
}

impl SessionControl for Above {
    fn write_plan(&self, text: String) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            self.hear(format!("plan {text}"));
            Ok(())
        })
    }

    fn exit_plan_mode(&self, order: PlanExitRequest) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            self.hear(format!("leave {order:?}"));
            Ok("approved".into())
        })
    }

    fn complete(&self, completion: ObjectiveReport) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            self.hear(format!("complete {completion:?}"));
            Ok("reported".into())
        })
    }
}

impl ModelAsker for Above {
    fn ask(&self, question: ModelQuestion) -> BoxFuture<'_, Result<ModelReply, ToolError>> {
        Box::pin(async move {
            self.hear(format!("question {}", question.prompt));
            Ok(ModelReply { model: "m".into(), text: "reply".into() })
        })
    }
}

impl RequestMetaSource for Above {
    fn meta_for<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        _arguments: &'a Value,
    ) -> BoxFuture<'a, Result<RequestMeta, ToolError>> {
        Box::pin(async move {
            self.hear(format!("meta {server} {tool}"));
            Ok(RequestMeta::Standard)
        })
    }
}

impl McpResources for Above {
    fn list(&self, server: Option<String>) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            self.hear(format!("resources {server:?}"));
            Ok("resources".into())
        })
    }

    fn read(&self, server: String, uri: String) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            self.hear(format!("read {server} {uri}"));
            Ok("contents".into())
        })
    }
}

impl UserPrompter for Above {
    fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>> {
        Box::pin(async move {
            self.hear(format!("ask {} {:?}", question.question, question.choices));
            Ok(self.answer.lock().unwrap().take())
        })
    }
}

/// No call of these tests takes long.
impl LongCalls for Above {
    fn resume(&self) -> BoxFuture<'_, Option<Result<String, ToolError>>> {
        Box::pin(async { None })
    }

    fn background_after(&self) -> Option<Duration> {
        None
    }

    fn report_progress(&self, tool: String, progress: McpProgress) -> BoxFuture<'_, ()> {
        self.hear(format!("progress of {tool}: {progress}"));
        Box::pin(std::future::ready(()))
    }

    fn follow(&self, start: LongCallStart) -> BoxFuture<'_, FollowedCall> {
        Box::pin(async move { FollowedCall::NotRecorded(ToolError::refused(start.tool)) })
    }

    fn move_to_background(&self, _start: LongCallStart, call: CallInProgress) -> BoxFuture<'_, MovedCall> {
        Box::pin(async move { MovedCall::NotNow(call) })
    }
}

impl AddressGate for Above {
    fn may_connect(&self, host: &str, machine: SocketAddr) -> bool {
        let address = machine.ip();
        self.hear(format!("connect to {host} at {address}"));
        *self.open.lock().unwrap() == Some(address)
    }
}

/// The files that a call changed.
pub(crate) fn changed(output: &bosun_tools::ToolOutput) -> Vec<&str> {
    let changed = output.evidence.iter().filter_map(|evidence| match evidence {
        protocol::Evidence::Changed { path } => Some(path.as_str()),
        protocol::Evidence::Ran { .. } => None,
    });
    changed.collect()
}
