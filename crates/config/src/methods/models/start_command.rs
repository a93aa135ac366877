//! How the local model servers are started.

/// The command that starts a local model server, with a context that is large enough for an agent.
pub fn start_command(provider: &str) -> Option<&'static str> {
    Some(match provider {
        "ollama" => "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
        "llamacpp" => "llama-server -m model.gguf -c 32768 -np 1 --jinja",
        "llama-server" => "llama-server -m model.gguf -c 32768 -np 1 --jinja --port 9931",
        "lmstudio" => "lms server start",
        _other => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Env, SettingsFile};

    #[test]
    fn every_local_server_can_be_started() {
        let access = SettingsFile::default().resolve().access(&Env::default()).unwrap();
        for server in &access.local_servers {
            assert!(start_command(server).is_some(), "{server}");
        }
        assert_eq!(start_command("anthropic"), None);
    }
}
