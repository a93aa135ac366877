//! Attachments of a client's message: images and text are sent to the model; files and folders are only named, because
//! the agent can read them itself.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use protocol::Image;
use rpc::ErrorObject;
use serde_json::Value;

/// Maximum bytes of an attached text.
const MAX_TEXT_BYTES: usize = 256 * 1024;

/// The attachments of one message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attachments {
    /// Text that follows the client's prompt.
    pub(super) text: String,
    pub(super) images: Vec<Image>,
}

impl Attachments {
    /// Reads `attachments`. Content that models do not accept is refused: it would fail this turn and all later ones.
    pub(super) async fn read(input: &Value) -> Result<Attachments, ErrorObject> {
        if input.as_array().is_none_or(Vec::is_empty) {
            return Ok(Attachments::default());
        }
        let input = input.clone();
        // Images are read from disk.
        tokio::task::spawn_blocking(move || Attachments::read_all(&input)).await.map_err(ErrorObject::internal)?
    }

    fn read_all(input: &Value) -> Result<Attachments, ErrorObject> {
        let mut attachments = Attachments::default();
        for attachment in input.as_array().into_iter().flatten() {
            attachments
                .add(attachment)
                .map_err(|why| ErrorObject::bad_params(format!("attachment {}: {why}", attachment_name(attachment))))?;
        }
        if attachments.images.len() > Image::MAX_PER_MESSAGE {
            return Err(ErrorObject::bad_params(format!("more than {} images are attached", Image::MAX_PER_MESSAGE)));
        }
        Ok(attachments)
    }

    fn add(&mut self, attachment: &Value) -> Result<(), String> {
        let text = |name: &str| attachment[name].as_str().unwrap_or_default();
        match text("type") {
            "blob" => self.add_blob(attachment)?,
            "selection" => self.add_text("Selected in", &format!("{}:\n{}", text("filePath"), text("text"))),
            "directory" => self.add_text("Attached folder:", text("path")),
            "file" => {
                self.add_text("Attached file:", text("path"));
                self.images.extend(read_image(Path::new(text("path"))));
            }
            "" => return Err("it has no `type`".to_owned()),
            // Other attachments are references with a short description.
            _other => self.add_text("Attached:", &attachment.to_string()),
        }
        Ok(())
    }

    fn add_blob(&mut self, attachment: &Value) -> Result<(), String> {
        let bytes = STANDARD.decode(attachment["data"].as_str().unwrap_or_default().trim());
        let bytes = bytes.map_err(|_| "its `data` is not base64".to_owned())?;
        if let Some(media) = Image::detect_media_type(&bytes) {
            if bytes.len() > Image::MAX_BYTES {
                return Err(format!("it is larger than {} bytes", Image::MAX_BYTES));
            }
            self.images.push(Image { media: media.to_owned(), data: STANDARD.encode(&bytes) });
            return Ok(());
        }
        match String::from_utf8(bytes) {
            Ok(text) if text.len() > MAX_TEXT_BYTES => Err(format!("it is larger than {MAX_TEXT_BYTES} bytes")),
            Ok(text) => {
                self.add_text("Attached", &format!("{}:\n{text}", attachment_name(attachment)));
                Ok(())
            }
            Err(_) => Err("it is neither a PNG, JPEG, GIF or WebP image nor text".to_owned()),
        }
    }

    fn add_text(&mut self, label: &str, content: &str) {
        self.text.push_str(&format!("\n\n{label} {content}"));
    }
}

/// The attachments of a message, as clients see them in its event: without data.
pub(super) fn shown_attachments(input: &Value) -> Vec<Value> {
    let without_data = |attachment: &Value| match attachment {
        Value::Object(fields) => {
            let shown = fields.iter().filter(|(name, _)| *name != "data");
            Value::Object(shown.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    };
    input.as_array().into_iter().flatten().map(without_data).collect()
}

/// The name of an attachment.
fn attachment_name(attachment: &Value) -> &str {
    ["displayName", "path", "filePath", "mimeType", "type"]
        .iter()
        .find_map(|name| attachment[*name].as_str().filter(|text| !text.is_empty()))
        .unwrap_or("without a name")
}

/// The image in a file, if models accept it.
fn read_image(path: &Path) -> Option<Image> {
    // Opening a pipe would block until its other end is opened.
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
    fn images_and_texts_are_read() {
        let with_image = Attachments::read_all(&blob(b"GIF89a...", "image/png")).unwrap();
        assert_eq!(with_image.images, [Image { media: "image/gif".into(), data: STANDARD.encode(b"GIF89a...") }]);
        let with_text = Attachments::read_all(&blob("größe\n".as_bytes(), "text/plain")).unwrap();
        assert_eq!((with_text.text.as_str(), with_text.images.len()), ("\n\nAttached it:\ngröße\n", 0));
    }

    #[test]
    fn unsupported_attachments_are_refused() {
        let refused = |attachments: Value| Attachments::read_all(&attachments).unwrap_err().message;
        assert!(refused(blob(b"%PDF-1.7\xff\xfe", "application/pdf")).contains("attachment it: it is neither"));
        assert!(refused(json!([{ "type": "blob", "data": "no base64!" }])).contains("not base64"));
        assert!(refused(json!([{ "path": "/x" }])).contains("no `type`"));
        assert!(refused(blob(&vec![b'x'; MAX_TEXT_BYTES + 1], "text/plain")).contains("larger than"));
        let many: Vec<Value> = (0..=Image::MAX_PER_MESSAGE).map(|_| blob(b"GIF89a", "image/gif")[0].clone()).collect();
        assert!(refused(many.into()).contains("more than"));
    }

    #[test]
    fn files_are_named_and_images_are_attached() {
        let folder = tempfile::tempdir().unwrap();
        let (image, text) = (folder.path().join("a.png"), folder.path().join("b.txt"));
        fs::write(&image, b"\x89PNG\r\n\x1a\n...").unwrap();
        fs::write(&text, b"words").unwrap();
        let attachments = json!([{ "type": "file", "path": image }, { "type": "file", "path": text },
            { "type": "file", "path": "/no/such/file" }, { "type": "directory", "path": "/f" }]);
        let Attachments { text: attached, images } = Attachments::read_all(&attachments).unwrap();
        assert_eq!(images.len(), 1);
        let expected = format!(
            "\n\nAttached file: {}\n\nAttached file: {}\n\nAttached file: /no/such/file\n\nAttached folder: /f",
            image.display(),
            text.display()
        );
        assert_eq!(attached, expected);
    }
}
