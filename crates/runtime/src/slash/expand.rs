//! Expands a command's text into a prompt, with files and the output of shell commands as quoted data.

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use host::{Capture, ExitStatus, FileError, PathError, ProgramExit};
use protocol::{
    CallId, Clip, DefinitionSource, FrontMatter, Hinted, RuleEffect, RunId, SlashSpec, ToolCallRequest, tool_name,
};
use serde_json::json;
use tokio::task::JoinError;
use tokio::time::Instant;
use tools::{FileAccess, ShellCommand, ToolError};

use super::template::{MissingArgument, SlashTextPiece, TemplateArguments, pieces, takes_arguments};
use crate::hooks::{self, HookDenial};
use crate::prepared_agent::PreparedAgent;
use crate::session_context::SessionContext;
use crate::skill::{self, TextFileError};
use crate::task_workspaces::TaskWorkspace;
use crate::{permission_check, prompt};

/// Maximum bytes of a file or of a command's output in the prompt.
const MAX_SHOWN_BYTES: usize = 16 << 10;

/// Maximum bytes of output held in memory.
const MAX_HELD_BYTES: usize = 64 << 10;

/// Maximum number of files and commands in one text.
const MAX_PIECES: usize = 20;

/// Maximum time for all commands of one text together.
const MAX_COMMAND_TIME: Duration = Duration::from_secs(30);

/// Why a command in a text is not run.
#[derive(Debug, thiserror::Error)]
enum ShellPieceError {
    #[error("a text may contain at most {MAX_PIECES} files and commands")]
    TooMany,
    #[error("the administrator of this machine forbids commands in texts")]
    Forbidden,
    #[error("its arguments contain characters that a shell would interpret")]
    UnsafeArgument,
    #[error(transparent)]
    Hook(#[from] HookDenial),
    #[error("{reason}")]
    NotAllowed { reason: String, flags: Option<String> },
    #[error(transparent)]
    Tool(#[from] ToolError),
}

impl Hinted for ShellPieceError {
    fn hint(&self) -> Option<String> {
        match self {
            ShellPieceError::NotAllowed { flags, .. } => {
                flags.as_ref().map(|flags| format!("permit it with `{flags}`"))
            }
            ShellPieceError::TooMany
            | ShellPieceError::Forbidden
            | ShellPieceError::UnsafeArgument
            | ShellPieceError::Hook(_)
            | ShellPieceError::Tool(_) => None,
        }
    }
}

/// Why a file is not included in a text.
#[derive(Debug, thiserror::Error)]
enum FilePieceError {
    #[error("a text may contain at most {MAX_PIECES} files and commands")]
    TooMany,
    #[error("no file is named")]
    Unnamed,
    #[error("this agent does not read files")]
    NoView,
    #[error("{0}")]
    NotAllowed(String),
    #[error("there is no such file")]
    Missing,
    #[error("it is not UTF-8 text")]
    NotText,
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Thread(#[from] JoinError),
}

/// Runs commands and reads files with the permissions of the root's own calls.
pub(super) struct TemplateExpander<'a> {
    context: &'a Arc<SessionContext>,
    agent: Arc<PreparedAgent>,
    task_workspace: Arc<TaskWorkspace>,
    run: RunId,
    /// When its commands must have ended.
    deadline: Instant,
}

impl<'a> TemplateExpander<'a> {
    pub(super) fn new(
        context: &'a Arc<SessionContext>,
        prepared: Arc<PreparedAgent>,
        task_workspace: Arc<TaskWorkspace>,
        run: RunId,
    ) -> TemplateExpander<'a> {
        TemplateExpander {
            context,
            agent: prepared,
            task_workspace,
            run,
            deadline: Instant::now() + MAX_COMMAND_TIME.min(context.facts.tools.max_shell_timeout),
        }
    }

    /// Expands a command's text with its arguments.
    pub(super) async fn expand(&self, text: &str, typed: &str) -> Result<String, MissingArgument> {
        let arguments = TemplateArguments::parse(typed, text)?;
        let mut prompt = String::with_capacity(text.len());
        let mut count = 0;
        for piece in pieces(text) {
            count += usize::from(!matches!(piece, SlashTextPiece::Text(_)));
            match piece {
                SlashTextPiece::Text(text) => prompt += &fill_unchanged(&arguments, text),
                SlashTextPiece::Shell(command) if count > MAX_PIECES => {
                    prompt += &not_run(command, &ShellPieceError::TooMany)
                }
                SlashTextPiece::Shell(command) => prompt += &self.expand_shell(command, &arguments).await,
                SlashTextPiece::File(path) if count > MAX_PIECES => {
                    prompt += &not_included(path, &FilePieceError::TooMany)
                }
                SlashTextPiece::File(path) => prompt += &self.expand_file(path, &arguments).await,
            }
        }
        if !takes_arguments(text) && !typed.is_empty() {
            prompt += &format!("\n\nArguments: {typed}");
        }
        Ok(prompt.trim().to_owned())
    }

    /// The output of a command, or the reason why it was not run.
    async fn expand_shell(&self, template: &str, arguments: &TemplateArguments<'_>) -> String {
        if !self.context.facts.features.inline_shell {
            return not_run(template, &ShellPieceError::Forbidden);
        }
        let command = match arguments.fill(template, shell_safe_word) {
            Ok(command) => command,
            Err(why) => return not_run(template, &why),
        };
        match self.permitted_command(&command).await {
            Ok(command) => self.command_output(&command).await,
            Err(why) => not_run(&command, &why),
        }
    }

    /// The command as changed by hooks, if it may run without asking the user.
    async fn permitted_command(&self, command: &str) -> Result<String, ShellPieceError> {
        let command = hooks::check_command(self.context, self.run, command).await?;
        let verdict = permission_check::judge_command(
            &self.context.workplace,
            &self.agent,
            &self.task_workspace,
            tool_name::SHELL,
            &command,
        )
        .await;
        let verdict = verdict?;
        match verdict.effect {
            RuleEffect::Allow => Ok(command),
            RuleEffect::Ask | RuleEffect::Deny => {
                let flags = policy::allow_flags(&verdict.suggested_rules());
                Err(ShellPieceError::NotAllowed { reason: verdict.reason(), flags })
            }
        }
    }

    async fn command_output(&self, command: &str) -> String {
        let mut capture = Capture::new(MAX_HELD_BYTES);
        let note = match tokio::time::timeout_at(self.deadline, self.run_command(command, &mut capture)).await {
            Ok(Ok(ProgramExit { status: ExitStatus::Code(0), .. })) => String::new(),
            Ok(Ok(ProgramExit { status, .. })) => format!("[`{}`: {status}]\n", Clip::new(command, 200)),
            Ok(Err(error)) => return not_run(command, &ShellPieceError::Tool(error)),
            Err(_late) => format!("[`{}` did not end in time]\n", Clip::new(command, 200)),
        };
        format!("\n{note}{}\n", prompt::quote(capture.text(MAX_SHOWN_BYTES).as_str()))
    }

    /// Runs the command to its end. Dropping the future kills the command and everything it started.
    async fn run_command(&self, command: &str, capture: &mut Capture) -> Result<ProgramExit, ToolError> {
        let context = self.context;
        let memory = context.facts.tools.command_memory_bytes;
        let command = ShellCommand {
            command,
            cwd: self.task_workspace.cwd(),
            env: &self.task_workspace.env,
            memory_bytes: memory,
        };
        let mut process = tools::launch(&context.workplace.guardian, command).await?;
        let mut stream = context.workplace.redactor.stream();
        let exit = tools::follow(&mut process, |bytes| capture.push(&stream.push(bytes))).await;
        capture.push(&stream.finish());
        exit.map_err(ToolError::failed)
    }

    /// The content of a file, or the reason why it is not included.
    async fn expand_file(&self, template: &str, arguments: &TemplateArguments<'_>) -> String {
        let path = fill_unchanged(arguments, template);
        if path.is_empty() {
            return not_included(template, &FilePieceError::Unnamed);
        }
        match self.file_content(&path).await {
            Ok(content) => format!("\n{path}:\n{}\n", prompt::quote(Clip::new(&content, MAX_SHOWN_BYTES).as_str())),
            Err(why) => not_included(&path, &why),
        }
    }

    /// A file's text, if `view` may show it without asking the user.
    async fn file_content(&self, path: &str) -> Result<String, FilePieceError> {
        let view = self.agent.tool(tool_name::VIEW).ok_or(FilePieceError::NoView)?;
        let input = json!({ "path": path }).to_string();
        let call = ToolCallRequest { id: CallId("slash".into()), tool: tool_name::VIEW.into(), input };
        let judged = permission_check::judge_call(&self.context.workplace, &self.agent, &view, &call).await?;
        if judged.verdict.effect != RuleEffect::Allow {
            return Err(FilePieceError::NotAllowed(judged.verdict.reason()));
        }
        let (context, task_workspace, path) =
            (Arc::clone(self.context), Arc::clone(&self.task_workspace), path.to_owned());
        let read = move || {
            let place = task_workspace.workspace.resolve(&path)?;
            judged.file_guard.check(place.path(), FileAccess::Read)?;
            if !place.exists() {
                return Err(FilePieceError::Missing);
            }
            let file = place.read(context.facts.tools.file_bytes)?;
            String::from_utf8(file.bytes).map_err(|_binary| FilePieceError::NotText)
        };
        tokio::task::spawn_blocking(read).await?.map(|mut text| {
            self.context.workplace.redactor.redact_text(&mut text);
            text
        })
    }
}

/// Accepts a word only if a shell cannot interpret any part of it.
fn shell_safe_word(word: &str) -> Result<String, ShellPieceError> {
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+,=~^".contains(c);
    // A tilde means the home folder only at the beginning of a word.
    if word.split(' ').all(|part| part.chars().all(plain) && !part.starts_with('~')) {
        Ok(word.to_owned())
    } else {
        Err(ShellPieceError::UnsafeArgument)
    }
}

/// The text with its placeholders filled with the arguments as they are.
fn fill_unchanged(arguments: &TemplateArguments<'_>, text: &str) -> String {
    let Ok(filled) = arguments.fill(text, |word| Ok::<_, Infallible>(word.to_owned()));
    filled
}

fn not_run(command: &str, why: &ShellPieceError) -> String {
    format!("[not run: {}: {}]", Clip::new(command, 200), why.in_one_line())
}

fn not_included(path: &str, why: &FilePieceError) -> String {
    format!("@{} [not included: {}]", Clip::new(path, 200), Clip::new(&why.to_string(), 300))
}

/// Reads the text of a slash command's file.
pub fn read(slash: &SlashSpec) -> Result<String, TextFileError> {
    read_body(&slash.file, &slash.source)
}

/// Reads the text of a command's file below its frontmatter. In a project or a plugin no link is followed: an agent could
/// have created it to read a forbidden file.
pub(super) fn read_body(file: &str, source: &DefinitionSource) -> Result<String, TextFileError> {
    let text = skill::read_file(Path::new(file), source)?;
    Ok(FrontMatter::parse(&text).body().unwrap_or(&text).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::shell_safe_word;

    #[test]
    fn arguments_that_a_shell_would_interpret_are_refused() {
        for word in
            ["HEAD~1; rm -rf /", "$(id)", "`id`", "a|b", "a>b", "'", "\"", "a\nb", "*", "a&b", "~/x", "a ~", "\\"]
        {
            assert!(shell_safe_word(word).is_err(), "{word}");
        }
        for word in ["", "main..dev", "src/lib.rs", "v1.2", "a b", "--stat", "origin/main", "HEAD~3", "42"] {
            assert_eq!(shell_safe_word(word).unwrap(), word);
        }
    }
}
