//! Answers the API's calls for one session.

use std::sync::Arc;
use std::time::Duration;

use client::{BackgroundWork, SessionMessage};
use kernel::{KernelInput, ReaderWait};
use protocol::api::{
    AgentResult, AgentView, AgentsResult, AskModelParams, AskModelResult, AsksDecideParams, ClosedConnectionParams,
    CommandFate, CutConversationParams, FleetParams, FleetResult, InvokeSlashParams, McpServerNameParams,
    McpServersResult, Method, ModelParams, PermissionParams, PlanParams, PromptSuggestion, RefusalKind,
    RenameSessionParams, ResumeFleetParams, RewindPreviewParams, RulesParams, RunShellResult, SelectAgentParams,
    SendParams, SendResult, SessionCommand, SessionMethod, SessionWaitEnd, SessionWaitParams, SessionWaitResult,
    SkillsResult, SlashList, StartAgentParams, StartAgentResult, SubscribeParams, TaskView, TaskWaitParams,
    TaskWaitResult, TasksParams, TodoEdit, TodoEdits, TodoIds, TodosParams, ToggleSkillParams,
};
use protocol::{Hinted, TaskId};
use rpc::{ClientHandle, ErrorObject, RequestHandler, ResponseFuture, read_params};
use serde::Serialize;
use serde_json::{Value, json};
use store::{SessionReader, TodoError, plan};
use tokio::sync::watch;

use crate::aside::{AsideError, ask_aside};
use crate::bus::FrameCache;
use crate::commands;
use crate::context_view::{ContextError, context_view};
use crate::conversation_cut::{ConversationCutError, cut_conversation};
use crate::external_tasks;
use crate::file_history::{RewindError, preview_rewind, rewind, rewind_points};
use crate::fleet::{self, FleetError};
use crate::hooks;
use crate::mcp_servers::McpChangeError;
use crate::prompt_suggestion::suggest_prompt;
use crate::session::{ClientMessages, SessionStatus};
use crate::session_context::SessionContext;
use crate::session_model::ModelChangeError;
use crate::session_title::clean_title;
use crate::session_wait::SessionWait;
use crate::side_question::SideQuestionError;
use crate::slash::{SlashDispatcher, SlashRegistry};
use crate::supervisor::{InputRejection, Receipt, Supervisor};
use crate::todos::TodoEditError;
use crate::user_shell::{self, UserShellError};

/// The longest pause that a client may request between two messages.
const MAX_PAUSE: Duration = Duration::from_secs(1);

/// The API of a session, served by its owner process.
pub(crate) struct SessionApi {
    pub(crate) context: Arc<SessionContext>,
    pub(crate) supervisor: Supervisor,
    pub(crate) root: TaskId,
    pub(crate) status: watch::Receiver<SessionStatus>,
}

impl RequestHandler for SessionApi {
    fn call(&self, method: Method, params: Value, client: ClientHandle) -> ResponseFuture<'_> {
        Box::pin(async move {
            let Some(of_session) = method.of_session() else {
                return Err(ErrorObject::unknown_method(method.name()));
            };
            match of_session {
                SessionMethod::SessionGet
                | SessionMethod::ModeGet
                | SessionMethod::ModelGet
                | SessionMethod::PlanRead
                | SessionMethod::TasksList
                | SessionMethod::TasksGet
                | SessionMethod::TasksOutput
                | SessionMethod::TodosList
                | SessionMethod::AsksList
                | SessionMethod::EventsList
                | SessionMethod::SessionExport
                | SessionMethod::SessionFleetGet => {
                    Ok(client::answer_from_reader(&self.context.facts.home, self.reader()?, method, params)?)
                }
                SessionMethod::SessionWait => json_of(self.wait_for_session(read_params(params)?).await?),
                SessionMethod::TasksWait => json_of(self.wait_for_task(read_params(params)?).await?),
                SessionMethod::SessionCommand => {
                    let command: SessionCommand = read_params(params)?;
                    if let SessionCommand::Send(message) = &command {
                        self.release_turn_for_hooks(message, &client);
                    }
                    let outcome = commands::carry_out(&self.context, &self.supervisor, self.root, command).await;
                    json_of(CommandFate::Answered { outcome: outcome.map_err(rejection)? })
                }
                SessionMethod::SessionSend => {
                    let receipt = self.send(read_params(params)?, &client).await?;
                    let mail = receipt.mail.ok_or_else(|| ErrorObject::internal("the message has no receipt"))?;
                    json_of(SendResult { mail })
                }
                SessionMethod::SessionFleetStart => {
                    let request: FleetParams = read_params(params)?;
                    let request = request.try_into().map_err(fleet_refusal)?;
                    self.context.fleet.start(request).await.map_err(fleet_refusal)?;
                    json_of(FleetResult { started: true })
                }
                SessionMethod::SessionFleetResume => {
                    let ResumeFleetParams { excluded } = read_params(params)?;
                    self.context.fleet.resume(excluded).await.map_err(fleet_refusal)?;
                    json_of(FleetResult { started: true })
                }
                SessionMethod::SessionFleetUncommitted => {
                    let files = fleet::uncommitted_files(&self.context, self.root).await;
                    json_of(files.map_err(|refusal| ErrorObject::refused_with(RefusalKind::Invalid, refusal))?)
                }
                SessionMethod::CommandsList => {
                    json_of(SlashList { commands: SlashRegistry::of_session(&self.context.catalog).views() })
                }
                SessionMethod::CommandsInvoke => {
                    let InvokeSlashParams { name, input } = read_params(params)?;
                    // The slash command may run hooks, or shell commands from its file.
                    client.release_turn();
                    let dispatcher =
                        SlashDispatcher { context: &self.context, supervisor: &self.supervisor, root: self.root };
                    let answer = dispatcher.invoke(&name, &input).await.answer();
                    json_of(answer.map_err(|refusal| ErrorObject::refused_with(RefusalKind::Invalid, refusal))?)
                }
                SessionMethod::SessionInterrupt => self.submit_command(SessionCommand::Interrupt).await,
                SessionMethod::SessionStop => self.submit_command(SessionCommand::Stop).await,
                SessionMethod::ModeSet => self.submit_command(SessionCommand::SetMode(read_params(params)?)).await,
                SessionMethod::PermissionSet => {
                    let PermissionParams { mode } = read_params(params)?;
                    self.context.workplace.grants.set_mode(mode);
                    Ok(json!({}))
                }
                SessionMethod::RulesSet => {
                    let RulesParams { changes } = read_params(params)?;
                    let changed = self.context.workplace.grants.change_rules(&changes);
                    changed.map(|()| json!({})).map_err(|error| rejection(InputRejection::Rule(error)))
                }
                SessionMethod::PlanUpdate => {
                    let PlanParams { text } = read_params(params)?;
                    let written = plan::write(&self.context.facts.home, self.context.facts.session, &text);
                    written.map(|()| json!({})).map_err(ErrorObject::internal)
                }
                SessionMethod::PlanDelete => {
                    let removed = plan::remove(&self.context.facts.home, self.context.facts.session);
                    removed.map(|()| json!({})).map_err(ErrorObject::internal)
                }
                SessionMethod::ModelSet => {
                    let wanted: ModelParams = read_params(params)?;
                    let changed = self.context.change_model(&self.supervisor, self.root, &wanted).await;
                    json_of(ModelParams { model: changed.map_err(model_refusal)?, ..wanted })
                }
                SessionMethod::SessionMcpList => json_of(McpServersResult { servers: self.context.mcp_servers() }),
                SessionMethod::SessionMcpToggle => {
                    let toggled = self.context.toggle_mcp_server(&self.supervisor, read_params(params)?).await;
                    toggled.map(|()| json!({})).map_err(mcp_refusal)
                }
                SessionMethod::SessionMcpReconnect => {
                    let McpServerNameParams { name } = read_params(params)?;
                    self.context.reconnect_mcp_server(&name).await.map(|()| json!({})).map_err(mcp_refusal)
                }
                SessionMethod::SessionMcpSetServers => {
                    json_of(self.context.set_mcp_servers(&read_params(params)?).map_err(mcp_refusal)?)
                }
                SessionMethod::ModelAsk => {
                    let AskModelParams { question } = read_params(params)?;
                    let answer = ask_aside(&self.context, &self.supervisor, self.root, &question).await;
                    json_of(AskModelResult { answer: answer.map_err(aside_refusal)? })
                }
                SessionMethod::ContextGet => json_of(context_view(&self.context, self.root).map_err(context_refusal)?),
                SessionMethod::ConversationCut => {
                    let CutConversationParams { after } = read_params(params)?;
                    let cut = cut_conversation(&self.context, &self.supervisor, self.root, after).await;
                    cut.map(|()| json!({})).map_err(cut_refusal)
                }
                SessionMethod::SessionRename => {
                    let RenameSessionParams { title } = read_params(params)?;
                    let title = clean_title(&title).ok_or_else(|| ErrorObject::bad_params("the title is empty"))?;
                    self.submit(KernelInput::SetTitle { title }).await.map(|_receipt| json!({}))
                }
                SessionMethod::PromptSuggest => {
                    let text = suggest_prompt(&self.context, &self.supervisor, self.root).await;
                    json_of(PromptSuggestion { text: text.map_err(ErrorObject::internal)? })
                }
                SessionMethod::RewindPointsList => {
                    let (context, root) = (Arc::clone(&self.context), self.root);
                    read_files(move || rewind_points(&context, root)).await
                }
                SessionMethod::RewindPreview => {
                    let RewindPreviewParams { after } = read_params(params)?;
                    let (context, root) = (Arc::clone(&self.context), self.root);
                    read_files(move || preview_rewind(&context, root, after)).await
                }
                SessionMethod::RewindApply => {
                    let gone_back = rewind(&self.context, &self.supervisor, self.root, read_params(params)?).await;
                    json_of(gone_back.map_err(rewind_refusal)?)
                }
                SessionMethod::AgentsList => {
                    let agents = self.context.catalog.definitions.agents.iter().map(AgentView::from).collect();
                    json_of(AgentsResult { agents })
                }
                SessionMethod::AgentsStart => {
                    let wanted: StartAgentParams = read_params(params)?;
                    let dispatcher =
                        SlashDispatcher { context: &self.context, supervisor: &self.supervisor, root: self.root };
                    let task = dispatcher.spawn(wanted).await;
                    json_of(StartAgentResult { task: task.map_err(|error| refused(&error))? })
                }
                SessionMethod::SkillsList => json_of(SkillsResult { skills: self.context.catalog.skills.views() }),
                SessionMethod::SkillsToggle => {
                    let ToggleSkillParams { name, enabled } = read_params(params)?;
                    self.context.catalog.skills.set_enabled(&name, enabled).map_err(|error| refused(&error))?;
                    self.context.catalog.forget_prepared_agents();
                    Ok(json!({}))
                }
                SessionMethod::SkillsReload => {
                    let problems = self.context.catalog.skills.reload().await.map_err(|error| refused(&error))?;
                    self.context.catalog.forget_prepared_agents();
                    json_of(problems)
                }
                SessionMethod::ShellRun => {
                    let task = user_shell::run(&self.context, &self.supervisor, self.root, read_params(params)?).await;
                    json_of(RunShellResult { task: task.map_err(user_shell_refusal)? })
                }
                SessionMethod::AgentGet => {
                    json_of(AgentResult { agent: self.context.selected_agent(self.root).as_ref().map(AgentView::from) })
                }
                SessionMethod::AgentSelect => {
                    let SelectAgentParams { agent } = read_params(params)?;
                    let input = self.context.selection_input(agent.as_deref());
                    self.submit(input.map_err(|error| refused(&error))?).await?;
                    json_of(AgentResult { agent: self.context.selected_agent(self.root).as_ref().map(AgentView::from) })
                }
                SessionMethod::TasksRegister => {
                    let registered = external_tasks::register(&self.context, &self.supervisor, read_params(params)?);
                    json_of(registered.await.map_err(rejection)?)
                }
                SessionMethod::TasksReport => {
                    json_of(external_tasks::report(&self.supervisor, read_params(params)?).await.map_err(rejection)?)
                }
                SessionMethod::TasksOrphan => {
                    let ClosedConnectionParams { owner } = read_params(params)?;
                    self.submit(KernelInput::OrphanExternalTasks { owner }).await.map(|_receipt| json!({}))
                }
                SessionMethod::TasksStop => self.submit_command(SessionCommand::StopTask(read_params(params)?)).await,
                SessionMethod::TasksPromote => self.submit_command(SessionCommand::Promote(read_params(params)?)).await,
                SessionMethod::TasksForget => self.submit_command(SessionCommand::Forget(read_params(params)?)).await,
                SessionMethod::TodosAdd => self.edit_todo(TodoEdit::Add(read_params(params)?)).await,
                SessionMethod::TodosUpdate => self.edit_todo(TodoEdit::Change(read_params(params)?)).await,
                SessionMethod::TodosEdit => {
                    let TodoEdits { edits } = read_params(params)?;
                    let ids = self.context.edit_todos(edits).await.map_err(todo_refusal)?;
                    json_of(TodoIds { ids })
                }
                SessionMethod::AsksDecide => self.decide(read_params(params)?).await,
                SessionMethod::EventsSubscribe => {
                    let from: SubscribeParams = read_params(params)?;
                    let (bus, pause) = (&self.context.log.bus, Duration::from_millis(from.pause_ms).min(MAX_PAUSE));
                    let messages = ClientMessages::new(bus.subscribe(from.after), self.status.clone(), pause);
                    client.attach(forward_messages(messages, bus.frames(), client.clone()));
                    Ok(json!({}))
                }
            }
        })
    }
}

impl SessionApi {
    /// Sends a message after its hooks have run.
    async fn send(&self, message: SendParams, client: &ClientHandle) -> Result<Receipt, ErrorObject> {
        self.release_turn_for_hooks(&message, client);
        let message =
            hooks::filter_prompt(&self.context, &self.supervisor, self.root, message).await.map_err(rejection)?;
        self.submit(commands::input_of(SessionCommand::Send(message), self.root)).await
    }

    /// Lets other clients continue if the message has hooks, which have no time limit here.
    fn release_turn_for_hooks(&self, message: &SendParams, client: &ClientHandle) {
        if hooks::has_prompt_hook(&self.context, self.root, message) {
            client.release_turn();
        }
    }

    async fn submit_command(&self, command: SessionCommand) -> Result<Value, ErrorObject> {
        self.submit(commands::input_of(command, self.root)).await.map(|_receipt| json!({}))
    }

    async fn decide(&self, AsksDecideParams { decided, interrupt }: AsksDecideParams) -> Result<Value, ErrorObject> {
        let decide = self.submit_command(SessionCommand::Decide(decided));
        if !interrupt {
            return decide.await;
        }
        // Both are queued together, so the supervisor handles nothing in between.
        let (decided, interrupted) = tokio::join!(decide, self.submit_command(SessionCommand::Interrupt));
        decided.and(interrupted)
    }

    /// The session's file. Its answers are the same as those of a process that does not run the session.
    fn reader(&self) -> Result<SessionReader, ErrorObject> {
        self.context.log.reader().map_err(ErrorObject::internal)
    }

    async fn wait_for_session(&self, params: SessionWaitParams) -> Result<SessionWaitResult, ErrorObject> {
        let events = self.context.log.bus.subscribe(self.status.borrow().seq);
        let wait = SessionWait { status: self.status.clone(), events, limits: params.into() };
        let (limit, status) = (params.timeout_ms.map(Duration::from_millis), &self.status);
        let work = || Ok(BackgroundWork::of(self.context.log.reader()?.tasks(&TasksParams::all_tasks())?.tasks));
        let ended = within(limit, wait.until_over(work)).await;
        let end = ended.unwrap_or(Ok(SessionWaitEnd::TimedOut)).map_err(ErrorObject::internal)?;
        let (phase, seq) = (status.borrow().phase(), status.borrow().seq);
        Ok(SessionWaitResult { end, phase, seq })
    }

    async fn wait_for_task(&self, params: TaskWaitParams) -> Result<TaskWaitResult, ErrorObject> {
        let TaskWaitParams { task, timeout_ms } = params;
        let rest = self.supervisor.wait_for(ReaderWait::All(vec![task]));
        within(timeout_ms.map(Duration::from_millis), rest).await.unwrap_or(Ok(())).map_err(rejection)?;
        let task = self.task(task)?;
        Ok(TaskWaitResult { at_rest: task.state.is_at_rest(), task })
    }

    fn task(&self, task: TaskId) -> Result<TaskView, ErrorObject> {
        let view = self.reader()?.task(task).map_err(ErrorObject::internal)?;
        view.ok_or_else(|| ErrorObject::refused(RefusalKind::NoTask, format_args!("there is no task {task}")))
    }

    /// Edits a todo and returns its new state.
    async fn edit_todo(&self, edit: TodoEdit) -> Result<Value, ErrorObject> {
        let ids = self.context.edit_todos(vec![edit]).await.map_err(todo_refusal)?;
        let page = self.reader()?.todos_page(&TodosParams::all_todos());
        let mut todos = page.map_err(ErrorObject::internal)?.todos.into_iter();
        json_of(todos.find(|todo| ids.contains(&todo.id)).ok_or_else(|| ErrorObject::internal("the todo is gone"))?)
    }

    async fn submit(&self, input: KernelInput) -> Result<Receipt, ErrorObject> {
        self.supervisor.submit(input).await.map_err(rejection)
    }
}

/// The result of `work`, unless it takes longer than allowed.
async fn within<T>(limit: Option<Duration>, work: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, work).await.ok(),
        None => Some(work.await),
    }
}

/// The error for a rejected input; `data.kind` tells clients the reason.
fn rejection(rejected: InputRejection) -> ErrorObject {
    match rejected {
        InputRejection::Paused(_) | InputRejection::SessionEnded => ErrorObject::internal(rejected),
        InputRejection::Refused(_)
        | InputRejection::Rule(_)
        | InputRejection::Hook(_)
        | InputRejection::Remote { .. } => ErrorObject::refused(rejected.kind(), rejected),
    }
}

fn model_refusal(error: ModelChangeError) -> ErrorObject {
    match error {
        ModelChangeError::Rejected(rejected) => rejection(rejected),
        ModelChangeError::Unusable { .. } | ModelChangeError::Unpriced(_) => refused(&error),
    }
}

fn user_shell_refusal(error: UserShellError) -> ErrorObject {
    match error {
        UserShellError::Rejected(rejected) => rejection(rejected),
        UserShellError::Agent(_)
        | UserShellError::Workspace(_)
        | UserShellError::NoFolder(_)
        | UserShellError::Denied(_)
        | UserShellError::Unreadable(_) => refused(&error),
    }
}

fn context_refusal(error: ContextError) -> ErrorObject {
    match error {
        ContextError::Store(error) => ErrorObject::internal(error),
        ContextError::Agent(_) => refused(&error),
    }
}

fn aside_refusal(error: AsideError) -> ErrorObject {
    match error {
        AsideError::Question(SideQuestionError::Rejected(rejected)) => rejection(rejected),
        AsideError::Question(SideQuestionError::Store(error)) => ErrorObject::internal(error),
        AsideError::Empty | AsideError::TooLong | AsideError::Question(SideQuestionError::Unanswered(_)) => {
            ErrorObject::refused(RefusalKind::Invalid, error.to_string())
        }
    }
}

fn cut_refusal(error: ConversationCutError) -> ErrorObject {
    match error {
        ConversationCutError::Rejected(rejected) => rejection(rejected),
        ConversationCutError::Store(error) => ErrorObject::internal(error),
        ConversationCutError::NoCutPoint(_) => refused(&error),
    }
}

fn rewind_refusal(error: RewindError) -> ErrorObject {
    match error {
        RewindError::Cut(error) => cut_refusal(error),
        RewindError::Rejected(rejected) => rejection(rejected),
        RewindError::Store(error) => ErrorObject::internal(error),
        RewindError::History(_) => ErrorObject::internal(error),
        RewindError::Busy => refused(&error),
    }
}

/// The answer of work that reads files.
async fn read_files<T: Serialize + Send + 'static>(
    work: impl FnOnce() -> Result<T, RewindError> + Send + 'static,
) -> Result<Value, ErrorObject> {
    let done = tokio::task::spawn_blocking(work).await.map_err(ErrorObject::internal)?;
    json_of(done.map_err(rewind_refusal)?)
}

fn mcp_refusal(error: McpChangeError) -> ErrorObject {
    match error {
        McpChangeError::Rejected(rejected) => rejection(rejected),
        McpChangeError::Control(error) => refused(&error),
    }
}

/// The refusal for a typed error, with what the client should do about it.
fn refused(error: &impl Hinted) -> ErrorObject {
    ErrorObject::refused_for(RefusalKind::Invalid, error)
}

fn fleet_refusal(error: FleetError) -> ErrorObject {
    match error {
        FleetError::Rejected(rejected) => rejection(rejected),
        FleetError::EditFailed(error) => todo_refusal(error),
        FleetError::Store(error) => ErrorObject::internal(error),
        FleetError::NoRunner
        | FleetError::Plan(_)
        | FleetError::NoTodoId { .. }
        | FleetError::NoFleet
        | FleetError::AtWork(_)
        | FleetError::Unfinished(_)
        | FleetError::SharedFolder
        | FleetError::Repository(_) => refused(&error),
    }
}

fn todo_refusal(error: TodoEditError) -> ErrorObject {
    match error {
        TodoEditError::Rejected(rejected) => rejection(rejected),
        TodoEditError::Todo(TodoError::Store(error)) => ErrorObject::internal(error),
        TodoEditError::Todo(error) => ErrorObject::refused(RefusalKind::Invalid, error),
    }
}

fn json_of(answer: impl Serialize) -> Result<Value, ErrorObject> {
    serde_json::to_value(answer).map_err(ErrorObject::internal)
}

/// Sends a client every message at the speed it reads.
async fn forward_messages(mut messages: ClientMessages, frames: Arc<FrameCache>, client: ClientHandle) {
    loop {
        let sent = match messages.next().await {
            Ok(Some(SessionMessage::Event(envelope))) => {
                match frames.get_or_write(envelope.seq, || client.encode_frame("event", &*envelope)) {
                    Ok(frame) => client.send_shared(frame).await,
                    Err(error) => Err(error),
                }
            }
            Ok(Some(SessionMessage::Text { task, turn, text })) => {
                client.deliver("text", &json!({ "task": task, "turn": turn, "text": text })).await
            }
            Ok(Some(SessionMessage::Status(status))) => client.deliver("status", &status).await,
            Ok(None) => return,
            Err(error) => return tracing::warn!(%error, "a subscription ended"),
        };
        if sent.is_err() {
            return;
        }
    }
}
