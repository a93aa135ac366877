//! Runs the demo: a run like any other, in the sample's folder, with a home of its own.

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;
use config::Env;
use host::{ExitStatus, Guardian, Program};
use protocol::Delivery;
use runtime::{Session, Settings, Start};

use super::folder::Folder;
use super::pace::Pace;
use super::story::Story;
use crate::args::Args;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::run::{Leeway, Patience, Report, drive};
use crate::setup::Setup;

/// What the session is asked.
const PROMPT: &str = "The tests of this project fail. Find out why and repair it.";

/// How the run's model is named from the project's folder.
pub(super) const MODEL: &str = "script/../fix.yaml";

/// No part of the demo takes longer unless something is wrong.
const PATIENCE: Patience = Patience {
    background: Leeway { commands: Duration::from_secs(30), agents: Duration::from_secs(30) },
    park: Duration::ZERO,
    time: None,
};

/// Everything is in place for the run.
#[derive(Debug)]
pub(super) struct Stage {
    settings: Settings,
}

impl Stage {
    /// Wires the run as the command line would.
    pub(super) fn set(folder: &Folder, pace: Pace) -> Result<Stage, Failure> {
        let typed: [OsString; 8] = [
            "bosun".into(),
            "-C".into(),
            folder.project().into(),
            "--model".into(),
            MODEL.into(),
            "--allow-all".into(),
            // Rules of the user's own could keep the sample from being repaired.
            "--setting-sources".into(),
            "local".into(),
        ];
        let args = Args::try_parse_from(typed).map_err(Failure::failed)?;
        let mut settings = Setup::at(Env::read(), folder.home())?.settings(&args.run, None)?;
        settings.model = pace.apply(settings.model);
        Ok(Stage { settings })
    }

    /// Runs the agent and tells what it does.
    pub(super) async fn play(&self) -> Result<(Story, Report), Failure> {
        let mut session = Session::open(self.settings.clone(), Start::New).await?;
        let mut story = Story::new(session.id(), session.root());
        session.send(PROMPT, Delivery::FollowUp).await?;
        session.note();
        let report = drive(session, PATIENCE, |live| story.tell(live)).await?;
        Ok((story, report))
    }

    /// Runs the sample's tests without the agent.
    pub(super) async fn prove(&self) -> Result<Proof, Failure> {
        let mut program = Program::new("/bin/sh", &self.settings.cwd).args(["tests/run.sh"]);
        program.env.clone_from(&self.settings.env);
        let guardian = Guardian::new(self.settings.guardian.clone());
        let mut process = guardian.spawn(program).await.map_err(Failure::failed)?;
        let mut output = Vec::new();
        let ended = tools::follow(&mut process, |bytes| output.extend_from_slice(bytes)).await;
        let status = ended.map_err(Failure::failed)?.status;
        let verdict = String::from_utf8_lossy(&output).lines().last().unwrap_or_default().to_owned();
        Ok(Proof { status, verdict })
    }
}

/// How the sample's tests ended.
#[derive(Debug)]
pub(super) struct Proof {
    status: ExitStatus,
    /// The last line they printed.
    pub(super) verdict: String,
}

impl Proof {
    /// The demo succeeds only if they pass.
    pub(super) fn exit(&self) -> Exit {
        if self.status.is_success() { Exit::Success } else { Exit::Failed }
    }
}
