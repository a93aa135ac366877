//! Pictures that go with a prompt.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::Image;

use crate::failure::Failure;

/// Most bytes of one picture: what every provider takes.
const MAX: u64 = 5_000_000;

/// Most pictures of one prompt.
const MOST: usize = 10;

/// Reads the pictures.
pub(super) fn read(files: &[PathBuf]) -> Result<Vec<Image>, Failure> {
    if files.len() > MOST {
        return Err(Failure::usage(format!("{} pictures are too many; {MOST} go with a prompt", files.len())));
    }
    files.iter().map(|file| picture(file)).collect()
}

fn picture(path: &Path) -> Result<Image, Failure> {
    let shown = path.display();
    let unreadable = |error| Failure::usage(format!("cannot read the picture {shown}: {error}"));
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(MAX + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > MAX {
        return Err(Failure::usage(format!("the picture {shown} is larger than {MAX} bytes")).hint("make it smaller"));
    }
    let media = media(&bytes).ok_or_else(|| {
        Failure::usage(format!("{shown} is not a picture that models take"))
            .hint("convert it to PNG, JPEG, GIF or WebP")
    })?;
    Ok(Image { media: media.into(), data: STANDARD.encode(&bytes) })
}

/// What a picture is, by how it begins; its name may lie.
fn media(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_known_by_how_it_begins() {
        let known: [(&[u8], &str); 4] = [
            (b"\x89PNG\r\n\x1a\n...", "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpeg"),
            (b"GIF89a", "image/gif"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        ];
        assert!(known.iter().all(|(bytes, kind)| media(bytes) == Some(*kind)));
        let others: [&[u8]; 4] = [b"", b"<svg>", b"RIFF\0\0\0\0WAVE", b"\x89PNG"];
        assert!(others.iter().all(|bytes| media(bytes).is_none()));
    }
}
