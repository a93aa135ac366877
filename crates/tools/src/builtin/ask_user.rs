//! Asks the user a question.

use protocol::tool_name;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::visible_text;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace, UserQuestion};

/// The `ask_user` tool.
pub(crate) struct AskUser;

/// The arguments of `ask_user`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskUserArgs {
    /// One question.
    question: String,
    /// Up to 10 short answers to choose from.
    choices: Option<Vec<String>>,
    /// False if only one of the choices helps you.
    allow_freeform: Option<bool>,
}

/// Maximum characters of a question.
const MAX_QUESTION_CHARS: usize = 2000;
/// Maximum number of choices.
const MAX_CHOICES: usize = 10;
/// Maximum characters of a choice.
const MAX_CHOICE_CHARS: usize = 200;

impl TypedTool for AskUser {
    type Args = AskUserArgs;
    const NAME: &'static str = tool_name::ASK_USER;
    const ABOUT: &'static str = include_str!("ask_user.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn place(_args: &AskUserArgs) -> ToolPlace {
        ToolPlace::Session
    }

    fn required_permissions(args: &AskUserArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        parse_question(args).map(|_| vec![RequiredPermission::Session])
    }

    async fn run(args: AskUserArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let question = parse_question(&args)?;
        let wants_choice = args.allow_freeform == Some(false) && !question.choices.is_empty();
        let choices = question.choices.clone();
        let answer = cx.session()?.user_prompter.ask(question).await?;
        let text = match answer.map(|answer| visible_text(&answer)) {
            Some(answer)
                if wants_choice && !answer.trim().is_empty() && !choices.iter().any(|it| it == answer.trim()) =>
            {
                format!("The user chose none of the choices, but answers: {}", answer.trim())
            }
            Some(answer) if !answer.trim().is_empty() => format!("The user answers: {}", answer.trim()),
            Some(_) | None => "The user did not answer; decide yourself and report what you assumed.".to_owned(),
        };
        Ok(ToolOutput::text(&text, cx))
    }
}

/// The question as the user sees it.
fn parse_question(args: &AskUserArgs) -> Result<UserQuestion, ToolError> {
    let question = visible_text(&args.question).trim().to_owned();
    if question.is_empty() {
        return Err(ToolError::refused("`question` is empty"));
    }
    if question.chars().count() > MAX_QUESTION_CHARS {
        return Err(ToolError::Refused(format!(
            "`question` has more than {MAX_QUESTION_CHARS} characters; ask more briefly"
        )));
    }
    let choices = args.choices.iter().flatten().map(|choice| one_line(choice)).filter(|choice| !choice.is_empty());
    let choices: Vec<String> = choices.collect();
    if choices.len() > MAX_CHOICES || choices.iter().any(|choice| choice.chars().count() > MAX_CHOICE_CHARS) {
        let rule = format!("`choices` takes at most {MAX_CHOICES} answers of at most {MAX_CHOICE_CHARS} characters");
        return Err(ToolError::Refused(format!("{rule}; put the rest into the question")));
    }
    Ok(UserQuestion { question, choices })
}

fn one_line(text: &str) -> String {
    visible_text(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
