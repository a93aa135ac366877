//! Markdown as HTML: headings, lists, quotes, code, tables and paragraphs. Unknown syntax becomes a paragraph, and all
//! text is escaped.

use super::escape::escape_html;
use super::inline;

/// Lists and quotes deeper than this are paragraphs.
const MAX_DEPTH: usize = 8;

/// Renders a text.
pub(super) fn html(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    render_blocks(&lines, MAX_DEPTH)
}

fn render_blocks(lines: &[&str], depth_left: usize) -> String {
    let mut html = String::new();
    let mut rest = lines;
    while let Some((first, after)) = rest.split_first() {
        if first.trim().is_empty() {
            rest = after;
            continue;
        }
        let (block, taken) = render_block(rest, depth_left);
        html.push_str(&block);
        rest = rest.get(taken.max(1)..).unwrap_or_default();
    }
    html
}

/// Renders the block that starts here; returns it with its number of lines.
fn render_block(lines: &[&str], depth_left: usize) -> (String, usize) {
    let first = lines.first().copied().unwrap_or_default();
    if let Some(mark) = fence_mark(first) {
        return code(lines, &mark);
    }
    if let Some((level, text)) = heading(first) {
        return (format!("<h{level}>{}</h{level}>\n", inline::html(text)), 1);
    }
    if is_rule(first) {
        return ("<hr>\n".into(), 1);
    }
    if is_table(lines) {
        return table(lines);
    }
    if depth_left > 0 && first.trim_start().starts_with('>') {
        return quote(lines, depth_left);
    }
    if depth_left > 0 && parse_item(first).is_some() {
        return list(lines, depth_left);
    }
    paragraph(lines)
}

fn paragraph(lines: &[&str]) -> (String, usize) {
    let starts_block = |index: usize, line: &str| {
        let below = lines.get(index..).unwrap_or_default();
        line.trim().is_empty()
            || fence_mark(line).is_some()
            || heading(line).is_some()
            || is_rule(line)
            || is_table(below)
            || parse_item(line).is_some()
            || line.trim_start().starts_with('>')
    };
    let continued = lines.iter().enumerate().skip(1).take_while(|(index, line)| !starts_block(*index, line)).count();
    let text: Vec<&str> = lines.iter().take(continued + 1).map(|line| line.trim()).collect();
    (format!("<p>{}</p>\n", inline::html(&text.join("\n"))), continued + 1)
}

/// The delimiter that opens a code fence.
fn fence_mark(line: &str) -> Option<String> {
    let line = line.trim();
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let info = line.get(length..).unwrap_or_default();
    (length >= 3 && !info.contains('`')).then(|| mark.to_string().repeat(length))
}

fn code(lines: &[&str], mark: &str) -> (String, usize) {
    let closes = |line: &&str| {
        let line = line.trim();
        line.starts_with(mark) && line.chars().all(|c| mark.starts_with(c))
    };
    let inner: Vec<&str> = lines.iter().skip(1).take_while(|line| !closes(line)).copied().collect();
    let taken = (inner.len() + 2).min(lines.len());
    (format!("<pre class=\"code\"><code>{}</code></pre>\n", escape_html(&inner.join("\n"))), taken)
}

/// The heading's level, below the levels of the page itself, and its text.
fn heading(line: &str) -> Option<(usize, &str)> {
    let marks = line.bytes().take_while(|byte| *byte == b'#').count();
    let text = line.get(marks..).and_then(|rest| rest.strip_prefix(' '))?;
    (1..=6).contains(&marks).then(|| ((marks + 3).min(6), text.trim().trim_end_matches('#').trim_end()))
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && ["-", "*", "_"].into_iter().any(|mark| line.replace(mark, "").is_empty())
}

fn quote(lines: &[&str], depth_left: usize) -> (String, usize) {
    let inner: Vec<&str> = lines.iter().map_while(|line| line.trim_start().strip_prefix('>')).collect();
    let text: Vec<&str> = inner.iter().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    (format!("<blockquote>\n{}</blockquote>\n", render_blocks(&text, depth_left - 1)), inner.len())
}

/// A list item: its indentation, its text, and the tag of its list.
struct MarkdownListItem<'a> {
    indent: usize,
    tag: &'static str,
    text: &'a str,
}

fn parse_item(line: &str) -> Option<MarkdownListItem<'_>> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    if let Some(text) = ["- ", "* ", "+ "].into_iter().find_map(|mark| trimmed.strip_prefix(mark)) {
        return Some(MarkdownListItem { indent, tag: "ul", text });
    }
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    let rest = trimmed.get(digits..).unwrap_or_default();
    let text = rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))?;
    (1..=4).contains(&digits).then_some(MarkdownListItem { indent, tag: "ol", text })
}

fn list(lines: &[&str], depth_left: usize) -> (String, usize) {
    let Some(MarkdownListItem { indent, tag, .. }) = lines.first().and_then(|line| parse_item(line)) else {
        return paragraph(lines);
    };
    let mut html = format!("<{tag}>\n");
    let mut taken = 0;
    while let Some(first) =
        lines.get(taken).and_then(|line| parse_item(line)).filter(|item| item.indent <= indent && item.tag == tag)
    {
        let below = lines.get(taken + 1..).unwrap_or_default();
        let continued = continuation_lines(below, indent);
        let mut inner = vec![first.text];
        inner.extend(below.iter().take(continued).map(|line| outdented(line, indent + 2)));
        html.push_str(&format!("<li>{}</li>\n", unwrap_paragraph(&render_blocks(&inner, depth_left - 1))));
        taken += 1 + continued;
    }
    html.push_str(&format!("</{tag}>\n"));
    (html, taken)
}

/// The number of lines that belong to the item above: those indented further, and blank lines between them.
fn continuation_lines(lines: &[&str], indent: usize) -> usize {
    let mut count = 0;
    for (index, line) in lines.iter().enumerate() {
        let depth = line.len() - line.trim_start().len();
        match line.trim().is_empty() {
            true => {}
            false if depth > indent => count = index + 1,
            false => break,
        }
    }
    // A blank line between two items belongs to the first.
    let blank = lines.iter().skip(count).take_while(|line| line.trim().is_empty()).count();
    let has_next_item = lines.get(count + blank).is_some_and(|line| parse_item(line).is_some());
    if has_next_item { count + blank } else { count }
}

fn outdented(line: &str, max_spaces: usize) -> &str {
    let depth = line.len() - line.trim_start_matches(' ').len();
    line.get(depth.min(max_spaces)..).unwrap_or(line)
}

/// Unwraps an item that consists of one paragraph.
fn unwrap_paragraph(html: &str) -> &str {
    let inner = html.strip_prefix("<p>").and_then(|rest| rest.strip_suffix("</p>\n"));
    inner.filter(|inner| !inner.contains("<p>")).unwrap_or(html)
}

/// Whether these lines start a table: a row, and a separator line below it.
fn is_table(lines: &[&str]) -> bool {
    let [head, separator, ..] = lines else { return false };
    let is_separator =
        separator.contains('-') && separator.contains('|') && separator.chars().all(|c| "|-: ".contains(c));
    head.contains('|') && is_separator
}

fn table(lines: &[&str]) -> (String, usize) {
    let row = |line: &str, tag: &str| {
        let cells = cells(line).iter().map(|cell| format!("<{tag}>{}</{tag}>", inline::html(cell))).collect::<String>();
        format!("<tr>{cells}</tr>\n")
    };
    let mut html = String::from("<table class=\"grid\">\n");
    html.push_str(&row(lines.first().copied().unwrap_or_default(), "th"));
    let below: Vec<&&str> = lines.iter().skip(2).take_while(|line| line.contains('|')).collect();
    below.iter().for_each(|line| html.push_str(&row(line, "td")));
    html.push_str("</table>\n");
    (html, below.len() + 2)
}

/// The cells of a row; `\|` does not end a cell.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').filter(|inner| !inner.ends_with('\\')).unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some('|')) => {
                chars.next();
                cells.last_mut().into_iter().for_each(|cell| cell.push('|'));
            }
            ('|', _) => cells.push(String::new()),
            (c, _) => cells.last_mut().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_markdown_is_rendered() {
        let page = "# Title\n\nSome **words**\nthat go on.\n\n- one\n- two\n  1. deep\n     more\n\n- three\n\n\
                    ```rust\nfn main() { a < b }\n# no heading\n```\n> quoted\n> - item\n\n---\n\
                    | a | b |\n|---|:-:|\n| `x` | y \\| z |\n\ndone";
        let expected = "<h4>Title</h4>\n<p>Some <strong>words</strong>\nthat go on.</p>\n\
                        <ul>\n<li>one</li>\n<li><p>two</p>\n<ol>\n<li>deep\nmore</li>\n</ol>\n</li>\n<li>three</li>\n</ul>\n\
                        <pre class=\"code\"><code>fn main() { a &lt; b }\n# no heading</code></pre>\n\
                        <blockquote>\n<p>quoted</p>\n<ul>\n<li>item</li>\n</ul>\n</blockquote>\n<hr>\n\
                        <table class=\"grid\">\n<tr><th>a</th><th>b</th></tr>\n<tr><td><code>x</code></td><td>y | z</td></tr>\n\
                        </table>\n<p>done</p>\n";
        assert_eq!(html(page), expected);
    }

    #[test]
    fn hostile_text_creates_no_tags() {
        let deep = format!("{}x", "> ".repeat(5_000));
        let nested: String = (0..2_000).map(|n| format!("{}- a\n", " ".repeat(n % 50))).collect();
        for hostile in
            ["<script>alert(1)</script>", "```\n</code><script>", "- <b>\n", "| <i> |\n|---|\n", &deep, &nested]
        {
            let shown = html(hostile);
            for tag in ["<script", "<b>", "<i>"] {
                assert!(!shown.contains(tag), "{shown}");
            }
        }
    }
}
