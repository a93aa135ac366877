//! Sums as comma-separated values.

use std::fmt::Write as _;

use protocol::SessionId;
use protocol::api::{UsageReport, UsageSum};

use super::report::money;

const HEADER: &str = "name,session,turns,input,cache_read,cache_write,output,unanswered_tokens,tokens,cost_usd\n";

/// Writes a line for each sum, and one for the total.
pub(super) fn to_csv(usage: &UsageReport) -> String {
    let mut text = HEADER.to_owned();
    for line in &usage.lines {
        write_line(&mut text, &line.name, line.session, &line.sum);
    }
    write_line(&mut text, "total", None, &usage.total);
    text
}

fn write_line(text: &mut String, name: &str, session: Option<SessionId>, sum: &UsageSum) {
    let UsageSum { turns, usage, spent, unanswered, .. } = sum;
    let session = session.map(|session| session.to_string()).unwrap_or_default();
    // Empty if unknown: a spreadsheet would count any text as zero.
    let money = money(sum).micros().map(|micros| format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000));
    // Writing to a string cannot fail.
    let _always = writeln!(
        text,
        "{},{session},{turns},{},{},{},{},{},{},{}",
        quoted(name),
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.output,
        unanswered.tokens,
        spent.tokens,
        money.unwrap_or_default()
    );
}

/// A name as one cell. A name that a spreadsheet would read as a formula becomes text.
fn quoted(name: &str) -> String {
    let plain: String = name.chars().filter(|c| !c.is_control()).collect();
    let guard = if plain.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{guard}{}\"", plain.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_cell_and_never_a_formula() {
        assert_eq!(quoted("a, \"b\"\n"), "\"a, \"\"b\"\"\"");
        assert_eq!(quoted("=1+1"), "\"'=1+1\"");
        assert_eq!(quoted("/root/tests"), "\"/root/tests\"");
    }
}
