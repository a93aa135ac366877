//! The environment, the home and the settings that every command needs.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use config::{
    AssembledSettings, Config, Env, Project, RemoteCatalog, RemoteDefinitions, SessionRequest, SettingsLayers,
    SettingsLocations, SettingsSources, StartNotice, StartNoticeKind, TrustStatus,
};
use host::{Clock, Home, SystemClock};
use protocol::api::SessionView;
use protocol::{SessionOptions, SettingsFileScope};
use runtime::SessionSettings;
use tui::print;
use tui::style::Style;
use tui::terminal_settings::TerminalSettings;

use crate::args::RunArgs;
use crate::error::CliError;
use crate::{fault_injection, log, one_time_notices};

/// The environment, home and settings that every command needs.
pub(crate) struct Setup {
    pub(crate) env: Env,
    pub(crate) home: Home,
    /// The user's settings; a folder may have others.
    pub(crate) config: Config,
    /// The fetched definitions of the remote catalogue.
    remote: RemoteDefinitions,
}

impl Setup {
    /// Reads the environment and the user's file, and opens Bosun's home.
    pub(crate) fn read() -> Result<Setup, CliError> {
        let env = Env::read();
        let root = env.home.clone().ok_or_else(|| {
            CliError::usage("neither BOSUN_HOME nor HOME is set").with_hint("set BOSUN_HOME to a folder of your own")
        })?;
        Setup::with_home_at(env, root)
    }

    /// Reads the setup for a command that may only read: the home need not be writable.
    pub(crate) fn read_only() -> Result<Setup, CliError> {
        let env = Env::read();
        let Some(root) = env.home.clone() else { return Setup::read() };
        Setup::with_home(env, Home::open_to_read(root)?)
    }

    /// Reads the setup with another home.
    pub(crate) fn with_home_at(env: Env, root: PathBuf) -> Result<Setup, CliError> {
        Setup::with_home(env, Home::open(root)?)
    }

    fn with_home(env: Env, home: Home) -> Result<Setup, CliError> {
        print::set_style(Style::of(&std::io::stdout(), terminal_settings(&env)));
        log::start(&home, env.log.as_deref())?;
        let layers = SettingsLayers::read(&SettingsLocations {
            home: home.root(),
            user_home: env.user_home.as_deref(),
            managed: env.managed.as_deref(),
            project: Project { dir: home.root().to_owned(), foreign_repository: None },
            trust: TrustStatus::Untrusted,
            scopes: &[SettingsFileScope::User],
        });
        let config = layers.map_err(settings_failure)?.config();
        log::redact_secrets(&config.secrets(&env));
        Ok(Setup { env, home, config, remote: RemoteDefinitions::default() })
    }

    /// What the environment says about the terminal.
    pub(crate) fn terminal_settings(&self) -> TerminalSettings {
        terminal_settings(&self.env)
    }

    /// Where the settings of sessions come from, besides their options.
    pub(crate) fn sources(&self) -> SettingsSources<'_> {
        SettingsSources { home: &self.home, env: &self.env, remote: &self.remote }
    }

    /// Fetches the remote catalogue, if there is one, for a folder.
    pub(crate) async fn fetch_remote_catalog(&mut self, folder: Option<&Path>) {
        let project = Project::find(&working_folder(folder).unwrap_or_default());
        let home = self.home.root();
        if let Some(catalog) = RemoteCatalog::of_project(&self.env, &self.config.agents, home, &project.dir) {
            self.remote = catalog.fetch(SystemClock.now()).await;
        }
    }

    /// The settings of a run. A resumed session provides what the flags do not set. Prints what the user should know.
    pub(crate) fn settings(&self, args: &RunArgs, resumed: Option<&SessionView>) -> Result<SessionSettings, CliError> {
        self.assemble(SessionRequest::new(&args.session_options(), resumed), hidden_notices(args))
    }

    /// The settings of a session. Prints what the user should know, except notices of the hidden kinds.
    pub(crate) fn assemble(
        &self,
        request: SessionRequest<'_>,
        hidden: &[StartNoticeKind],
    ) -> Result<SessionSettings, CliError> {
        let AssembledSettings { mut settings, notices } = self.sources().assemble(request)?;
        // The folder's settings may name more secrets than the user's.
        log::redact_secrets(&settings.secrets);
        for notice in notices.into_iter().filter(|notice| !hidden.contains(&notice.kind)) {
            print_notice(&self.home, notice);
        }
        settings.probe = fault_injection::probe(self.env.fault.as_deref())?;
        Ok(settings)
    }

    /// All layers that apply in the working folder, without a session.
    pub(crate) fn layers_here(&self) -> Result<SettingsLayers, CliError> {
        Ok(self.sources().layers(&SessionOptions::default(), None, &working_folder(None)?)?)
    }
}

/// The notices that a run with these flags does not print.
pub(crate) fn hidden_notices(args: &RunArgs) -> &'static [StartNoticeKind] {
    if args.shows_progress() { &[] } else { &[StartNoticeKind::DefaultModel] }
}

/// What an environment says about the terminal.
pub(crate) fn terminal_settings(env: &Env) -> TerminalSettings {
    TerminalSettings { allows_colour: env.allows_colour(), is_dumb: env.has_dumb_terminal() }
}

fn print_notice(home: &Home, StartNotice { text, kind }: StartNotice) {
    match kind {
        StartNoticeKind::Problem | StartNoticeKind::UnknownTool => print::note(print::sanitize(&text)),
        StartNoticeKind::Standing | StartNoticeKind::DefaultModel => one_time_notices::print_once(home, [text]),
    }
}

/// An error for unusable settings. Its text may quote untrusted input.
pub(crate) fn settings_failure(error: impl Display) -> CliError {
    CliError::usage(print::sanitize(&error.to_string()))
}

/// The folder to work in, as an absolute path.
pub(crate) fn working_folder(path: Option<&Path>) -> Result<PathBuf, CliError> {
    Ok(config::working_folder(path)?)
}
