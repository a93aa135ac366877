//! Images sent with a prompt.

use std::fs;

use protocol::{Event, MailBody};

use crate::fixture;
use crate::scripts::HELLO;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n and so on";

#[test]
fn image_is_sent_with_the_prompt() {
    let fixture = fixture();
    fs::write(fixture.path("a.png"), PNG).unwrap();
    fs::write(fixture.path("b.txt"), b"\xff\xd8\xff\xe0 and so on").unwrap();
    fixture.script(HELLO).prompt("look").args(["--image", "a.png", "--image", "b.txt"]).run().expect(0);
    let sent = fixture.log(&fixture.newest()).into_iter().find_map(|envelope| match envelope.entry.event {
        Event::MailAdmitted { body: MailBody::Text { text, images, .. }, .. } => Some((text, images)),
        _other => None,
    });
    let (text, images) = sent.unwrap();
    let media: Vec<&str> = images.iter().map(|image| image.media.as_str()).collect();
    assert_eq!((&*text, media), ("look", vec!["image/png", "image/jpeg"]));
    assert_eq!(images[0].data, "iVBORw0KGgogYW5kIHNvIG9u");
}

#[test]
fn invalid_image_is_refused_before_the_session_starts() {
    let fixture = fixture();
    fixture.script(HELLO);
    fs::write(fixture.path("a.svg"), "<svg/>").unwrap();
    fs::write(fixture.path("big.png"), [PNG, &vec![0; 5_000_000]].concat()).unwrap();
    let refused = |image: &str| fixture.prompt("look").args(["--image", image]).run().expect(2);
    refused("a.svg").says(&["a.svg is not an image format", "hint: convert it"]);
    refused("big.png").says(&["big.png is larger than 5000000 bytes"]);
    refused("missing.png").says(&["cannot read the image missing.png"]);
    refused(".").says(&["cannot read the image"]);
    let many: Vec<&str> = std::iter::repeat_n(["--image", "a.svg"], 11).flatten().collect();
    fixture.prompt("look").args(many).run().expect(2).says(&["11 images are too many"]);
    fixture.bosun(["--continue", "--image", "a.svg"]).run().expect(2).says(&["--prompt"]);
    assert!(fixture.sessions().is_empty());
}
