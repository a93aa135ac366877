//! Turns a builder into session settings, with the same layers as on the command line except those of the project.

use config::{AssembledSettings, RemoteDefinitions, SessionDefinitions, SessionRequest, SettingsSources};
use runtime::SessionSettings;

use crate::Error;
use crate::builder::SessionBuilder;

impl SessionBuilder {
    pub(crate) fn settings(self) -> Result<SessionSettings, Error> {
        let SessionBuilder { bosun, start: _, previous, options, agents, client_extensions, guardian } = self;
        let remote = RemoteDefinitions::default();
        let sources = SettingsSources { home: &bosun.home, env: &bosun.env, remote: &remote };
        let request = SessionRequest {
            definitions: SessionDefinitions::Agents(agents),
            ..SessionRequest::new(&options, previous.as_ref())
        };
        let AssembledSettings { settings, notices: _ } = sources.assemble(request)?;
        Ok(SessionSettings { client_extensions, guardian, ..settings })
    }
}
