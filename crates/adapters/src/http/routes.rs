//! The table: everything that may be asked over HTTP.

use hyper::Method as Verb;
use protocol::api::{
    AgentsResult, AsksParams, AsksResult, FleetParams, FleetResult, InvokeSlashResult, Method, ModeParams, ModelParams,
    NewTodo, OutputResult, PlanParams, PlanResult, SendResult, SessionView, SlashList, StartAgentParams,
    StartAgentResult, TaskRecord, TasksPage, TasksParams, TodoView, TodosPage, TodosParams,
};

use super::payloads::{
    CommandInput, DecisionBody, EventsQuery, MessageBody, ServerInfo, SessionListQuery, SessionOptions, SessionsPage,
    StopOptions, TodoPatch,
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
    GET "/v1", "greet", RouteInput::Nothing, RouteOutput::json::<ServerInfo>(), RouteAction::ServerInfo,
        "What serves here.";
    GET "/v1/openapi.json", "describe", RouteInput::Nothing, RouteOutput::json::<serde_json::Value>(), RouteAction::Describe,
        "This table, as an OpenAPI document.";

    GET "/v1/sessions", "listSessions", RouteInput::query::<SessionListQuery>(), RouteOutput::json::<SessionsPage>(), RouteAction::List,
        "The sessions there are, newest first, in pages.";
    POST "/v1/sessions", "beginSession", RouteInput::body::<SessionOptions>(), RouteOutput::new::<SessionView>(), RouteAction::Create,
        "Begins a session, which runs here whoever watches.";
    GET "/v1/sessions/{session}", "getSession", RouteInput::Nothing, RouteOutput::json::<SessionView>(),
        RouteAction::Call(Method::SessionGet), "What the session is, who owns it, and the state of its root.";
    DELETE "/v1/sessions/{session}", "removeSession", RouteInput::Nothing, RouteOutput::Nothing, RouteAction::Remove,
        "Removes a session that no other process runs, with everything that was kept of it.";
    POST "/v1/sessions/{session}/messages", "sendMessage", RouteInput::body::<MessageBody>(), RouteOutput::new::<SendResult>(),
        RouteAction::Call(Method::SessionSend), "Sends the session's root a message.";
    POST "/v1/sessions/{session}/interrupt", "interruptSession", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::SessionInterrupt), "Stops the running turn; the session stays.";
    POST "/v1/sessions/{session}/stop", "stopSession", RouteInput::Nothing, RouteOutput::Nothing, RouteAction::Stop,
        "Stops every task and ends the run; the session can be resumed.";
    POST "/v1/sessions/{session}/resume", "resumeSession", RouteInput::body::<SessionOptions>(), RouteOutput::json::<SessionView>(),
        RouteAction::Resume, "Goes on with a session that nobody runs; one that runs stays as it is.";
    POST "/v1/sessions/{session}/fork", "forkSession", RouteInput::body::<SessionOptions>(), RouteOutput::new::<SessionView>(),
        RouteAction::Fork, "Goes on in a copy; the session itself stays as it is.";
    GET "/v1/sessions/{session}/events", "watchSession", RouteInput::query::<EventsQuery>(), RouteOutput::Events, RouteAction::Watch,
        "Everything that happens in the session, from a sequence number on.";

    GET "/v1/sessions/{session}/mode", "getMode", RouteInput::Nothing, RouteOutput::json::<ModeParams>(),
        RouteAction::Call(Method::ModeGet), "How far the session's own agent goes by itself.";
    POST "/v1/sessions/{session}/mode", "setMode", RouteInput::body::<ModeParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ModeSet), "Goes on in another mode.";
    GET "/v1/sessions/{session}/plan", "getPlan", RouteInput::Nothing, RouteOutput::json::<PlanResult>(),
        RouteAction::Call(Method::PlanRead), "The session's plan, if it has one.";
    POST "/v1/sessions/{session}/plan", "setPlan", RouteInput::body::<PlanParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::PlanUpdate), "Keeps another plan.";
    DELETE "/v1/sessions/{session}/plan", "removePlan", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::PlanDelete), "Removes the plan.";
    GET "/v1/sessions/{session}/model", "getModel", RouteInput::Nothing, RouteOutput::json::<ModelParams>(),
        RouteAction::Call(Method::ModelGet), "The model that the session's own agent asks.";
    POST "/v1/sessions/{session}/model", "setModel", RouteInput::body::<ModelParams>(), RouteOutput::Nothing,
        RouteAction::Call(Method::ModelSet), "Asks another model from the next turn on.";
    POST "/v1/sessions/{session}/fleet", "startFleet", RouteInput::body::<FleetParams>(), RouteOutput::json::<FleetResult>(),
        RouteAction::Call(Method::SessionFleetStart), "Has the root split a request and run its parts by agents of its own.";

    GET "/v1/sessions/{session}/commands", "listCommands", RouteInput::Nothing, RouteOutput::json::<SlashList>(),
        RouteAction::Call(Method::CommandsList), "The slash commands there are.";
    POST "/v1/sessions/{session}/commands/{name}", "invokeCommand", RouteInput::body::<CommandInput>(),
        RouteOutput::json::<InvokeSlashResult>(), RouteAction::Call(Method::CommandsInvoke),
        "Runs a slash command; one that is for the model gives the prompt to send.";
    GET "/v1/sessions/{session}/agents", "listAgents", RouteInput::Nothing, RouteOutput::json::<AgentsResult>(),
        RouteAction::Call(Method::AgentsList), "The agents that may be started.";
    POST "/v1/sessions/{session}/agents", "startAgent", RouteInput::body::<StartAgentParams>(),
        RouteOutput::new::<StartAgentResult>(), RouteAction::Call(Method::AgentsStart),
        "Starts an agent in the background; its result reaches the root.";

    GET "/v1/sessions/{session}/tasks", "listTasks", RouteInput::query::<TasksParams>(), RouteOutput::json::<TasksPage>(),
        RouteAction::Call(Method::TasksList), "Every task of the session, oldest first, in pages.";
    GET "/v1/sessions/{session}/tasks/{task}", "getTask", RouteInput::Nothing, RouteOutput::json::<TaskRecord>(),
        RouteAction::Call(Method::TasksGet), "One task with everything its record holds.";
    GET "/v1/sessions/{session}/tasks/{task}/output", "getOutput", RouteInput::Nothing, RouteOutput::json::<OutputResult>(),
        RouteAction::Call(Method::TasksOutput), "What a task printed or said last, clipped.";
    POST "/v1/sessions/{session}/tasks/{task}/stop", "stopTask", RouteInput::body::<StopOptions>(), RouteOutput::Nothing,
        RouteAction::Call(Method::TasksStop), "Stops a task and everything below it.";
    POST "/v1/sessions/{session}/tasks/{task}/promote", "promoteTask", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::TasksPromote), "Sends a task that the root waits for to the background.";
    POST "/v1/sessions/{session}/tasks/{task}/messages", "sendTaskMessage", RouteInput::body::<MessageBody>(),
        RouteOutput::new::<SendResult>(), RouteAction::Call(Method::SessionSend), "Sends a task a message.";
    DELETE "/v1/sessions/{session}/tasks/{task}", "forgetTask", RouteInput::Nothing, RouteOutput::Nothing,
        RouteAction::Call(Method::TasksForget), "Removes the record of a task that has ended.";

    GET "/v1/sessions/{session}/todos", "listTodos", RouteInput::query::<TodosParams>(), RouteOutput::json::<TodosPage>(),
        RouteAction::Call(Method::TodosList), "The todos of the session with what they depend on, in pages.";
    POST "/v1/sessions/{session}/todos", "addTodo", RouteInput::body::<NewTodo>(), RouteOutput::new::<TodoView>(),
        RouteAction::Call(Method::TodosAdd), "Adds a todo to the session's graph.";
    PATCH "/v1/sessions/{session}/todos/{todo}", "changeTodo", RouteInput::body::<TodoPatch>(), RouteOutput::json::<TodoView>(),
        RouteAction::Call(Method::TodosUpdate), "Changes a todo: its words, what it depends on, how far it is.";

    GET "/v1/sessions/{session}/asks", "listAsks", RouteInput::query::<AsksParams>(), RouteOutput::json::<AsksResult>(),
        RouteAction::Call(Method::AsksList), "What waits for a person's decision, oldest first.";
    POST "/v1/sessions/{session}/asks/{ask}", "decideAsk", RouteInput::body::<DecisionBody>(), RouteOutput::Nothing,
        RouteAction::Call(Method::AsksDecide), "Decides on one ask: allows or denies a call, or answers a question.";
}
