//! What changed in a file, in the form of `diff -u`: one hunk, from the first line that differs to the last.

/// Lines shown around the change.
const CONTEXT: usize = 3;

/// The change of the file `name`; nothing when there is none.
pub(super) fn diff(name: &str, before: &str, after: &str) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = same(old.iter(), new.iter());
    let tail = same(old[head..].iter().rev(), new[head..].iter().rev());
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    let first = head.saturating_sub(CONTEXT);
    let below = tail.min(CONTEXT);

    let from = if before.is_empty() { "/dev/null" } else { name };
    let range = |end: usize| format!("{},{}", if end == 0 { 0 } else { first + 1 }, end - first);
    let hunk = format!("@@ -{} +{} @@", range(old_end + below), range(new_end + below));
    let mut lines = vec![format!("--- {from}"), format!("+++ {name}"), hunk];
    lines.extend(old[first..head].iter().map(|line| format!(" {line}")));
    lines.extend(old[head..old_end].iter().map(|line| format!("-{line}")));
    lines.extend(new[head..new_end].iter().map(|line| format!("+{line}")));
    lines.extend(old[old_end..old_end + below].iter().map(|line| format!(" {line}")));
    lines
}

/// How many lines are the same from the start on.
fn same<'a>(old: impl Iterator<Item = &'a &'a str>, new: impl Iterator<Item = &'a &'a str>) -> usize {
    old.zip(new).take_while(|(old, new)| old == new).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let shown = diff("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n");
        assert_eq!(shown, ["--- f", "+++ f", "@@ -2,7 +2,7 @@", " 2", " 3", " 4", "-5", "+five", " 6", " 7", " 8"]);
    }

    #[test]
    fn a_repeated_line_is_added_once() {
        assert_eq!(diff("f", "a\na\n", "a\na\na\n")[2..], ["@@ -1,2 +1,3 @@", " a", " a", "+a"]);
    }

    #[test]
    fn a_new_file_and_an_emptied_one_are_whole() {
        assert_eq!(diff("f", "", "a\n"), ["--- /dev/null", "+++ f", "@@ -0,0 +1,1 @@", "+a"]);
        assert_eq!(diff("f", "a\n", ""), ["--- f", "+++ f", "@@ -1,1 +0,0 @@", "-a"]);
        assert!(diff("f", "a\n", "a\n").is_empty());
    }
}
