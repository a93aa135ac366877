//! What goes with a client's message: pictures are shown to the model, text is read to it, and files and folders are
//! named, since the agent can look at them itself.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::Image;
use rpc::ErrorObject;
use serde_json::Value;

/// Most bytes of an attached text.
const TEXT: usize = 256 * 1024;

/// Everything that goes with one message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attachments {
    /// What follows the client's own words.
    pub(super) text: String,
    pub(super) images: Vec<Image>,
}

impl Attachments {
    /// Reads `attachments`. What a model cannot be given is refused: it would fail this turn and all that follow.
    pub(super) async fn read(given: &Value) -> Result<Attachments, ErrorObject> {
        if given.as_array().is_none_or(Vec::is_empty) {
            return Ok(Attachments::default());
        }
        let given = given.clone();
        // Pictures are read from disk.
        tokio::task::spawn_blocking(move || Attachments::gather(&given)).await.map_err(ErrorObject::internal)?
    }

    fn gather(given: &Value) -> Result<Attachments, ErrorObject> {
        let mut all = Attachments::default();
        for one in given.as_array().into_iter().flatten() {
            all.add(one).map_err(|why| ErrorObject::bad_params(format!("attachment {}: {why}", name(one))))?;
        }
        if all.images.len() > Image::MAX_PER_MESSAGE {
            return Err(ErrorObject::bad_params(format!("more than {} pictures are attached", Image::MAX_PER_MESSAGE)));
        }
        Ok(all)
    }

    fn add(&mut self, given: &Value) -> Result<(), String> {
        let text = |name: &str| given[name].as_str().unwrap_or_default();
        match text("type") {
            "blob" => self.add_blob(given)?,
            "selection" => self.add_text("Selected in", &format!("{}:\n{}", text("filePath"), text("text"))),
            "directory" => self.add_text("Attached folder:", text("path")),
            "file" => {
                self.add_text("Attached file:", text("path"));
                self.images.extend(picture(Path::new(text("path"))));
            }
            "" => return Err("it has no `type`".to_owned()),
            // Others are references with a few words about them.
            _other => self.add_text("Attached:", &given.to_string()),
        }
        Ok(())
    }

    fn add_blob(&mut self, given: &Value) -> Result<(), String> {
        let bytes = STANDARD.decode(given["data"].as_str().unwrap_or_default().trim());
        let bytes = bytes.map_err(|_| "its `data` is not base64".to_owned())?;
        if let Some(media) = Image::detect_media_type(&bytes) {
            if bytes.len() > Image::MAX_BYTES {
                return Err(format!("it is larger than {} bytes", Image::MAX_BYTES));
            }
            self.images.push(Image { media: media.to_owned(), data: STANDARD.encode(&bytes) });
            return Ok(());
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.len() > TEXT => Err(format!("it is larger than {TEXT} bytes")),
            Ok(text) => {
                self.add_text("Attached", &format!("{}:\n{text}", name(given)));
                Ok(())
            }
            Err(_) => Err("it is neither a PNG, JPEG, GIF or WebP picture nor text".to_owned()),
        }
    }

    fn add_text(&mut self, what: &str, which: &str) {
        self.text.push_str(&format!("\n\n{what} {which}"));
    }
}

/// What a client calls an attachment.
fn name(given: &Value) -> &str {
    ["displayName", "path", "filePath", "mimeType", "type"]
        .iter()
        .find_map(|name| given[*name].as_str().filter(|text| !text.is_empty()))
        .unwrap_or("without a name")
}

/// The picture in a file, if it is one that models take.
fn picture(path: &Path) -> Option<Image> {
    // Whoever opens a pipe waits for its other end.
    if !path.is_absolute() || !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(Image::MAX_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    let media = Image::detect_media_type(&bytes).filter(|_| bytes.len() <= Image::MAX_BYTES)?;
    Some(Image { media: media.to_owned(), data: STANDARD.encode(&bytes) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blob(bytes: &[u8], media: &str) -> Value {
        json!([{ "type": "blob", "data": STANDARD.encode(bytes), "mimeType": media, "displayName": "it" }])
    }

    #[test]
    fn pictures_are_shown_and_texts_are_read_out() {
        let shown = Attachments::gather(&blob(b"GIF89a...", "image/png")).unwrap();
        assert_eq!(shown.images, [Image { media: "image/gif".into(), data: STANDARD.encode(b"GIF89a...") }]);
        let read = Attachments::gather(&blob("größe\n".as_bytes(), "text/plain")).unwrap();
        assert_eq!((read.text.as_str(), read.images.len()), ("\n\nAttached it:\ngröße\n", 0));
    }

    #[test]
    fn what_no_model_takes_is_refused_and_not_kept() {
        let refused = |given: Value| Attachments::gather(&given).unwrap_err().message;
        assert!(refused(blob(b"%PDF-1.7\xff\xfe", "application/pdf")).contains("attachment it: it is neither"));
        assert!(refused(json!([{ "type": "blob", "data": "no base64!" }])).contains("not base64"));
        assert!(refused(json!([{ "path": "/x" }])).contains("no `type`"));
        assert!(refused(blob(&vec![b'x'; TEXT + 1], "text/plain")).contains("larger than"));
        let many: Vec<Value> = (0..=Image::MAX_PER_MESSAGE).map(|_| blob(b"GIF89a", "image/gif")[0].clone()).collect();
        assert!(refused(many.into()).contains("more than"));
    }

    #[test]
    fn a_file_is_named_and_a_picture_is_shown_too() {
        let folder = tempfile::tempdir().unwrap();
        let (picture, text) = (folder.path().join("a.png"), folder.path().join("b.txt"));
        fs::write(&picture, b"\x89PNG\r\n\x1a\n...").unwrap();
        fs::write(&text, b"words").unwrap();
        let given = json!([{ "type": "file", "path": picture }, { "type": "file", "path": text },
            { "type": "file", "path": "/no/such/file" }, { "type": "directory", "path": "/f" }]);
        let Attachments { text: words, images } = Attachments::gather(&given).unwrap();
        assert_eq!(images.len(), 1);
        let wanted = format!(
            "\n\nAttached file: {}\n\nAttached file: {}\n\nAttached file: /no/such/file\n\nAttached folder: /f",
            picture.display(),
            text.display()
        );
        assert_eq!(words, wanted);
    }
}
