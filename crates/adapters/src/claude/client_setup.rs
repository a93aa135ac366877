//! What a session needs from its client before it is opened: the client's settings, the tools of its MCP servers, the
//! answer schema, and which of its options have no effect.

use std::sync::Arc;

use protocol::{Hinted as _, clip_middle};
use server::{OpenRefusal, SessionOpener};
use tools::Tool;

use super::args::{ClaudeArgs, MAX_NAME_BYTES};
use super::deciding_tool::DecidingTool;
use super::initialize::InitializeRequest;
use super::mcp_servers::{ClientServerConfigs, InProcessServers};
use super::model_names::{ModelChoice, choose_model};
use super::settings_files::ClaudeSettings;
use super::structured::{self, StructuredOutputState};
use super::wire::ControlChannel;
use super::{output_style, unsupported};

/// The parts of a session that its client supplies.
#[derive(Debug, Default)]
pub(super) struct ClientSetup {
    /// The client's settings.
    pub(super) settings: ClaudeSettings,
    /// The model; the configured one when absent.
    pub(super) model: Option<String>,
    /// Its MCP servers as it configures them.
    pub(super) configs: ClientServerConfigs,
    /// Those inside it.
    pub(super) servers: Arc<InProcessServers>,
    /// The models of all configured providers, as far as they are known.
    pub(super) models: Vec<String>,
    /// The tool that decides about calls, if the client names one.
    pub(super) decider: Option<DecidingTool>,
    /// The title that the client gives the session.
    pub(super) title: Option<String>,
    /// The state of structured output, if the client wants it.
    pub(super) structured: Option<StructuredOutputState>,
    /// What the client must know about its options: those that have no effect, by name.
    pub(super) warnings: Vec<String>,
}

impl ClientSetup {
    /// Reads the client's options, and connects to the servers inside it.
    pub(super) async fn fetch(
        args: &ClaudeArgs,
        initialize: &InitializeRequest,
        opener: &dyn SessionOpener,
        control: &Arc<ControlChannel>,
    ) -> Result<ClientSetup, OpenRefusal> {
        unsupported::expect_supported(args)?;
        let settings = ClaudeSettings::read(args, opener)?;
        settings.expect_supported()?;
        let mut warnings = unsupported::warnings(args, initialize, &settings, opener)?;
        let style = settings.output_style.as_deref();
        if let Some(style) = style.filter(|style| output_style::style_text(style, &settings.style_folders).is_none()) {
            warnings.push(format!("the output style `{}` is unknown", clip_middle(style, MAX_NAME_BYTES)));
        }
        let model = requested_model(args, &settings, opener, &mut warnings);
        let refused = |words: String| OpenRefusal { words, hint: None };
        let configs = ClientServerConfigs::read(&args.mcp_configs, &initialize.request).map_err(refused)?;
        let schema = structured::requested_schema(args.json_schema.as_deref(), &initialize.request).map_err(refused)?;
        let structured = schema.as_ref().map(StructuredOutputState::new).transpose();
        let structured = structured.map_err(|error| OpenRefusal { words: error.to_string(), hint: error.hint() })?;
        let servers = Arc::new(InProcessServers::connect_all(control, &configs).await);
        let decider = DecidingTool::find(args, &servers)?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        // If the catalogue cannot be read, the session cannot be opened either, which reports the reason.
        let models = opener.catalog(None).map(|catalog| catalog.models).unwrap_or_default();
        let title = initialize.request["title"].as_str().map(str::to_owned);
        Ok(ClientSetup { settings, model, models, title, configs, servers, structured, warnings, decider })
    }

    /// The tools that this adds to the session.
    pub(super) fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.servers.tools().into_iter().chain(self.structured.as_ref().map(StructuredOutputState::tool)).collect()
    }
}

/// The model of the command line, else that of the settings.
fn requested_model(
    args: &ClaudeArgs,
    settings: &ClaudeSettings,
    opener: &dyn SessionOpener,
    warnings: &mut Vec<String>,
) -> Option<String> {
    let name = args.model.as_deref().or_else(|| settings.flag["model"].as_str())?;
    // If the catalogue cannot be read, the session cannot be opened either, which reports the reason.
    match choose_model(name, || opener.catalog(None).unwrap_or_default()) {
        ModelChoice::Named(model) => Some(model),
        ModelChoice::Configured => None,
        ModelChoice::Unknown => {
            warnings.push(format!("no configured provider has the model `{name}`; the configured model is used"));
            None
        }
    }
}
