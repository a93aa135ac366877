//! `session.plan.*`: the plan and its todos.

use protocol::api::{Method, PlanParams, PlanResult, TodoView, TodosPage, TodosParams};
use rpc::ErrorObject;
use serde_json::{Value, json};

use super::fields::required_text;
use super::unhandled;
use crate::copilot::connection::CopilotConnection;
use crate::copilot::hosted_session::HostedSession;

/// How many todos are requested at once.
const TODOS_PER_REQUEST: u64 = 1_000;

pub(crate) async fn call(
    _connection: &CopilotConnection,
    session: &HostedSession,
    method: &str,
    params: Value,
) -> Result<Value, ErrorObject> {
    match method {
        "session.plan.read" => {
            let content = read_plan(session).await?;
            let path = content.is_some().then(|| session.home().plan_file(session.id()));
            Ok(json!({ "exists": content.is_some(), "content": content, "path": path }))
        }
        "session.plan.update" => {
            let operation = if read_plan(session).await?.is_some() { "update" } else { "create" };
            let plan = PlanParams { text: required_text(&params, "content")?.to_owned() };
            let _done: Value = session.call(Method::PlanUpdate, plan).await?;
            session.record("session.plan_changed", json!({ "operation": operation })).await?;
            Ok(Value::Null)
        }
        "session.plan.delete" => {
            let _done: Value = session.call(Method::PlanDelete, json!({})).await?;
            session.record("session.plan_changed", json!({ "operation": "delete" })).await?;
            Ok(Value::Null)
        }
        "session.plan.readSqlTodos" => {
            Ok(json!({ "rows": todos(session).await?.iter().map(todo_row).collect::<Vec<_>>() }))
        }
        "session.plan.readSqlTodosWithDependencies" => {
            let todos = todos(session).await?;
            let dependencies: Vec<Value> = todos.iter().flat_map(dependencies).collect();
            Ok(json!({ "rows": todos.iter().map(todo_row).collect::<Vec<_>>(), "dependencies": dependencies }))
        }
        other => Err(unhandled(other)),
    }
}

async fn read_plan(session: &HostedSession) -> Result<Option<String>, ErrorObject> {
    let PlanResult { text } = session.call(Method::PlanRead, json!({})).await?;
    Ok(text)
}

async fn todos(session: &HostedSession) -> Result<Vec<TodoView>, ErrorObject> {
    let mut all = Vec::new();
    loop {
        let query = TodosParams { offset: all.len() as u64, limit: Some(TODOS_PER_REQUEST), ..TodosParams::default() };
        let page: TodosPage = session.call(Method::TodosList, query).await?;
        let is_last = page.todos.is_empty();
        all.extend(page.todos);
        if is_last || all.len() as u64 >= page.total {
            return Ok(all);
        }
    }
}

fn todo_row(todo: &TodoView) -> Value {
    let mut row = json!({ "id": todo.id, "title": todo.title, "status": todo.status.as_str() });
    if let Some(description) = &todo.description {
        row["description"] = description.as_str().into();
    }
    row
}

fn dependencies(todo: &TodoView) -> impl Iterator<Item = Value> {
    todo.depends_on.iter().map(|dependency| json!({ "todoId": todo.id, "dependsOn": dependency }))
}
