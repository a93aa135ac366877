//! Names of models as users read them.

use std::path::Path;

/// Whether the provider is followed by a file name.
pub fn is_file_provider(provider: &str) -> bool {
    matches!(provider, "script" | "replay")
}

/// The name of a model as users read it: a file without its folder.
pub fn model_display_name(spec: &str) -> String {
    match spec.split_once('/') {
        Some((provider, file)) if is_file_provider(provider) => {
            let name = Path::new(file).file_name().map_or(file.into(), |name| name.to_string_lossy());
            format!("{provider}/{name}")
        }
        Some(_) | None => spec.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_shown_without_their_folder() {
        assert_eq!(model_display_name("script//tmp/a/model.yaml"), "script/model.yaml");
        assert_eq!(model_display_name("replay/run.jsonl"), "replay/run.jsonl");
        assert_eq!(model_display_name("openrouter/meta/llama"), "openrouter/meta/llama");
        assert_eq!(model_display_name("sonnet"), "sonnet");
    }
}
