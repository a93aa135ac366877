//! Tests with ordinary and with hostile pages.

use proptest::prelude::*;
use url::Url;

use super::markdown::{MarkdownPage, markdown};

fn page(html: &str) -> MarkdownPage {
    markdown(html, Some(Url::parse("https://docs.example/guide/start.html").unwrap()))
}

fn text(html: &str) -> String {
    page(html).text
}

#[test]
fn a_page_keeps_its_readable_text() {
    let html = "<!doctype html><html><head><title> The\n <b>guide </title><style>p { x: y }</style>
        <script>document.write('<p>no')</script><meta charset=utf-8></head><body>
        <nav><a href='/'>Home</a> <a href=other.html#x>Next</a></nav>
        <h1>The  <em>guide</em></h1><p>One &amp; <b>two</b>,
        three<br>four.<p>Next <code>let x = 1;</code>.</p>
        <noscript>no</noscript><svg><title>no</title><text>no</text></svg><template><p>no</p></template>
        <img src=x.png alt='A  picture'><img src=y.png><hr>
        <blockquote><p>Said</p><p>twice</p></blockquote></body></html>";
    let expected = "[Home](https://docs.example/) [Next](https://docs.example/guide/other.html#x)\n\n\
                    # The guide\n\nOne & two, three\nfour.\n\nNext `let x = 1;`.\n\n[image: A picture]\n\n---\n\n\
                    > Said\n\n> twice";
    assert_eq!(page(html), MarkdownPage { title: Some("The <b>guide".into()), text: expected.into() });
}

#[test]
fn lists_keep_their_marks_and_their_depth() {
    let html = "<p>x</p><ul><li>one<li><p>two</p><p>more</p><ol start=9><li>nine</li><li>ten<br>lines</ol>
        <li></li><li>three</ul>after";
    assert_eq!(text(html), "x\n\n- one\n- two\n\n  more\n\n  9. nine\n  10. ten\n      lines\n- three\n\nafter");
    assert_eq!(text("<li>a<li>b"), "- a\n- b");
    assert_eq!(text("<ul><ul><li>a</ul></ul></ul></li>b"), "- a\n\nb");
}

#[test]
fn verbatim_text_keeps_its_lines() {
    let html = "a<pre class='x lang-rust'>\nfn <b>main</b>() {\n\n    x &lt; y\n}\n\n</pre>b
        <pre><code class=language-toml>[a]</code></pre><pre> </pre><ul><li>c<pre>1<br>2</pre></ul>";
    assert_eq!(
        text(html),
        "a\n\n```rust\nfn main() {\n\n    x < y\n}\n```\n\nb\n\n```toml\n[a]\n```\n\n- c\n\n  ```\n  1\n  2\n  ```"
    );
    assert_eq!(text("<pre>never\nends"), "```\nnever\nends\n```");
}

#[test]
fn tables_are_rows_of_cells() {
    let html = "<table><caption>Ports</caption><thead><tr><th>name<th>port</thead>
        <tr><td>a|b</td><td><p>80</p><p><a href=/x>or 81</a></td></tr><tr></tr><tr><td>c</table>after";
    assert_eq!(
        text(html),
        "Ports\n\n| name | port |\n| --- | --- |\n| a\\|b | 80 [or 81](https://docs.example/x) |\n| c |\n\nafter"
    );
    let arranged = "<table><tr><td>menu<td><table><tr><td>1<td>2</table></td></tr></table>";
    assert_eq!(text(arranged), "menu\n\n| 1 | 2 |\n| --- | --- |");
    assert_eq!(text("<table><tr><td>never<td>ends<p>x"), "never\nends\n\nx");
    assert_eq!(text("<svg><table></table></svg><table><tr><td>a</table>"), "| a |\n| --- |");
}

#[test]
fn only_links_to_pages_are_kept() {
    for (html, expected) in [
        ("<a href=' ../x?q=1&amp;r=2 '>a b </a>c", "[a b](https://docs.example/x?q=1&r=2) c"),
        ("<a href=#part>a</a>", "a"),
        ("<a href='javascript:alert(1)'>a</a><a href='data:text/html,x'>b</a><a href='file:///x'>c</a>", "abc"),
        ("<a href=x></a><a href=y> </a>z", "z"),
        ("<a href=x><h2>Title</h2><p>words</p></a>", "## [Title](https://docs.example/guide/x)\n\nwords"),
        ("<a href=x>a<a href=y>b</a>", "[a](https://docs.example/guide/x)[b](https://docs.example/guide/y)"),
        ("<a href=x>a<code>b</a>c</code>", "[a`b](https://docs.example/guide/x)c`"),
        ("<base href='https://other.example/'><a href=x>a</a>", "[a](https://other.example/x)"),
        ("<base href='javascript:x'><a href=x>a</a>", "[a](https://docs.example/guide/x)"),
        ("<a name=x>a</a>", "a"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
    let long = format!("<a href='{}'>a</a>", "x".repeat(3000));
    assert_eq!(text(&long), "a");
}

#[test]
fn hostile_pages_are_read_in_linear_time() {
    let size = 1 << 19;
    let filled = |piece: &str| piece.repeat(size / piece.len());
    let pages = [
        filled("<"),
        filled("<div>"),
        filled("<a<"),
        filled("<a href='"),
        filled("<a href=x>"),
        filled("</"),
        filled("</p>"),
        filled("<!--"),
        filled("<!-- -"),
        filled("<script>"),
        filled("<script></s"),
        filled("<title>"),
        filled("<ul><li>"),
        filled("<ol start=18446744073709551615><li>x"),
        filled("<blockquote>"),
        filled("<table><tr><td>"),
        filled("<table></table>"),
        filled("<code>"),
        filled("<pre>\n"),
        filled("<svg>"),
        filled("&amp;"),
        filled("&zzzz;"),
        filled("&#x"),
        filled("\0"),
        filled("\u{202e}"),
        filled("x\n"),
        format!("{}{}", "<ol start=1000000000000000000><li>".repeat(20), filled("x<br>")),
        format!("{}<pre>x{}y", "<blockquote>".repeat(20), filled("\n")),
        format!("<p {}>x", filled("a=b ")),
        format!("<p title='{}'>x", filled("y")),
        format!("<base href='/{}'>{}", "y".repeat(1900), filled("<a href=z>a ")),
        format!("{}x{}", "<code>".repeat(1 << 18), "</code>".repeat(1 << 18)),
    ];
    for html in pages {
        let begun = std::time::Instant::now();
        let text = text(&html);
        let start: String = html.chars().take(40).collect();
        assert!(text.len() <= 16 << 20, "{start}: {} bytes", text.len());
        // Superlinear work would take hours; linear work takes seconds even on a busy machine.
        assert!(begun.elapsed().as_secs() < 60, "{start}: {:?}", begun.elapsed());
    }
}

#[test]
fn nesting_is_limited_and_later_text_is_kept() {
    let html = format!("{}deep{}<p>after", "<div><ul><li>".repeat(100_000), "</li></ul></div>".repeat(100_000));
    let text = text(&html);
    assert!(text.len() < 200 && text.ends_with("deep\n\nafter"), "{text}");
}

fn random_html() -> impl Strategy<Value = String> {
    let pieces = [
        "<p>",
        "</p>",
        "<a href=x>",
        "<a href='",
        "</a>",
        "<ul>",
        "</ul>",
        "<ol start=3>",
        "</ol>",
        "<li>",
        "</li>",
        "<pre>",
        "</pre>",
        "<code>",
        "</code>",
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "</td>",
        "<h2>",
        "</h2>",
        "<blockquote>",
        "</blockquote>",
        "<svg>",
        "<svg/>",
        "</svg>",
        "<script>",
        "</script>",
        "<title>",
        "</title>",
        "<br>",
        "<hr>",
        "<!--",
        "-->",
        "&amp;",
        "&#",
        "<img alt='é'>",
        "<base href=//b>",
        "\n",
        " ",
        "é",
        "|",
        "`",
        "<",
        ">",
        "\"",
        "'",
        "=",
        "/",
        "\0",
        "x",
        "漢",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_page_gives_bounded_text(html in random_html()) {
        let text = text(&html);
        prop_assert!(text.len() < html.len() * 50 + 100);
    }

    #[test]
    fn any_text_can_be_converted(html in any::<String>()) {
        text(&html);
    }

    #[test]
    fn any_bytes_can_be_read(bytes in any::<Vec<u8>>()) {
        let kind = super::PageKind::Html;
        prop_assert!(super::read(&bytes, None, kind, "http://a.example/").is_ok());
    }
}
