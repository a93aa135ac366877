//! scratch
#[test]
fn dump() {
    let text = std::fs::read_to_string("/tmp/shell-work/scratch.txt").unwrap();
    for line in text.split("\n%%\n") {
        let s = bosun_policy::shell::read(line.trim_end_matches('\n'));
        let c: Vec<String> = s
            .commands
            .iter()
            .map(|c| {
                format!(
                    "{}{}{}",
                    c.through.iter().map(|t| format!("{t}>")).collect::<String>(),
                    c.name,
                    if c.tricks.is_empty() { String::new() } else { format!(" !{}", c.tricks.join("; ")) }
                )
            })
            .collect();
        println!(
            "{line:?}\n   => {c:?} files {:?}{}",
            s.files,
            s.unclear.iter().map(|u| format!("\n   ?? {} [{}]", u.why, u.part)).collect::<String>()
        );
    }
}
