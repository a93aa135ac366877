//! `bosun man`: the manual page, or one page per command.

use std::path::Path;
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;
use tui::print;

use crate::args::{self, ManArgs};
use crate::error::CliError;
use crate::exit::CommandExit;

pub(crate) fn write(args: &ManArgs) -> Result<CommandExit, CliError> {
    let command = args::manual_command();
    match &args.dir {
        Some(dir) => write_all(&command, dir).map_err(|error| {
            CliError::failed(format!("cannot write manual pages to {}: {error}", dir.display()))
                .with_hint("choose a folder of your own with --dir")
        })?,
        None => print::document(&page(&command)?),
    }
    Ok(CommandExit::Success)
}

fn write_all(command: &Command, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut unvisited = vec![command];
    while let Some(command) = unvisited.pop() {
        let man = Man::new(command.clone());
        fs::write(dir.join(man.get_filename()), page(command)?)?;
        unvisited.extend(command.get_subcommands());
    }
    let main_page = dir.join("bosun.1");
    print::note(format_args!("written to {}; read one with: man {}", dir.display(), main_page.display()));
    Ok(())
}

/// Renders a page. clap's `after_help` is rendered here, since `Man` would lose the line breaks of the examples.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    for part in after.split("\n\n").filter(|part| !part.is_empty()) {
        page.extend_from_slice(section(part).as_bytes());
    }
    Ok(page)
}

/// A paragraph of `after_help`, under its own heading.
fn section(part: &str) -> String {
    let headings = [("Examples:\n", "EXAMPLES"), ("Example:\n", "EXAMPLE"), ("Exit codes: ", "EXIT STATUS")];
    let titled = headings.iter().find_map(|(prefix, heading)| Some((*heading, part.strip_prefix(prefix)?)));
    let (heading, text) = titled.unwrap_or(("NOTES", part));
    let lines: Vec<String> = text.lines().map(escape_roff).collect();
    let text = lines.join("\n");
    if heading.starts_with("EXAMPLE") {
        format!(".SH {heading}\n.nf\n{text}\n.fi\n")
    } else {
        format!(".SH \"{heading}\"\n{text}\n")
    }
}

/// Escapes a line for roff.
fn escape_roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines_and_are_escaped_for_roff() {
        assert_eq!(
            section("Example:\n  bosun -p \"a\\b\"\n.so x"),
            ".SH EXAMPLE\n.nf\n  bosun \\-p \"a\\eb\"\n\\&.so x\n.fi\n"
        );
        assert_eq!(section("Exit codes: 0 fine"), ".SH \"EXIT STATUS\"\n0 fine\n");
    }
}
