//! The route table: the whole HTTP API.

use hyper::Method as Verb;
use protocol::SessionOptions;
use protocol::api::{
    AgentsResult, AsksParams, AsksResult, FleetParams, FleetResult, InvokeSlashResult, Method, ModeParams, ModelParams,
    NewTodo, OutputResult, PlanParams, PlanResult, SendResult, SessionView, SlashList, StartAgentParams,
    StartAgentResult, TaskRecord, TasksPage, TasksParams, TodoView, TodosPage, TodosParams,
};

use super::payloads::{
    CommandInput, DecisionBody, EventsQuery, MessageBody, ServerInfo, SessionListQuery, SessionsPage, StopOptions,
    TodoPatch,
};
use super::route::{Route, RouteAction, RouteInput, RouteOutput};

macro_rules! routes {
    ($($verb:ident $path:literal, $name:literal, $takes:expr, $gives:expr, $act:expr, $about:literal;)*) => {
        /// Every route, in the order that the docs list them.
        pub(super) static ROUTES: &[Route] = &[
            $(Route {
                verb: Verb::$verb,
                path: $path,
                name: $name,
                about: $about,
                takes: $takes,
                gives: $gives,
                act: $act,
            },)*
        ];
    };
}

routes! {
    GET "/v1", "getServerInfo", RouteInput::Nothing, RouteOutput::json::<ServerInfo>(), RouteAction::ServerInfo,
        "Describes the server.";
    GET "/v1/openapi.json", "getOpenApi", RouteInput::Nothing, RouteOutput::json::<serde_json::Value>(), RouteAction::OpenApiDocument,
        "Returns this table as an OpenAPI document.";

    GET "/v1/sessions", "listSessions", RouteInput::query::<SessionListQuery>(), RouteOutput::json::<SessionsPage>(), RouteAction::List,
        "Lists sessions, newest first, in pages.";
    POST "/v1/sessions", "beginSession", RouteInput::body::<SessionOptions>(), RouteOutput::created::<SessionView>(), RouteAction::Create,
        "Starts a session, which runs in this server whether or not a client watches it.";
    GET "/v1/sessions/{session}", "getSession", RouteInput::Nothing, RouteOutput::json::<SessionView>(),
        RouteAction::Call(Method::SessionGet),
        "Describes the session: its settings, the process that runs it, and the state of its root.";
    DELETE "/v1/sessions/{session}", "removeSession", RouteInput::Nothing, RouteOutput::Nothing, RouteAction::Remove,
        "Removes a session that no other process runs, with all its data.";
    POST "/v1/sessions/{session}/messages", "sendMessage", RouteInput::body::<MessageBody>(), RouteOutput::created::<SendResult>(),
        RouteAction::Call(Method::SessionSend), "Sends the session's root a message.";
    POST "/v1/sessions/{session}/interrupt", "interruptSession", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::SessionInterrupt), "Stops the running turn; the session stays open.";
    POST "/v1/sessions/{session}/stop", "stopSession", RouteInput::Nothing, RouteOutput::Nothing, RouteAction::Stop,
        "Stops every task and ends the run; the session can be resumed.";
    POST "/v1/sessions/{session}/resume", "resumeSession", RouteInput::body::<SessionOptions>(), RouteOutput::json::<SessionView>(),
        RouteAction::Resume, "Resumes a session that no process runs; a running one stays as it is.";
    POST "/v1/sessions/{session}/fork", "forkSession", RouteInput::body::<SessionOptions>(), RouteOutput::created::<SessionView>(),
        RouteAction::Fork, "Continues in a copy; the original session stays as it is.";
    GET "/v1/sessions/{session}/events", "watchSession", RouteInput::query::<EventsQuery>(), RouteOutput::Events, RouteAction::Watch,
        "Streams the session's events, from a sequence number on.";

    GET "/v1/sessions/{session}/mode", "getMode", RouteInput::Nothing, RouteOutput::json::<ModeParams>(),
        RouteAction::Call(Method::ModeGet), "Returns the session mode.";
    POST "/v1/sessions/{session}/mode", "setMode", RouteInput::body::<ModeParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ModeSet), "Changes the session mode.";
    GET "/v1/sessions/{session}/plan", "getPlan", RouteInput::Nothing, RouteOutput::json::<PlanResult>(),
        RouteAction::Call(Method::PlanRead), "Returns the session's plan, if it has one.";
    POST "/v1/sessions/{session}/plan", "setPlan", RouteInput::body::<PlanParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::PlanUpdate), "Replaces the plan.";
    DELETE "/v1/sessions/{session}/plan", "removePlan", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::PlanDelete), "Removes the plan.";
    GET "/v1/sessions/{session}/model", "getModel", RouteInput::Nothing, RouteOutput::json::<ModelParams>(),
        RouteAction::Call(Method::ModelGet), "Returns the root's model.";
    POST "/v1/sessions/{session}/model", "setModel", RouteInput::body::<ModelParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ModelSet), "Changes the root's model, from the next turn on.";
    POST "/v1/sessions/{session}/fleet", "startFleet", RouteInput::body::<FleetParams>(), RouteOutput::json::<FleetResult>(),
        RouteAction::Call(Method::SessionFleetStart),
        "Starts a fleet: the root splits a request into todos, and agents do them in parallel.";

    GET "/v1/sessions/{session}/commands", "listCommands", RouteInput::Nothing, RouteOutput::json::<SlashList>(),
        RouteAction::Call(Method::CommandsList), "Lists the slash commands.";
    POST "/v1/sessions/{session}/commands/{name}", "invokeCommand", RouteInput::body::<CommandInput>(),
        RouteOutput::json::<InvokeSlashResult>(), RouteAction::Call(Method::CommandsInvoke),
        "Runs a slash command; a command for the model returns the prompt for the client to send.";
    GET "/v1/sessions/{session}/agents", "listAgents", RouteInput::Nothing, RouteOutput::json::<AgentsResult>(),
        RouteAction::Call(Method::AgentsList), "Lists the agents that can be started.";
    POST "/v1/sessions/{session}/agents", "startAgent", RouteInput::body::<StartAgentParams>(),
        RouteOutput::created::<StartAgentResult>(), RouteAction::Call(Method::AgentsStart),
        "Starts an agent in the background; the root receives its result.";

    GET "/v1/sessions/{session}/tasks", "listTasks", RouteInput::query::<TasksParams>(), RouteOutput::json::<TasksPage>(),
        RouteAction::Call(Method::TasksList), "Lists the session's tasks, oldest first, in pages.";
    GET "/v1/sessions/{session}/tasks/{task}", "getTask", RouteInput::Nothing, RouteOutput::json::<TaskRecord>(),
        RouteAction::Call(Method::TasksGet), "Returns the full record of one task.";
    GET "/v1/sessions/{session}/tasks/{task}/output", "getOutput", RouteInput::Nothing, RouteOutput::json::<OutputResult>(),
        RouteAction::Call(Method::TasksOutput), "Returns a task's latest output or message, clipped.";
    POST "/v1/sessions/{session}/tasks/{task}/stop", "stopTask", RouteInput::body::<StopOptions>(), RouteOutput::Nothing,
        RouteAction::Call(Method::TasksStop), "Stops a task and everything below it.";
    POST "/v1/sessions/{session}/tasks/{task}/promote", "promoteTask", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::TasksPromote), "Moves a task that the root waits for to the background.";
    POST "/v1/sessions/{session}/tasks/{task}/messages", "sendTaskMessage", RouteInput::body::<MessageBody>(),
        RouteOutput::created::<SendResult>(), RouteAction::Call(Method::SessionSend), "Sends a task a message.";
    DELETE "/v1/sessions/{session}/tasks/{task}", "forgetTask", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::TasksForget), "Removes the record of a task that has ended.";

    GET "/v1/sessions/{session}/todos", "listTodos", RouteInput::query::<TodosParams>(), RouteOutput::json::<TodosPage>(),
        RouteAction::Call(Method::TodosList), "Lists the session's todos with their dependencies, in pages.";
    POST "/v1/sessions/{session}/todos", "addTodo", RouteInput::body::<NewTodo>(), RouteOutput::created::<TodoView>(),
        RouteAction::Call(Method::TodosAdd), "Adds a todo.";
    PATCH "/v1/sessions/{session}/todos/{todo}", "changeTodo", RouteInput::body::<TodoPatch>(), RouteOutput::json::<TodoView>(),
        RouteAction::Call(Method::TodosUpdate), "Changes a todo: its text, dependencies or status.";

    GET "/v1/sessions/{session}/asks", "listAsks", RouteInput::query::<AsksParams>(), RouteOutput::json::<AsksResult>(),
        RouteAction::Call(Method::AsksList), "Lists the asks that wait for a person's decision, oldest first.";
    POST "/v1/sessions/{session}/asks/{ask}", "decideAsk", RouteInput::body::<DecisionBody>(), RouteOutput::Nothing,
        RouteAction::Call(Method::AsksDecide), "Decides one ask: allows or denies a call, or answers a question.";
}
