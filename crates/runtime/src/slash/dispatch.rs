//! Runs slash commands from the command line, a terminal or a client of the API.

use std::sync::Arc;

use kernel::KernelInput;
use protocol::api::StartAgentParams;
use protocol::{DefinitionSource, FleetConfig, Principal, SessionMode, SlashSpec, TaskId};
use store::StoreError;

use super::built_in::RuntimeCommand;
use super::compact::{CompactionOutcome, compact_now};
use super::expand::{self, TemplateExpander};
use super::registry::{SlashAction, SlashMatch};
use super::{SlashLookup, SlashOutcome, SlashPrompt, SlashRegistry, export, prompts, reports};
use crate::fleet::FleetRequest;
use crate::session_context::SessionContext;
use crate::supervisor::Supervisor;

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
        let registry = SlashRegistry::of(&self.context.catalog.definitions);
        self.perform(&registry, registry.parse(text)).await
    }

    /// Runs a command by its name.
    pub(crate) async fn invoke(&self, name: &str, input: &str) -> SlashOutcome {
        let registry = SlashRegistry::of(&self.context.catalog.definitions);
        self.perform(&registry, registry.find(name, input.trim())).await
    }

    async fn perform(&self, registry: &SlashRegistry, lookup: SlashLookup<'_>) -> SlashOutcome {
        let matched = match lookup {
            SlashLookup::NotACommand => return SlashOutcome::NotACommand,
            SlashLookup::Unavailable(outcome) => return outcome,
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
            SlashAction::Terminal(_) => Err("it works only in a terminal".into()),
        };
        result.unwrap_or_else(SlashOutcome::Refused)
    }

    async fn run_built_in(
        &self,
        built_in: RuntimeCommand,
        matched: &SlashMatch<'_>,
        registry: &SlashRegistry,
    ) -> Result<SlashOutcome, String> {
        let (context, rest) = (self.context, matched.arguments.as_str());
        let report = |text: Result<String, StoreError>| text.map(SlashOutcome::Text).map_err(|error| error.to_string());
        match built_in {
            RuntimeCommand::Fleet => self.start_fleet(rest).await,
            RuntimeCommand::Review => Ok(SlashOutcome::Prompt(prompts::review(rest))),
            RuntimeCommand::SecurityReview => Ok(SlashOutcome::Prompt(prompts::security_review(rest))),
            RuntimeCommand::Research if rest.is_empty() => Err("/research: name the topic".into()),
            RuntimeCommand::Research => Ok(SlashOutcome::Prompt(prompts::research(rest))),
            RuntimeCommand::Plan => self.switch_mode(SessionMode::Plan, rest).await,
            RuntimeCommand::Autopilot => self.autopilot(rest).await,
            RuntimeCommand::Agent => self.run_agent_command(rest).await,
            RuntimeCommand::Share => export::write_markdown(context, rest).map(SlashOutcome::done),
            RuntimeCommand::Model if rest.is_empty() => Ok(SlashOutcome::Text(format!(
                "the model is {}",
                protocol::model_display_name(&context.session_model_spec())
            ))),
            RuntimeCommand::Model => {
                let changed = context.change_model(self.supervisor, self.root, rest).await;
                changed
                    .map(|model| {
                        SlashOutcome::done(format!(
                            "the model is {}, from the next turn on",
                            protocol::model_display_name(&model)
                        ))
                    })
                    .map_err(|why| why.to_string())
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
                Err(format!("/{}: it takes no arguments", matched.name()))
            }
            RuntimeCommand::Help => Ok(SlashOutcome::Text(registry.help())),
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

    async fn autopilot(&self, rest: &str) -> Result<SlashOutcome, String> {
        match rest {
            "" | "on" => self.switch_mode(SessionMode::Autopilot, "").await,
            "off" => self.switch_mode(SessionMode::Interactive, "").await,
            objective => self.switch_mode(SessionMode::Autopilot, objective).await,
        }
    }

    /// Switches the session's mode; `rest` is the first prompt in that mode.
    async fn switch_mode(&self, mode: SessionMode, rest: &str) -> Result<SlashOutcome, String> {
        let (name, change) = (mode.as_str(), KernelInput::SetMode { mode, by: Principal::User });
        self.supervisor.submit(change).await.map_err(|why| format!("{name} mode: {why}"))?;
        Ok(match rest {
            "" => SlashOutcome::Done { message: format!("the session is in {name} mode"), mode: Some(mode) },
            text => {
                let display = format!("/{name} {text}");
                SlashOutcome::Prompt(SlashPrompt { text: text.to_owned(), display, mode: Some(mode) })
            }
        })
    }

    async fn run_agent_command(&self, rest: &str) -> Result<SlashOutcome, String> {
        match rest.split_once(char::is_whitespace) {
            Some((name, prompt)) => self.start_agent(name, prompt.trim().to_owned()).await,
            None if rest.is_empty() => Ok(SlashOutcome::Text(reports::agents(self.context))),
            None => Err(format!("/agent: what should `{rest}` do? write a prompt after its name")),
        }
    }

    /// Starts an agent in the background. Its result reaches the root.
    pub(crate) async fn spawn(&self, wanted: StartAgentParams) -> Result<TaskId, String> {
        let spawn = self.context.user_spawn(wanted).map_err(|error| error.to_string())?;
        let id = spawn.id;
        self.supervisor.submit(KernelInput::Spawn(spawn)).await.map_err(|rejected| rejected.to_string())?;
        Ok(id)
    }

    async fn start_agent(&self, agent: &str, prompt: String) -> Result<SlashOutcome, String> {
        let id = self.spawn(StartAgentParams::new(agent, prompt)).await?;
        let path = self.context.log.roster.path(id);
        Ok(SlashOutcome::done(format!("{path} works in the background; its result comes back here")))
    }

    async fn start_fleet(&self, prompt: &str) -> Result<SlashOutcome, String> {
        let config = FleetConfig::for_goal(prompt);
        let announcement = config.announcement();
        let started = self.context.fleet.start(FleetRequest::new(config)).await;
        started.map_err(|error| format!("/fleet: {error}"))?;
        Ok(SlashOutcome::FleetStarted(announcement))
    }

    /// Runs a command from a file: as a prompt for the root, or for the agent that the file names.
    async fn run_file(&self, spec: &SlashSpec, matched: &SlashMatch<'_>) -> Result<SlashOutcome, String> {
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
    ) -> Result<SlashPrompt, String> {
        let name = matched.name();
        let problem = |why: String| format!("/{name}: {why}");
        let text = expand::read_body(file, source).map_err(|why| format!("/{name}: cannot read {file}: {why}"))?;
        let root = self.root;
        let run = self.supervisor.query(move |kernel| kernel.task(root).map(kernel::KernelTask::run_id)).await;
        let run =
            run.map_err(|rejected| problem(rejected.to_string()))?.ok_or_else(|| problem("the root is gone".into()))?;
        let prepared = self.context.prepared_agent(root).map_err(problem)?;
        let expander = TemplateExpander::new(self.context, prepared, self.context.task_workspace(run.task)?, run);
        let text = expander.expand(&text, &matched.arguments).await.map_err(problem)?;
        let display = format!("/{name} {}", matched.arguments).trim_end().to_owned();
        Ok(SlashPrompt { text, display, mode: None })
    }
}
