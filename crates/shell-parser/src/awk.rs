//! awk: a language that can run commands and write files.

use super::raw_command::RawWord;

/// Texts of which an awk program that does more than print contains at least one.
const RISKY_TEXTS: [&str; 6] = ["system", "|", "getline", ">", "@", "ENVIRON"];

/// Why an awk command may do more than print.
pub(super) fn risks(args: &[RawWord]) -> Option<String> {
    let mut rest = args.iter();
    let program = loop {
        match rest.next()?.text() {
            None => return Some("its program is only known when it runs".to_owned()),
            Some("--") => break rest.next().and_then(RawWord::text),
            Some("-F" | "-v" | "--field-separator" | "--assign") => {
                rest.next();
            }
            Some("--version" | "-V" | "--help" | "-h") => return None,
            Some(text) if text.starts_with("-F") || text.starts_with("-v") => {}
            Some(text) if text.starts_with("--field-separator=") || text.starts_with("--assign=") => {}
            Some(text) if text.starts_with('-') => {
                return Some("one of its options loads code or writes files".to_owned());
            }
            Some(text) => break Some(text),
        }
    };
    let Some(program) = program else { return Some("its program is only known when it runs".to_owned()) };
    let sign = RISKY_TEXTS.iter().find(|sign| program.contains(**sign));
    sign.map(|_| "its program may run commands or write files".to_owned())
}
