//! Questions of a server to the user.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tools::{BoxFuture, ModelAsker, UserPrompter, UserQuestion};

use crate::sampling;

/// The most fields of one form.
const MAX_FIELDS: usize = 16;

/// The most bytes of a server's text in a question.
const MAX_TEXT_BYTES: usize = 1000;

/// Answers questions of servers.
pub trait McpElicitor: Send + Sync + fmt::Debug {
    /// Asks the user to fill in a form. Returns the result of `elicitation/create`.
    fn elicit<'a>(&'a self, server: &'a str, params: &'a Value) -> BoxFuture<'a, Value>;

    /// Asks the session's model. Returns the result of `sampling/createMessage`; the error text says why there is none.
    fn sample<'a>(&'a self, _server: &'a str, _params: &'a Value) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async { Err("this client does not do that".into()) })
    }
}

/// Asks the user of the session one question per field, and the session's model.
#[derive(Debug)]
pub(crate) struct SessionElicitor {
    pub(crate) prompter: Arc<dyn UserPrompter>,
    pub(crate) model: Option<Arc<dyn ModelAsker>>,
}

impl McpElicitor for SessionElicitor {
    fn elicit<'a>(&'a self, server: &'a str, params: &'a Value) -> BoxFuture<'a, Value> {
        Box::pin(async move {
            let Some(form) = Form::read(params) else { return declined() };
            let mut content = Map::new();
            if form.fields.is_empty() {
                let question = question(server, &form.message, None, vec!["yes".into(), "no".into()]);
                return match self.prompter.ask(question).await {
                    Ok(Some(answer)) if answer == "yes" => accepted(content),
                    Ok(Some(_no)) => declined(),
                    Ok(None) | Err(_) => cancelled(),
                };
            }
            for field in form.fields {
                let question = question(server, &form.message, Some(&field), field.choices());
                match self.prompter.ask(question).await {
                    Ok(Some(answer)) => match field.value_of(&answer) {
                        Some(value) => drop(content.insert(field.name, value)),
                        None if field.required => return declined(),
                        None => {}
                    },
                    Ok(None) | Err(_) => return cancelled(),
                }
            }
            accepted(content)
        })
    }

    fn sample<'a>(&'a self, server: &'a str, params: &'a Value) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let model = self.model.as_ref().ok_or("there is no model to ask")?;
            let reply = model.ask(sampling::question(server, params)?).await.map_err(|error| error.to_string())?;
            Ok(sampling::result(&reply.model, &reply.text))
        })
    }
}

/// The result when there is no user to ask.
pub(crate) fn cancelled() -> Value {
    json!({ "action": "cancel" })
}

fn declined() -> Value {
    json!({ "action": "decline" })
}

fn accepted(content: Map<String, Value>) -> Value {
    json!({ "action": "accept", "content": content })
}

fn question(server: &str, message: &str, field: Option<&FormField>, choices: Vec<String>) -> UserQuestion {
    let mut question = format!("The MCP server `{server}` asks: {message}");
    if let Some(field) = field {
        question.push_str(&format!("\n{}", field.question()));
    }
    UserQuestion { question: protocol::clip_middle(&question, MAX_TEXT_BYTES), choices }
}

/// A form with flat fields, the only kind that servers may send.
struct Form {
    message: String,
    fields: Vec<FormField>,
}

struct FormField {
    name: String,
    label: String,
    kind: FieldKind,
    required: bool,
    /// Its value if the user gives none.
    default: Option<Value>,
}

enum FieldKind {
    Text,
    Number,
    Integer,
    YesNo,
    /// The values, each with the title that the user sees.
    Choice(Vec<(String, String)>),
    /// Any number of these values, which the user separates by commas.
    Choices(Vec<(String, String)>),
}

impl Form {
    /// Reads a form; `None` if the user cannot be asked for it, such as one that opens a page.
    fn read(params: &Value) -> Option<Form> {
        if params["mode"].as_str().is_some_and(|mode| mode != "form") {
            return None;
        }
        let message = params["message"].as_str().unwrap_or_default().to_owned();
        let schema = &params["requestedSchema"];
        let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let properties = schema["properties"].as_object();
        let fields =
            properties.into_iter().flatten().map(|(name, schema)| FormField::read(name, schema, required(name)));
        let fields = fields.collect::<Option<Vec<FormField>>>()?;
        (fields.len() <= MAX_FIELDS).then_some(Form { message, fields })
    }
}

impl FormField {
    fn read(name: &str, schema: &Value, required: bool) -> Option<FormField> {
        let kind = match (choices_of(schema), schema["type"].as_str()) {
            (Some(choices), _) => FieldKind::Choice(choices),
            (None, Some("array")) => FieldKind::Choices(choices_of(&schema["items"])?),
            (None, Some("string")) => FieldKind::Text,
            (None, Some("number")) => FieldKind::Number,
            (None, Some("integer")) => FieldKind::Integer,
            (None, Some("boolean")) => FieldKind::YesNo,
            (None, _) => return None,
        };
        let text = |key: &str| schema[key].as_str();
        let label = [text("title").unwrap_or(name), text("description").unwrap_or_default()].join(" ");
        let mut label = label.trim().to_owned();
        if let FieldKind::Choices(values) = &kind {
            let titles: Vec<&str> = values.iter().map(|(_, title)| title.as_str()).collect();
            label.push_str(&format!(" (any of these, separated by commas: {})", titles.join(", ")));
        }
        let field = FormField { name: name.to_owned(), label, kind, required, default: None };
        let default = schema.get("default").filter(|value| field.accepts(value)).cloned();
        Some(FormField { default, ..field })
    }

    /// What the user reads: the label, and the default.
    fn question(&self) -> String {
        let shown = match &self.default {
            Some(Value::String(text)) if text.is_empty() => return self.label.clone(),
            Some(Value::Bool(value)) => if *value { "yes" } else { "no" }.to_owned(),
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => return self.label.clone(),
        };
        format!("{} (default: {shown})", self.label)
    }

    /// The value for an answer; the default for an empty one.
    fn value_of(&self, answer: &str) -> Option<Value> {
        self.default.clone().filter(|_| answer.trim().is_empty()).or_else(|| self.parse(answer))
    }

    /// Whether a value is one of the field.
    fn accepts(&self, value: &Value) -> bool {
        match &self.kind {
            FieldKind::Text => value.is_string(),
            FieldKind::Number => value.is_number(),
            FieldKind::Integer => value.is_i64(),
            FieldKind::YesNo => value.is_boolean(),
            FieldKind::Choice(values) => values.iter().any(|(choice, _)| value == choice.as_str()),
            FieldKind::Choices(values) => value.as_array().is_some_and(|chosen| {
                let is_known = |one: &Value| values.iter().any(|(choice, _)| one == choice.as_str());
                chosen.len() <= values.len() && chosen.iter().all(is_known)
            }),
        }
    }

    fn choices(&self) -> Vec<String> {
        match &self.kind {
            FieldKind::Choice(values) => values.iter().map(|(_, title)| title.clone()).collect(),
            FieldKind::YesNo => vec!["yes".into(), "no".into()],
            FieldKind::Text | FieldKind::Number | FieldKind::Integer | FieldKind::Choices(_) => Vec::new(),
        }
    }

    /// The value that an answer means.
    fn parse(&self, answer: &str) -> Option<Value> {
        match &self.kind {
            FieldKind::Text => Some(answer.into()),
            FieldKind::Number => answer.trim().parse::<f64>().ok().map(Value::from),
            FieldKind::Integer => answer.trim().parse::<i64>().ok().map(Value::from),
            FieldKind::YesNo => match answer.trim() {
                "yes" => Some(true.into()),
                "no" => Some(false.into()),
                _other => None,
            },
            FieldKind::Choice(values) => chosen(values, answer),
            FieldKind::Choices(values) => {
                let words = answer.split(',').map(str::trim).filter(|word| !word.is_empty());
                words.map(|word| chosen(values, word)).collect::<Option<Vec<Value>>>().map(Value::from)
            }
        }
    }
}

/// The value that the user names by itself or by its title.
fn chosen(values: &[(String, String)], answer: &str) -> Option<Value> {
    let (value, _) = values.iter().find(|(value, title)| value == answer || title == answer)?;
    Some(value.as_str().into())
}

/// The values of a field with a fixed list of them.
fn choices_of(schema: &Value) -> Option<Vec<(String, String)>> {
    if let Some(titled) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        let choice = |entry: &Value| {
            let value = entry["const"].as_str()?;
            Some((value.to_owned(), entry["title"].as_str().unwrap_or(value).to_owned()))
        };
        return titled.iter().map(choice).collect();
    }
    let values = schema["enum"].as_array()?;
    let title = |index: usize| schema["enumNames"][index].as_str();
    let choice = |(index, value): (usize, &Value)| {
        let value = value.as_str()?;
        Some((value.to_owned(), title(index).unwrap_or(value).to_owned()))
    };
    values.iter().enumerate().map(choice).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tools::ToolError;

    use super::*;

    /// A user with prepared answers.
    #[derive(Debug)]
    struct ScriptedUser {
        answers: Mutex<Vec<Option<&'static str>>>,
        questions: Mutex<Vec<UserQuestion>>,
    }

    impl UserPrompter for ScriptedUser {
        fn ask(&self, question: UserQuestion) -> BoxFuture<'_, Result<Option<String>, ToolError>> {
            self.questions.lock().unwrap().push(question);
            let answer = self.answers.lock().unwrap().remove(0);
            Box::pin(async move { Ok(answer.map(str::to_owned)) })
        }
    }

    async fn elicit(params: Value, answers: &[Option<&'static str>]) -> (Value, Vec<UserQuestion>) {
        let user = ScriptedUser { answers: Mutex::new(answers.to_vec()), questions: Mutex::default() };
        let user = Arc::new(user);
        let result = SessionElicitor { prompter: Arc::clone(&user) as Arc<dyn UserPrompter>, model: None };
        let result = result.elicit("calc", &params).await;
        let questions = std::mem::take(&mut *user.questions.lock().unwrap());
        (result, questions)
    }

    #[tokio::test]
    async fn every_field_is_one_question() {
        let properties = json!({
            "age": { "type": "integer", "title": "Age" },
            "fine": { "type": "boolean" },
            "colour": { "enum": ["r", "g"], "enumNames": ["red", "green"] },
            "name": { "type": "string", "description": "in full" },
        });
        let params = json!({ "message": "Who?", "requestedSchema": { "properties": properties, "required": ["age"] } });
        let (result, questions) = elicit(params, &[Some("7"), Some("green"), Some("no"), Some("Ann")]).await;
        assert_eq!(
            result,
            json!({ "action": "accept", "content": { "age": 7, "colour": "g", "fine": false, "name": "Ann" } })
        );
        assert_eq!(questions[0].question, "The MCP server `calc` asks: Who?\nAge");
        assert_eq!(questions[1].choices, ["red", "green"]);
    }

    #[tokio::test]
    async fn several_values_are_separated_by_commas() {
        let form = |items: Value| {
            json!({ "message": "Which?", "requestedSchema": {
                "properties": { "days": { "type": "array", "items": items } }, "required": ["days"] } })
        };
        let plain = form(json!({ "type": "string", "enum": ["mo", "tu", "we"] }));
        let (result, questions) = elicit(plain.clone(), &[Some("tu, mo")]).await;
        assert_eq!(result, json!({ "action": "accept", "content": { "days": ["tu", "mo"] } }));
        assert!(questions[0].question.ends_with("days (any of these, separated by commas: mo, tu, we)"));
        assert_eq!(elicit(plain.clone(), &[Some("mo,su")]).await.0, declined());
        assert_eq!(elicit(plain, &[Some("")]).await.0, json!({ "action": "accept", "content": { "days": [] } }));
        let titled = form(json!({ "anyOf": [{ "const": "mo", "title": "Monday" }] }));
        let (result, _) = elicit(titled, &[Some("Monday")]).await;
        assert_eq!(result, json!({ "action": "accept", "content": { "days": ["mo"] } }));
    }

    #[tokio::test]
    async fn an_empty_answer_means_the_default() {
        let properties = json!({
            "age": { "type": "integer", "default": 30 },
            "fine": { "type": "boolean", "default": true },
            "colour": { "enum": ["r", "g"], "default": "g" },
            "name": { "type": "string", "default": 5 },
        });
        let params = json!({ "message": "Who?", "requestedSchema": { "properties": properties } });
        let (result, questions) = elicit(params, &[Some(""), Some(" "), Some("no"), Some("")]).await;
        let content = json!({ "age": 30, "colour": "g", "fine": false, "name": "" });
        assert_eq!(result, json!({ "action": "accept", "content": content }));
        assert!(questions[0].question.ends_with("age (default: 30)"), "{}", questions[0].question);
        assert!(questions[3].question.ends_with("\nname"), "a default of another type is ignored");
    }

    #[tokio::test]
    async fn forms_that_nobody_fills_in_are_not_accepted() {
        let age = |required: Value| {
            json!({ "message": "?", "requestedSchema": {
                "properties": { "age": { "type": "integer" } }, "required": required } })
        };
        assert_eq!(elicit(age(json!(["age"])), &[Some("old")]).await.0, declined());
        assert_eq!(elicit(age(json!([])), &[Some("old")]).await.0, accepted(Map::new()));
        assert_eq!(elicit(age(json!([])), &[None]).await.0, cancelled());
        assert_eq!(elicit(json!({ "message": "Go?" }), &[Some("yes")]).await.0, accepted(Map::new()));
        assert_eq!(elicit(json!({ "message": "Go?" }), &[Some("no")]).await.0, declined());
        assert_eq!(elicit(json!({ "mode": "url", "url": "http://x" }), &[]).await.0, declined());
        let nested = json!({ "requestedSchema": { "properties": { "a": { "type": "object" } } } });
        assert_eq!(elicit(nested, &[]).await.0, declined());
    }
}
