//! A recording as an SVG that plays once: a terminal in which each line appears at its time.

use std::fmt::Write as _;
use std::time::Duration;

use super::record::RecordedLine;

/// Columns of the terminal; longer lines are cut.
const COLUMNS: usize = 104;

/// Width of a character, height of a line, and the space around the text, in pixels.
const CHARACTER: f64 = 7.8;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// The picture plays this many times slower than the run, so that readers can follow it.
const SLOWDOWN: f64 = 8.0;

/// What a line is about, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineKind {
    Command,
    Problem,
    Success,
    Plain,
}

impl LineKind {
    fn of(text: &str) -> LineKind {
        match text {
            _ if text.starts_with("$ ") => LineKind::Command,
            _ if text.contains(": ! ") || text.starts_with("retried ") => LineKind::Problem,
            _ if ["done ", "merged ", "fleet done"].iter().any(|word| text.starts_with(word)) => LineKind::Success,
            _ => LineKind::Plain,
        }
    }

    fn class(self) -> &'static str {
        match self {
            LineKind::Command => "c",
            LineKind::Problem => "p",
            LineKind::Success => "s",
            LineKind::Plain => "t",
        }
    }
}

/// Draws the lines. A viewer that does not play animations, or whose user wants none, shows all of them.
pub(super) fn render(lines: &[RecordedLine]) -> String {
    let width = (COLUMNS as f64 * CHARACTER) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"A fleet of agents is killed with kill -9 and resumed; every todo is done once\">\n\
         <style>\n\
         text{{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#d0d4dc}}\n\
         .c{{fill:#fff;font-weight:bold}}.p{{fill:#f0b35e}}.s{{fill:#7fc98f}}\n\
         @media (prefers-reduced-motion:no-preference){{text{{animation:show 1ms backwards}}}}\n\
         @keyframes show{{from{{visibility:hidden}}}}\n\
         </style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"#1b1e25\"/>\n"
    );
    for (number, line) in lines.iter().enumerate() {
        let (y, class) = (MARGIN + number * LINE + 13, LineKind::of(&line.text).class());
        let _infallible = writeln!(
            svg,
            "<text x=\"{MARGIN}\" y=\"{y}\" class=\"{class}\" style=\"animation-delay:{:.1}s\">{}</text>",
            slowed(line.at),
            escaped(&cut(&line.text))
        );
    }
    svg + "</svg>\n"
}

fn slowed(at: Duration) -> f64 {
    at.as_secs_f64() * SLOWDOWN
}

fn cut(text: &str) -> String {
    match text.chars().count() {
        count if count > COLUMNS => text.chars().take(COLUMNS - 1).chain(['…']).collect(),
        _ => text.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let replaced = |character| match character {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        // XML allows no control characters.
        control if control.is_control() => " ".to_owned(),
        other => other.to_string(),
    };
    text.chars().map(replaced).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> RecordedLine {
        RecordedLine { at: Duration::from_millis(500), text: text.into() }
    }

    #[test]
    fn each_line_is_text_at_its_time() {
        let svg = render(&[line("$ bosun"), line("done a <b> & \u{1b}c"), line("  sums: ! not done yet")]);
        assert!(svg.contains("class=\"c\" style=\"animation-delay:4.0s\">$ bosun</text>"), "{svg}");
        assert!(svg.contains("class=\"s\" style=\"animation-delay:4.0s\">done a &lt;b&gt; &amp;  c</text>"), "{svg}");
        assert!(svg.contains("class=\"p\""), "{svg}");
    }

    #[test]
    fn a_long_line_is_cut() {
        assert_eq!(cut(&"x".repeat(COLUMNS)).chars().count(), COLUMNS);
        assert!(cut(&"é".repeat(COLUMNS + 1)).ends_with("é…"));
    }
}
