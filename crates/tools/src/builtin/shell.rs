//! Runs a shell command.

use std::time::Duration;

use host::{Capture, ExitStatus, KillMode, Process, ProgramExit};
use protocol::{Evidence, clip_middle, tool_name};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::args::TypedTool;
use crate::launch::{ShellCommand, check_command, follow, launch};
use crate::{BackgroundCommand, RequiredPermission, ToolAccess, ToolContext, ToolError, ToolOutput, ToolPlace};

/// The `shell` tool.
pub(crate) struct ShellTool;

/// The arguments of `shell`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellArgs {
    /// The command line, read by bash.
    command: String,
    /// Kill it after this long; 120 by default, at most 600.
    timeout_secs: Option<u64>,
    /// Start it, return its name at once.
    #[serde(default)]
    background: bool,
    /// One line on what it is for.
    description: Option<String>,
}

impl TypedTool for ShellTool {
    type Args = ShellArgs;
    const NAME: &'static str = tool_name::SHELL;
    const ABOUT: &'static str = include_str!("shell.md");
    const ACCESS: ToolAccess = ToolAccess::Execute;

    fn place(args: &ShellArgs) -> ToolPlace {
        if args.background { ToolPlace::Session } else { ToolPlace::Workplace }
    }

    fn required_permissions(args: &ShellArgs) -> Result<Vec<RequiredPermission>, ToolError> {
        Ok(vec![RequiredPermission::Shell(args.command.clone())])
    }

    async fn run(args: ShellArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if args.background { start_in_background(args, cx).await } else { run(&args, cx).await }
    }
}

/// Maximum bytes of a description.
const MAX_DESCRIPTION_BYTES: usize = 200;

async fn start_in_background(args: ShellArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    check_command(&args.command)?;
    let description = args.description.as_deref().unwrap_or(&args.command);
    let line = description.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let description = clip_middle(line, MAX_DESCRIPTION_BYTES);
    let name = cx.session()?.background.start(BackgroundCommand { command: args.command, description }).await?;
    Ok(ToolOutput::text(&format!("started in the background as `{name}`; read_shell shows its output"), cx))
}

/// Maximum bytes of output held in memory.
const MAX_HELD_BYTES: usize = 768 * 1024;
/// How long to wait for a killed command to end.
const KILL_GRACE: Duration = Duration::from_secs(5);
/// Room for the notes after the output.
const NOTE_BYTES: usize = 512;

async fn run(args: &ShellArgs, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let limit = args.timeout_secs.map_or(cx.limits.shell_timeout, |secs| Duration::from_secs(secs.max(1)));
    let limit = limit.min(cx.limits.max_shell_timeout);
    let memory = cx.limits.command_memory_bytes;
    let command = ShellCommand { command: &args.command, cwd: cx.workspace.cwd(), env: &cx.env, memory_bytes: memory };
    let mut process = launch(&cx.guardian, command).await?;
    let mut capture = Capture::new(MAX_HELD_BYTES);
    let mut on_output = |bytes: &[u8]| {
        cx.heartbeat.beat();
        capture.push(bytes);
    };
    let end = tokio::select! {
        exit = follow(&mut process, &mut on_output) => ShellCommandEnd::Exited(exit.map_err(ToolError::failed)?),
        () = tokio::time::sleep(limit) => ShellCommandEnd::TimedOut(limit),
        () = cx.cancel.cancelled() => ShellCommandEnd::Cancelled,
    };
    let kill_outcome = match end {
        ShellCommandEnd::Exited(_) => KillOutcome::Confirmed,
        ShellCommandEnd::TimedOut(_) => kill(&mut process, &mut capture, KillMode::Gentle).await,
        ShellCommandEnd::Cancelled => kill(&mut process, &mut capture, KillMode::Now).await,
    };
    let text = capture.text(cx.limits.output_bytes.saturating_sub(NOTE_BYTES));
    let cwd = cx.workspace.cwd();
    if !cwd.is_dir() {
        // Its output about files in that directory may be wrong.
        let report = end.describe(text.as_str(), kill_outcome, cx);
        return Err(ToolError::refused(format!(
            "the working directory {} was removed while the command ran: {report}",
            cwd.display()
        )));
    }
    let evidence = Evidence::Ran { command: clip_middle(&args.command, MAX_DESCRIPTION_BYTES), exit: end.code() };
    Ok(ToolOutput { evidence: vec![evidence], ..ToolOutput::text(&end.describe(text.as_str(), kill_outcome, cx), cx) })
}

/// Whether a killed command and all its processes are known to be gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KillOutcome {
    Confirmed,
    Unknown,
}

/// Kills a command and captures its remaining output. Processes left after this are killed when `process` is dropped.
async fn kill(process: &mut Process, capture: &mut Capture, mode: KillMode) -> KillOutcome {
    process.kill(mode);
    match tokio::time::timeout(KILL_GRACE, follow(process, |bytes| capture.push(bytes))).await {
        Ok(Ok(_exit)) => KillOutcome::Confirmed,
        Ok(Err(_)) | Err(_) => KillOutcome::Unknown,
    }
}

enum ShellCommandEnd {
    Exited(ProgramExit),
    TimedOut(Duration),
    Cancelled,
}

impl ShellCommandEnd {
    fn code(&self) -> Option<i32> {
        match self {
            ShellCommandEnd::Exited(ProgramExit { status: ExitStatus::Code(code), .. }) => Some(*code),
            ShellCommandEnd::Exited(_) | ShellCommandEnd::TimedOut(_) | ShellCommandEnd::Cancelled => None,
        }
    }

    fn describe(&self, output: &str, kill_outcome: KillOutcome, cx: &ToolContext) -> String {
        let mut notes = Vec::new();
        let killed = match kill_outcome {
            KillOutcome::Confirmed => "killed with everything it started",
            KillOutcome::Unknown => "told to stop; it may still be running",
        };
        match self {
            ShellCommandEnd::Exited(exit) => {
                if !exit.status.is_success() {
                    notes.push(format!("[{}]", exit.status));
                }
                if exit.leftovers > 0 {
                    let count = exit.leftovers;
                    notes.push(format!(
                        "[left behind and killed: {count} processes; to keep processes running use `background`]"
                    ));
                }
                if notes.is_empty() && output.is_empty() {
                    notes.push("[no output]".into());
                }
            }
            ShellCommandEnd::TimedOut(limit) => notes.push(format!(
                "[timed out after {} s and was {killed}; raise `timeout_secs` (at most {}) or \
                 use `background`]",
                limit.as_secs(),
                cx.limits.max_shell_timeout.as_secs()
            )),
            ShellCommandEnd::Cancelled => notes.push(format!("[cancelled, and {killed}]")),
        }
        let gap = if output.is_empty() || output.ends_with('\n') || notes.is_empty() { "" } else { "\n" };
        format!("{output}{gap}{}", notes.join("\n"))
    }
}
