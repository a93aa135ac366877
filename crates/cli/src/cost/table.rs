//! Sums as a table.

use protocol::api::{UsageLine, UsageReport, UsageSum};
use tui::money::Money;
use tui::print;
use unicode_width::UnicodeWidthStr;

use super::report::money;

const HEADERS: [&str; 7] = ["turns", "in", "from cache", "to cache", "out", "estimated", "cost"];

/// Minimum width of a name on a narrow terminal.
const MIN_NAME_WIDTH: usize = 12;

/// Prints the sums, most tokens first.
pub(super) fn print_table(usage: &UsageReport) {
    if usage.lines.is_empty() {
        print::note("nothing was spent");
        return;
    }
    let mut lines: Vec<&UsageLine> = usage.lines.iter().collect();
    lines.sort_by_key(|line| std::cmp::Reverse(line.sum.spent.tokens));
    let mut rows = vec![(usage.by.as_str().to_owned(), HEADERS.map(str::to_owned))];
    rows.extend(lines.into_iter().map(|line| (name(line), cells(&line.sum))));
    rows.push(("total".to_owned(), cells(&usage.total)));
    for line in align_rows(&rows, print::width()) {
        print::output(line);
    }
    if usage.total.unanswered.tokens > 0 {
        print::note("estimated: tokens of answers whose server reports no usage, and of requests that were cut off");
    }
    if !usage.total.priced {
        print::note("unknown: a model has no price; set one in config.toml: [providers.NAME.models.\"MODEL\"]");
    }
}

fn name(line: &UsageLine) -> String {
    let name = print::sanitize(&print::one_line(&line.name, 48));
    line.session.map_or_else(|| name.clone(), |session| format!("{session}  {name}"))
}

fn cells(sum: &UsageSum) -> [String; 7] {
    let usage = sum.usage;
    let counts = [sum.turns, usage.input, usage.cache_read, usage.cache_write, usage.output, sum.unanswered.tokens];
    let [turns, input, read, write, output, unanswered] = counts.map(|count| count.to_string());
    let money = match (sum.priced, sum.spent.micros) {
        (false, known @ 1..) => format!("{} + unknown", Money::Known(known)),
        (false, 0) | (true, _) => money(sum).to_string(),
    };
    [turns, input, read, write, output, unanswered, money]
}

/// Aligns names left and numbers right, each column as wide as its widest cell. On a narrow terminal, names are cut and
/// numbers are not.
fn align_rows(rows: &[(String, [String; 7])], columns: Option<usize>) -> Vec<String> {
    let width = |text: &String| text.width();
    let name_width = rows.iter().map(|(name, _)| width(name)).max().unwrap_or(0);
    let widths: [usize; 7] =
        std::array::from_fn(|column| rows.iter().map(|(_, cells)| width(&cells[column])).max().unwrap_or(0));
    let numbers_width: usize = widths.iter().map(|width| width + 2).sum();
    let max_name_width =
        columns.map_or(name_width, |columns| columns.saturating_sub(numbers_width).max(MIN_NAME_WIDTH));
    let line = |(name, cells): &(String, [String; 7])| {
        let cells: Vec<String> = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        format!("{}  {}", print::fit_cell(name, name_width.min(max_name_width)), cells.join("  "))
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_terminal_cuts_names_but_not_numbers() {
        let cells = ["1", "2", "3", "4", "5", "6", "$0.123456"].map(str::to_owned);
        let rows = [("anthropic/a-model-with-a-long-name".to_owned(), cells.clone()), ("日本語".to_owned(), cells)];
        let wide = align_rows(&rows, None);
        assert!(wide[0].starts_with("anthropic/a-model-with-a-long-name  1  2"), "{wide:?}");
        let narrow = align_rows(&rows, Some(50));
        assert!(narrow.iter().all(|line| line.width() == 50 && line.ends_with("$0.123456")), "{narrow:?}");
        assert!(narrow[0].starts_with("anthropic/a-model-wi…"), "{narrow:?}");
        assert!(align_rows(&rows, Some(10))[0].starts_with("anthropic/a…  1"));
    }
}
