//! Bosun as a library: sessions, agents, tools and events, without the command line.
//!
//! Sessions are the same as those of the `bosun` command: they are stored in the same home, can be resumed by either,
//! and have one owner at a time. The settings of the user and of the machine's administrator apply; those of a project
//! do not.
//!
//! ```
//! # use bosun_sdk::{Agent, Bosun, BusMessage, Event};
//! # const SCRIPT: &str = "
//! # version: 1
//! # rules:
//! #   - when: { agent: explore }
//! #     answer: [say: there are twelve]
//! #   - answer: [say: 'thank you: ${prompt}']
//! # ";
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (home, folder) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # std::fs::write(folder.path().join("model.yaml"), SCRIPT)?;
//! # let model = format!("script/{}", folder.path().join("model.yaml").display());
//! let bosun = Bosun::open(home.path())?;
//! let session = bosun.session().model(model).cwd(folder.path()).open().await?;
//! let mut events = session.events();
//! let counter = session.spawn(Agent::new("explore", "how many tests are there?")).await?;
//! let counted = session.wait(counter).await?;
//! assert_eq!(counted.result.as_deref(), Some("there are twelve"));
//! let answer = session.prompt("go on").await?;
//! // The prompt may contain the agent's result as well.
//! assert!(answer.text.ends_with("go on"));
//! while let Some(BusMessage::Event(event)) = events.next().await? {
//!     println!("{}: {:?}", event.seq, event.entry.event);
//!     # if event.seq == answer.seq { break; }
//! }
//! session.leave().await?;
//! # Ok(())
//! # }
//! ```
//!
//! Commands that agents run must not outlive the program, so a second process, the guardian, starts them. Either set a
//! `bosun` executable with [`SessionBuilder::guardian`], or let the program be its own guardian: see [`guard`].

#![deny(missing_docs)]

mod bosun;
mod builder;
mod error;
mod guard;
mod session;
mod settings;
mod tool;

pub use bosun::Bosun;
pub use builder::SessionBuilder;
pub use error::Error;
pub use guard::guard;
pub use protocol::api::{AskView, SessionView, StartAgentParams as Agent, TaskView};
pub use protocol::{
    AgentSpec, Ask, AskDecision, AskId, AskSubject, Budget, Envelope, Event, LogEntry, PermissionMode, SessionId,
    TaskId, TaskOutcome, TaskState,
};
pub use runtime::{BusMessage, Subscription as Events};
pub use session::{AgentSession, PromptAnswer};
pub use tool::FunctionTool;
