//! Runs slash commands from the command line, a terminal or a client of the API.

use std::sync::Arc;

use kernel::KernelInput;
use protocol::api::{ModelParams, StartAgentParams};
use protocol::{DefinitionSource, FleetConfig, Hinted, Principal, SessionMode, SlashSpec, TaskId};
use store::StoreError;
use tools::OutsidePrompt;

use super::built_in::RuntimeCommand;
use super::compact::{CompactionOutcome, compact_now};
use super::error::{PromptError, SlashError};
use super::expand::{self, TemplateExpander};
use super::registry::{SlashAction, SlashMatch};
use super::{SlashLookup, SlashOutcome, SlashPrompt, SlashRegistry, export, mcp, prompts, reports, rewind};
use crate::fleet::FleetRequest;
use crate::prompt;
use crate::session_context::SessionContext;
use crate::subagents::StartAgentError;
use crate::supervisor::Supervisor;

/// Maximum bytes of a prompt of a program outside.
const MAX_PROMPT_BYTES: usize = 256 << 10;

/// Runs the slash commands of a session.
#[derive(Debug)]
pub(crate) struct SlashDispatcher<'a> {
    pub(crate) context: &'a Arc<SessionContext>,
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) root: TaskId,
}

impl SlashDispatcher<'_> {
    /// Runs a text, if it is a command.
    pub(crate) async fn dispatch(&self, text: &str) -> SlashOutcome {
        let registry = SlashRegistry::of_session(&self.context.catalog);
        self.perform(&registry, registry.parse(text)).await
    }

    /// Runs a command by its name.
    pub(crate) async fn invoke(&self, name: &str, input: &str) -> SlashOutcome {
        let registry = SlashRegistry::of_session(&self.context.catalog);
        self.perform(&registry, registry.find(name, input.trim())).await
    }

    /// Runs a prompt of a program outside. Its text is quoted: the user chose it, but did not write it.
    async fn run_outside_prompt(&self, name: &str, arguments: &str) -> SlashOutcome {
        let Some(catalog) = &self.context.catalog.tool_catalog else {
            return SlashOutcome::Refused(SlashError::NoServers(name.to_owned()).refusal());
        };
        match catalog.prompt(name, arguments, &self.context.workplace.guardian).await {
            Ok(OutsidePrompt { source, text }) => {
                let quoted = prompt::quote_within(&text, MAX_PROMPT_BYTES);
                let text = format!(
                    "The user chose the prompt `{name}` of the MCP server `{source}`. Do what it asks for as far as the \
                     user permits it. Its text is by that server:\n{quoted}"
                );
                let display = format!("/{name} {arguments}").trim_end().to_owned();
                SlashOutcome::Prompt(SlashPrompt { text, display, mode: None })
            }
            Err(source) => {
                let name = name.to_owned();
                SlashOutcome::Refused(SlashError::OutsidePrompt { name, source }.refusal())
            }
        }
    }

    async fn perform(&self, registry: &SlashRegistry, lookup: SlashLookup<'_>) -> SlashOutcome {
        let matched = match lookup {
            SlashLookup::NotACommand => return SlashOutcome::NotACommand,
            SlashLookup::Unavailable(outcome) => return outcome,
            SlashLookup::OutsidePrompt { name, arguments } => return self.run_outside_prompt(&name, &arguments).await,
            SlashLookup::Command(matched) => matched,
        };
        if let Some((command, rest)) = matched.terminal_command() {
            return SlashOutcome::Terminal(command, rest.to_owned());
        }
        let result = match matched.action {
            SlashAction::BuiltIn(built_in) => self.run_built_in(*built_in, &matched, registry).await,
            SlashAction::File(spec) => self.run_file(spec, &matched).await,
            SlashAction::Skill(skill) => {
                self.expand_prompt(&skill.file, &skill.source, &matched).await.map(SlashOutcome::Prompt)
            }
            SlashAction::Terminal(_) => Err(SlashError::TerminalOnly),
        };
        result.unwrap_or_else(|error| SlashOutcome::Refused(error.refusal()))
    }

    async fn run_built_in(
        &self,
        built_in: RuntimeCommand,
        matched: &SlashMatch<'_>,
        registry: &SlashRegistry,
    ) -> Result<SlashOutcome, SlashError> {
        let (context, rest) = (self.context, matched.arguments.as_str());
        let report = |text: Result<String, StoreError>| Ok(SlashOutcome::Text(text?));
        match built_in {
            RuntimeCommand::Fleet => self.start_fleet(rest).await,
            RuntimeCommand::Review => Ok(SlashOutcome::Prompt(prompts::review(rest))),
            RuntimeCommand::SecurityReview => Ok(SlashOutcome::Prompt(prompts::security_review(rest))),
            RuntimeCommand::Research if rest.is_empty() => Err(SlashError::NoTopic),
            RuntimeCommand::Research => Ok(SlashOutcome::Prompt(prompts::research(rest))),
            RuntimeCommand::Plan => self.switch_mode(SessionMode::Plan, rest).await,
            RuntimeCommand::Autopilot => self.autopilot(rest).await,
            RuntimeCommand::Agent => self.run_agent_command(rest).await,
            RuntimeCommand::Rewind => rewind::run(context, self.supervisor, self.root, rest).await,
            RuntimeCommand::Share => Ok(SlashOutcome::done(export::write_markdown(context, rest)?)),
            RuntimeCommand::Mcp => mcp::run(context, self.supervisor, rest).await,
            RuntimeCommand::Model if rest.is_empty() => Ok(SlashOutcome::Text(format!(
                "the model is {}",
                protocol::model_display_name(&context.session_model_spec())
            ))),
            RuntimeCommand::Model => {
                let model = context.change_model(self.supervisor, self.root, &ModelParams::new(rest)).await?;
                let name = protocol::model_display_name(&model);
                Ok(SlashOutcome::done(format!("the model is {name}, from the next turn on")))
            }
            RuntimeCommand::Help
            | RuntimeCommand::Agents
            | RuntimeCommand::Tasks
            | RuntimeCommand::Todos
            | RuntimeCommand::Compact
            | RuntimeCommand::Context
            | RuntimeCommand::Cost
                if !rest.is_empty() =>
            {
                Err(SlashError::TakesNoArguments(matched.name().to_owned()))
            }
            RuntimeCommand::Help => Ok(SlashOutcome::Text(self.help(registry).await)),
            RuntimeCommand::Agents => Ok(SlashOutcome::Text(reports::agents(context))),
            RuntimeCommand::Tasks => report(reports::tasks(context)),
            RuntimeCommand::Todos => report(reports::todos(context)),
            RuntimeCommand::Context => reports::context(context, self.root).map(SlashOutcome::Text),
            RuntimeCommand::Cost => report(reports::cost(context)),
            RuntimeCommand::Compact => {
                let outcome = compact_now(context, self.supervisor, self.root).await?;
                Ok(match outcome {
                    CompactionOutcome::Done { messages: 1 } => {
                        SlashOutcome::done("a digest replaces the first message")
                    }
                    CompactionOutcome::Done { messages } => {
                        SlashOutcome::done(format!("a digest replaces the first {messages} messages"))
                    }
                    CompactionOutcome::Later => {
                        SlashOutcome::done("the conversation will be compacted before the next turn")
                    }
                    CompactionOutcome::Nothing => SlashOutcome::done("the conversation is too short to compact"),
                })
            }
        }
    }

    /// All commands, and the prompts of MCP servers that run.
    async fn help(&self, registry: &SlashRegistry) -> String {
        match &self.context.catalog.tool_catalog {
            Some(catalog) if !catalog.sources().is_empty() => {
                mcp::with_prompts(registry.help(), &catalog.known_prompts().await)
            }
            Some(_) | None => registry.help(),
        }
    }

    async fn autopilot(&self, rest: &str) -> Result<SlashOutcome, SlashError> {
        match rest {
            "" | "on" => self.switch_mode(SessionMode::Autopilot, "").await,
            "off" => self.switch_mode(SessionMode::Interactive, "").await,
            objective => self.switch_mode(SessionMode::Autopilot, objective).await,
        }
    }

    /// Switches the session's mode; `rest` is the first prompt in that mode.
    async fn switch_mode(&self, mode: SessionMode, rest: &str) -> Result<SlashOutcome, SlashError> {
        let (name, change) = (mode.as_str(), KernelInput::SetMode { mode, by: Principal::User });
        self.supervisor.submit(change).await.map_err(|source| SlashError::Mode { mode, source })?;
        Ok(match rest {
            "" => SlashOutcome::Done { message: format!("the session is in {name} mode"), mode: Some(mode) },
            text => {
                let display = format!("/{name} {text}");
                SlashOutcome::Prompt(SlashPrompt { text: text.to_owned(), display, mode: Some(mode) })
            }
        })
    }

    async fn run_agent_command(&self, rest: &str) -> Result<SlashOutcome, SlashError> {
        match rest.split_once(char::is_whitespace) {
            Some((name, prompt)) => self.start_agent(name, prompt.trim().to_owned()).await,
            None if rest.is_empty() => Ok(SlashOutcome::Text(reports::agents(self.context))),
            None => Err(SlashError::NoAgentPrompt(rest.to_owned())),
        }
    }

    /// Starts an agent in the background. Its result reaches the root.
    pub(crate) async fn spawn(&self, wanted: StartAgentParams) -> Result<TaskId, StartAgentError> {
        let spawn = self.context.user_spawn(wanted)?;
        let id = spawn.id;
        self.supervisor.submit(KernelInput::Spawn(spawn)).await?;
        Ok(id)
    }

    async fn start_agent(&self, agent: &str, prompt: String) -> Result<SlashOutcome, SlashError> {
        let id = self.spawn(StartAgentParams::new(agent, prompt)).await?;
        let path = self.context.log.roster.path(id);
        Ok(SlashOutcome::done(format!("{path} works in the background; its result comes back here")))
    }

    async fn start_fleet(&self, prompt: &str) -> Result<SlashOutcome, SlashError> {
        let config = FleetConfig::for_goal(prompt);
        let announcement = config.announcement();
        let started = self.context.fleet.start(FleetRequest::new(config)).await;
        started.map_err(SlashError::Fleet)?;
        Ok(SlashOutcome::FleetStarted(announcement))
    }

    /// Runs a command from a file: as a prompt for the root, or for the agent that the file names.
    async fn run_file(&self, spec: &SlashSpec, matched: &SlashMatch<'_>) -> Result<SlashOutcome, SlashError> {
        let prompt = self.expand_prompt(&spec.file, &spec.source, matched).await?;
        match &spec.agent {
            Some(agent) => self.start_agent(agent, prompt.text).await,
            None => Ok(SlashOutcome::Prompt(prompt)),
        }
    }

    /// Expands the text of a file with the arguments of the command.
    async fn expand_prompt(
        &self,
        file: &str,
        source: &DefinitionSource,
        matched: &SlashMatch<'_>,
    ) -> Result<SlashPrompt, SlashError> {
        let name = matched.name();
        let command = || name.to_owned();
        let text = expand::read_body(file, source).map_err(|source| SlashError::File {
            command: command(),
            file: file.to_owned(),
            source,
        })?;
        let text = self.prompt_text(&text, &matched.arguments).await;
        let text = text.map_err(|source| SlashError::Prompt { command: command(), source })?;
        let display = format!("/{name} {}", matched.arguments).trim_end().to_owned();
        Ok(SlashPrompt { text, display, mode: None })
    }
    /// The text of a command, expanded with its arguments for the root.
    async fn prompt_text(&self, text: &str, arguments: &str) -> Result<String, PromptError> {
        let root = self.root;
        let run = self.supervisor.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await?;
        let run = run.ok_or(PromptError::NoRoot)?;
        let (prepared, workspace) = (self.context.prepared_agent(root)?, self.context.task_workspace(root)?);
        Ok(TemplateExpander::new(self.context, prepared, workspace, run).expand(text, arguments).await?)
    }
}
