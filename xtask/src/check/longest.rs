//! Lists the longest files and functions, for information only.

use crate::sources::SourceFile;

/// Number of each shown.
const SHOWN: usize = 10;

/// Prints the longest files and functions.
pub(super) fn show(sources: &[SourceFile]) {
    let files = sources.iter().map(|source| (source.text.lines().count(), source.path.display().to_string()));
    print("longest files", files.collect());
    let functions = sources.iter().flat_map(|source| {
        let named = functions(&source.text).into_iter();
        named.map(|function| (function.lines, format!("{}:{} {}", source.path.display(), function.line, function.name)))
    });
    print("longest functions", functions.collect());
}

fn print(title: &str, mut found: Vec<(usize, String)>) {
    found.sort_by(|one, two| two.0.cmp(&one.0).then(one.1.cmp(&two.1)));
    println!("{title}:");
    for (lines, name) in found.iter().take(SHOWN) {
        println!("  {lines:>4}  {name}");
    }
}

struct SourceFunction<'a> {
    name: &'a str,
    line: usize,
    lines: usize,
}

/// Finds functions by their indentation, which rustfmt makes reliable.
fn functions(text: &str) -> Vec<SourceFunction<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        let end = format!("{}}}", &line[..line.len() - line.trim_start().len()]);
        let length = lines[at..].iter().position(|line| **line == end);
        if let Some(length) = length.filter(|_| !line.ends_with('}')) {
            found.push(SourceFunction { name, line: at + 1, lines: length + 1 });
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || matches!(*word, "async" | "const" | "unsafe" | "extern") || *word == "super)"
    });
    (words.next()? == "fn").then_some(())?;
    words.next()?.split(['(', '<']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let text = "impl A {\n    pub(crate) async fn one<T>(\n        a: T,\n    ) {\n        if b {\n        }\n    }\n}\n\nfn two() {}\n\nfn three() {\n    1\n}\n";
        let found: Vec<_> =
            functions(text).iter().map(|found| (found.name.to_owned(), found.line, found.lines)).collect();
        assert_eq!(found, [("one".to_owned(), 2, 6), ("three".to_owned(), 12, 3)]);
    }
}
