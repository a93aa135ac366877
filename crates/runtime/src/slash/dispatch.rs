//! Runs slash commands for whoever gives them: a prompt on the command line, a terminal, or a client of the API.

use std::sync::Arc;

use kernel::Input;
use protocol::api::StartAgentParams;
use protocol::{Origin, SessionMode, SlashSpec, Source, TaskId};
use store::StoreError;

use super::built_in::BuiltIn;
use super::expand::{self, Expander};
use super::registry::{Deed, Found};
use super::{Looked, Outcome, Prompt, Registry, ask, fleet_prompt, share, tell};
use crate::agent::{Asked, Desk, compact_now};
use crate::supervisor::Supervisor;

/// The session that commands are for.
#[derive(Debug)]
pub(crate) struct Dispatcher<'a> {
    pub(crate) desk: &'a Arc<Desk>,
    pub(crate) supervisor: &'a Supervisor,
    pub(crate) root: TaskId,
}

impl Dispatcher<'_> {
    /// Does what a text asks for, if it is a command.
    pub(crate) async fn dispatch(&self, text: &str) -> Outcome {
        let registry = Registry::of(&self.desk.settings.catalog);
        self.perform(&registry, registry.look(text)).await
    }

    /// Runs the command of a name.
    pub(crate) async fn invoke(&self, name: &str, input: &str) -> Outcome {
        let registry = Registry::of(&self.desk.settings.catalog);
        self.perform(&registry, registry.find(name, input.trim())).await
    }

    async fn perform(&self, registry: &Registry, looked: Looked<'_>) -> Outcome {
        let found = match looked {
            Looked::NotACommand => return Outcome::NotACommand,
            Looked::Not(outcome) => return outcome,
            Looked::Known(found) => found,
        };
        if let Some((screen, rest)) = found.screen() {
            return Outcome::Screen(screen, rest.to_owned());
        }
        let done = match found.deed {
            Deed::BuiltIn(built_in) => self.built_in(*built_in, &found, registry).await,
            Deed::File(spec) => self.file(spec, &found).await,
            Deed::Skill(skill) => self.prompt(&skill.file, &skill.source, &found).await.map(Outcome::Prompt),
            Deed::Screen(_) => Err("it is only of use at a terminal".into()),
        };
        done.unwrap_or_else(Outcome::Refused)
    }

    async fn built_in(&self, built_in: BuiltIn, found: &Found<'_>, registry: &Registry) -> Result<Outcome, String> {
        let (desk, rest) = (self.desk, found.rest.as_str());
        let told = |text: Result<String, StoreError>| text.map(Outcome::Told).map_err(|error| error.to_string());
        match built_in {
            BuiltIn::Fleet => Ok(Outcome::Prompt(fleet_prompt(Some(rest)))),
            BuiltIn::Review => Ok(Outcome::Prompt(ask::review(rest))),
            BuiltIn::SecurityReview => Ok(Outcome::Prompt(ask::security_review(rest))),
            BuiltIn::Research if rest.is_empty() => Err("/research: name the topic".into()),
            BuiltIn::Research => Ok(Outcome::Prompt(ask::research(rest))),
            BuiltIn::Plan => self.go_on_in(SessionMode::Plan, rest).await,
            BuiltIn::Autopilot => self.autopilot(rest).await,
            BuiltIn::Agent => self.agent(rest).await,
            BuiltIn::Share => share::write(desk, rest).map(Outcome::done),
            BuiltIn::Model if rest.is_empty() => Ok(Outcome::Told(format!("the model is {}", desk.own_spec()))),
            BuiltIn::Model => {
                let changed = desk.change_model(self.supervisor, self.root, rest).await;
                changed
                    .map(|model| Outcome::done(format!("the model is {model}, from the next turn on")))
                    .map_err(|why| why.to_string())
            }
            BuiltIn::Help
            | BuiltIn::Agents
            | BuiltIn::Tasks
            | BuiltIn::Todos
            | BuiltIn::Compact
            | BuiltIn::Context
            | BuiltIn::Cost
                if !rest.is_empty() =>
            {
                Err(format!("/{}: nothing follows it", found.name()))
            }
            BuiltIn::Help => Ok(Outcome::Told(registry.help())),
            BuiltIn::Agents => Ok(Outcome::Told(tell::agents(desk))),
            BuiltIn::Tasks => told(tell::tasks(desk)),
            BuiltIn::Todos => told(tell::todos(desk)),
            BuiltIn::Context => tell::context(desk, self.root).map(Outcome::Told),
            BuiltIn::Cost => told(tell::cost(desk)),
            BuiltIn::Compact => {
                let asked = compact_now(desk, self.supervisor, self.root).await?;
                Ok(match asked {
                    Asked::Done { messages: 1 } => Outcome::done("a digest stands for the first message"),
                    Asked::Done { messages } => {
                        Outcome::done(format!("a digest stands for the first {messages} messages"))
                    }
                    Asked::Later => Outcome::done("what is old in the conversation is left out before the next turn"),
                    Asked::Nothing => Outcome::done("the conversation is too short to leave anything out"),
                })
            }
        }
    }

    async fn autopilot(&self, rest: &str) -> Result<Outcome, String> {
        match rest {
            "" | "on" => self.go_on_in(SessionMode::Autopilot, "").await,
            "off" => self.go_on_in(SessionMode::Interactive, "").await,
            objective => self.go_on_in(SessionMode::Autopilot, objective).await,
        }
    }

    /// Brings the session into a mode; what follows is its first prompt there.
    async fn go_on_in(&self, mode: SessionMode, rest: &str) -> Result<Outcome, String> {
        let (word, change) = (mode.word(), Input::SetMode { mode, by: Origin::User });
        self.supervisor.submit(change).await.map_err(|why| format!("{word} mode: {why}"))?;
        Ok(match rest {
            "" => Outcome::Done { message: format!("the session is in {word} mode"), mode: Some(mode) },
            text => {
                let display = format!("/{word} {text}");
                Outcome::Prompt(Prompt { text: text.to_owned(), display, mode: Some(mode) })
            }
        })
    }

    async fn agent(&self, rest: &str) -> Result<Outcome, String> {
        match rest.split_once(char::is_whitespace) {
            Some((name, prompt)) => self.start(name, prompt.trim().to_owned()).await,
            None if rest.is_empty() => Ok(Outcome::Told(tell::agents(self.desk))),
            None => Err(format!("/agent: what should `{rest}` do? a prompt follows its name")),
        }
    }

    /// Starts an agent in the background. Its result reaches the root.
    pub(crate) async fn spawn(&self, wanted: StartAgentParams) -> Result<TaskId, String> {
        let spawn = self.desk.started_by_hand(wanted).map_err(|error| error.to_string())?;
        let id = spawn.id;
        self.supervisor.submit(Input::Spawn(spawn)).await.map_err(|rejected| rejected.to_string())?;
        Ok(id)
    }

    async fn start(&self, agent: &str, prompt: String) -> Result<Outcome, String> {
        let id = self.spawn(StartAgentParams::new(agent, prompt)).await?;
        let path = self.desk.roster.path(id);
        Ok(Outcome::done(format!("{path} works in the background; its result comes back here")))
    }

    /// A command of a file: a prompt for the root, or work for the agent that the file names.
    async fn file(&self, spec: &SlashSpec, found: &Found<'_>) -> Result<Outcome, String> {
        let prompt = self.prompt(&spec.file, &spec.source, found).await?;
        match &spec.agent {
            Some(agent) => self.start(agent, prompt.text).await,
            None => Ok(Outcome::Prompt(prompt)),
        }
    }

    /// What the text of a file makes with what follows the command.
    async fn prompt(&self, file: &str, source: &Source, found: &Found<'_>) -> Result<Prompt, String> {
        let name = found.name();
        let told = |why: String| format!("/{name}: {why}");
        let text = expand::read_body(file, source).map_err(|why| format!("/{name}: cannot read {file}: {why}"))?;
        let root = self.root;
        let run = self.supervisor.look(move |kernel| kernel.task(root).map(kernel::Task::run)).await;
        let run = run.map_err(|rejected| told(rejected.to_string()))?.ok_or_else(|| told("the root is gone".into()))?;
        let outfit = self.desk.outfit(root).map_err(told)?;
        let expander = Expander::new(self.desk, outfit, self.desk.site(run.task)?, run);
        let text = expander.expand(&text, &found.rest).await.map_err(told)?;
        let display = format!("/{name} {}", found.rest).trim_end().to_owned();
        Ok(Prompt { text, display, mode: None })
    }
}
