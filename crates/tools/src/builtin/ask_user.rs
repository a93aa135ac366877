//! Asks the user a question.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::text::shown_letters;
use crate::{RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, UserQuestion};

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
}

/// Maximum characters of a question.
const QUESTION: usize = 2000;
/// Maximum number of choices.
const CHOICES: usize = 10;
/// Maximum characters of a choice.
const CHOICE: usize = 200;

impl TypedTool for AskUser {
    type Args = AskUserArgs;
    const NAME: &'static str = "ask_user";
    const ABOUT: &'static str = include_str!("ask_user.md");
    const ACCESS: ToolAccess = ToolAccess::Session;

    fn required_permissions(args: &AskUserArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        question(args).map(|_| vec![RequiredPermission::Session])
    }

    async fn run(args: AskUserArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let answer = cx.user_prompter.ask(question(&args)?).await?;
        let text = match answer.map(|answer| shown_letters(&answer)) {
            Some(answer) if !answer.trim().is_empty() => format!("The user answers: {}", answer.trim()),
            Some(_) | None => "The user did not answer; decide yourself and report what you assumed.".to_owned(),
        };
        Ok(ToolOutput::text(&text, cx))
    }
}

/// The question as the user sees it.
fn question(args: &AskUserArgs) -> Result<UserQuestion, ToolError> {
    let question = shown_letters(&args.question).trim().to_owned();
    if question.is_empty() {
        return Err(ToolError::refused("`question` is empty"));
    }
    if question.chars().count() > QUESTION {
        return Err(ToolError::Refused(format!("`question` has more than {QUESTION} characters; ask more briefly")));
    }
    let choices = args.choices.iter().flatten().map(|choice| one_line(choice)).filter(|choice| !choice.is_empty());
    let choices: Vec<String> = choices.collect();
    if choices.len() > CHOICES || choices.iter().any(|choice| choice.chars().count() > CHOICE) {
        let rule = format!("`choices` takes at most {CHOICES} answers of at most {CHOICE} characters");
        return Err(ToolError::Refused(format!("{rule}; put the rest into the question")));
    }
    Ok(UserQuestion { question, choices })
}

fn one_line(text: &str) -> String {
    shown_letters(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
