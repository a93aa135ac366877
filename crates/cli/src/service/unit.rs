//! The text of the unit file.

use std::path::Path;

/// The name of the unit.
pub(super) const UNIT_NAME: &str = "bosun.service";

/// The name of the file in Bosun's home that holds variables for the service.
pub(super) const ENVIRONMENT_FILE: &str = "service.env";

/// The first line of every unit that Bosun wrote.
const HEADER: &str = "# Written by `bosun service install`; `bosun service uninstall` removes it.";

/// The unit that runs this program as the session host of a home.
pub(super) fn unit_text(program: &Path, home: &Path) -> String {
    let (program, home) = (quote(program), home.display().to_string());
    let variable = quote_text(&format!("BOSUN_HOME={home}"));
    let file = escape(&format!("{home}/{ENVIRONMENT_FILE}"));
    format!(
        "{HEADER}\n\
         [Unit]\n\
         Description=Bosun session host\n\
         \n\
         [Service]\n\
         ExecStart={program} serve --no-http\n\
         Environment={variable}\n\
         EnvironmentFile=-{file}\n\
         Restart=on-failure\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

/// Whether Bosun wrote this unit.
pub(super) fn is_own_unit(text: &str) -> bool {
    text.lines().next() == Some(HEADER)
}

fn quote(path: &Path) -> String {
    quote_text(&path.display().to_string())
}

fn quote_text(text: &str) -> String {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", escape(&quoted).replace('$', "$$"))
}

/// A percent sign begins a specifier.
fn escape(text: &str) -> String {
    text.replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_names_the_program_and_the_home() {
        let text = unit_text(Path::new("/opt/my programs/bosun"), Path::new("/home/me/100%"));
        assert!(is_own_unit(&text) && !is_own_unit("[Unit]\n"));
        assert!(text.contains("ExecStart=\"/opt/my programs/bosun\" serve --no-http\n"), "{text}");
        assert!(text.contains("Environment=\"BOSUN_HOME=/home/me/100%%\"\n"), "{text}");
        assert!(text.contains("EnvironmentFile=-/home/me/100%%/service.env\n"), "{text}");
    }
}
