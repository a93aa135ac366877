//! The table: everything that may be asked over HTTP.

use hyper::Method as Verb;
use protocol::api::{
    AgentsResult, AsksParams, AsksResult, FleetParams, FleetResult, InvokeResult, Method, ModeParams, ModelParams,
    NewTodo, OutputResult, PlanParams, PlanResult, SendResult, SessionView, SlashList, StartAgentParams,
    StartAgentResult, TaskRecord, TasksPage, TasksParams, TodoView, TodosPage, TodosParams,
};

use super::route::{Act, Gives, Route, Takes};
use super::words::{
    Beginning, Decided, Firmness, Greeting, Invocation, Message, SessionsPage, SessionsWanted, Since, TodoPatch,
};

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
    GET "/v1", "greet", Takes::Nothing, Gives::json::<Greeting>(), Act::Greet,
        "What serves here.";
    GET "/v1/openapi.json", "describe", Takes::Nothing, Gives::json::<serde_json::Value>(), Act::Describe,
        "This table, as an OpenAPI document.";

    GET "/v1/sessions", "listSessions", Takes::query::<SessionsWanted>(), Gives::json::<SessionsPage>(), Act::List,
        "The sessions there are, newest first, in pages.";
    POST "/v1/sessions", "beginSession", Takes::body::<Beginning>(), Gives::new::<SessionView>(), Act::Begin,
        "Begins a session, which runs here whoever watches.";
    GET "/v1/sessions/{session}", "getSession", Takes::Nothing, Gives::json::<SessionView>(),
        Act::Call(Method::SessionGet), "What the session is, who owns it, and the state of its root.";
    DELETE "/v1/sessions/{session}", "removeSession", Takes::Nothing, Gives::Nothing, Act::Remove,
        "Removes a session that no other process runs, with everything that was kept of it.";
    POST "/v1/sessions/{session}/messages", "sendMessage", Takes::body::<Message>(), Gives::new::<SendResult>(),
        Act::Call(Method::SessionSend), "Sends the session's root a message.";
    POST "/v1/sessions/{session}/interrupt", "interruptSession", Takes::Nothing, Gives::Nothing,
        Act::Call(Method::SessionInterrupt), "Stops the running turn; the session stays.";
    POST "/v1/sessions/{session}/stop", "stopSession", Takes::Nothing, Gives::Nothing, Act::Stop,
        "Stops every task and ends the run; the session can be resumed.";
    POST "/v1/sessions/{session}/resume", "resumeSession", Takes::body::<Beginning>(), Gives::json::<SessionView>(),
        Act::Resume, "Goes on with a session that nobody runs; one that runs stays as it is.";
    POST "/v1/sessions/{session}/fork", "forkSession", Takes::body::<Beginning>(), Gives::new::<SessionView>(),
        Act::Fork, "Goes on in a copy; the session itself stays as it is.";
    GET "/v1/sessions/{session}/events", "watchSession", Takes::query::<Since>(), Gives::Events, Act::Watch,
        "Everything that happens in the session, from a sequence number on.";

    GET "/v1/sessions/{session}/mode", "getMode", Takes::Nothing, Gives::json::<ModeParams>(),
        Act::Call(Method::ModeGet), "How far the session's own agent goes by itself.";
    POST "/v1/sessions/{session}/mode", "setMode", Takes::body::<ModeParams>(), Gives::Nothing,
        Act::Call(Method::ModeSet), "Goes on in another mode.";
    GET "/v1/sessions/{session}/plan", "getPlan", Takes::Nothing, Gives::json::<PlanResult>(),
        Act::Call(Method::PlanRead), "The session's plan, if it has one.";
    POST "/v1/sessions/{session}/plan", "setPlan", Takes::body::<PlanParams>(), Gives::Nothing,
        Act::Call(Method::PlanUpdate), "Keeps another plan.";
    DELETE "/v1/sessions/{session}/plan", "removePlan", Takes::Nothing, Gives::Nothing,
        Act::Call(Method::PlanDelete), "Removes the plan.";
    GET "/v1/sessions/{session}/model", "getModel", Takes::Nothing, Gives::json::<ModelParams>(),
        Act::Call(Method::ModelGet), "The model that the session's own agent asks.";
    POST "/v1/sessions/{session}/model", "setModel", Takes::body::<ModelParams>(), Gives::Nothing,
        Act::Call(Method::ModelSet), "Asks another model from the next turn on.";
    POST "/v1/sessions/{session}/fleet", "startFleet", Takes::body::<FleetParams>(), Gives::json::<FleetResult>(),
        Act::Call(Method::SessionFleetStart), "Has the root split a request and run its parts by agents of its own.";

    GET "/v1/sessions/{session}/commands", "listCommands", Takes::Nothing, Gives::json::<SlashList>(),
        Act::Call(Method::CommandsList), "The slash commands there are.";
    POST "/v1/sessions/{session}/commands/{name}", "invokeCommand", Takes::body::<Invocation>(),
        Gives::json::<InvokeResult>(), Act::Call(Method::CommandsInvoke),
        "Runs a slash command; one that is for the model gives the prompt to send.";
    GET "/v1/sessions/{session}/agents", "listAgents", Takes::Nothing, Gives::json::<AgentsResult>(),
        Act::Call(Method::AgentsList), "The agents that may be started.";
    POST "/v1/sessions/{session}/agents", "startAgent", Takes::body::<StartAgentParams>(),
        Gives::new::<StartAgentResult>(), Act::Call(Method::AgentsStart),
        "Starts an agent in the background; its result reaches the root.";

    GET "/v1/sessions/{session}/tasks", "listTasks", Takes::query::<TasksParams>(), Gives::json::<TasksPage>(),
        Act::Call(Method::TasksList), "Every task of the session, oldest first, in pages.";
    GET "/v1/sessions/{session}/tasks/{task}", "getTask", Takes::Nothing, Gives::json::<TaskRecord>(),
        Act::Call(Method::TasksGet), "One task with everything its record holds.";
    GET "/v1/sessions/{session}/tasks/{task}/output", "getOutput", Takes::Nothing, Gives::json::<OutputResult>(),
        Act::Call(Method::TasksOutput), "What a task printed or said last, clipped.";
    POST "/v1/sessions/{session}/tasks/{task}/stop", "stopTask", Takes::body::<Firmness>(), Gives::Nothing,
        Act::Call(Method::TasksStop), "Stops a task and everything below it.";
    POST "/v1/sessions/{session}/tasks/{task}/promote", "promoteTask", Takes::Nothing, Gives::Nothing,
        Act::Call(Method::TasksPromote), "Sends a task that the root waits for to the background.";
    POST "/v1/sessions/{session}/tasks/{task}/messages", "sendTaskMessage", Takes::body::<Message>(),
        Gives::new::<SendResult>(), Act::Call(Method::SessionSend), "Sends a task a message.";
    DELETE "/v1/sessions/{session}/tasks/{task}", "forgetTask", Takes::Nothing, Gives::Nothing,
        Act::Call(Method::TasksForget), "Removes the record of a task that has ended.";

    GET "/v1/sessions/{session}/todos", "listTodos", Takes::query::<TodosParams>(), Gives::json::<TodosPage>(),
        Act::Call(Method::TodosList), "The todos of the session with what they depend on, in pages.";
    POST "/v1/sessions/{session}/todos", "addTodo", Takes::body::<NewTodo>(), Gives::new::<TodoView>(),
        Act::Call(Method::TodosAdd), "Adds a todo to the session's graph.";
    PATCH "/v1/sessions/{session}/todos/{todo}", "changeTodo", Takes::body::<TodoPatch>(), Gives::json::<TodoView>(),
        Act::Call(Method::TodosUpdate), "Changes a todo: its words, what it depends on, how far it is.";

    GET "/v1/sessions/{session}/asks", "listAsks", Takes::query::<AsksParams>(), Gives::json::<AsksResult>(),
        Act::Call(Method::AsksList), "What waits for a person's decision, oldest first.";
    POST "/v1/sessions/{session}/asks/{ask}", "decideAsk", Takes::body::<Decided>(), Gives::Nothing,
        Act::Call(Method::AsksDecide), "Decides on one ask: allows or denies a call, or answers a question.";
}
