//! A file's bytes as text, and back.

use super::InputError;

const UTF_8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF_16_LE_BOM: &[u8] = b"\xff\xfe";

/// Number of bytes at the beginning of a file among which a NUL tells that it is binary.
const MAX_BYTES_LOOKED_AT: usize = 8192;

/// How a file's text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8.
    Utf8,
    /// UTF-8 after a byte order mark.
    Utf8WithBom,
    /// UTF-16, little end first, after a byte order mark.
    Utf16Le,
}

/// The text of a file, without its byte order mark, and how it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// The text, with the line ends that the file has.
    pub text: String,
    /// How it is written.
    pub encoding: Encoding,
}

impl FileText {
    /// Returns the text of a new file.
    pub fn new(text: String) -> Self {
        let encoding = Encoding::Utf8;
        Self { text, encoding }
    }

    /// Decodes `bytes`, those of a file.
    ///
    /// # Errors
    ///
    /// [`InputError::NotUtf8`] if they are text in another encoding, or no text.
    pub fn read(bytes: &[u8]) -> Result<Self, InputError> {
        if let Some(rest) = bytes.strip_prefix(UTF_16_LE_BOM) {
            let (units, odd) = rest.as_chunks::<2>();
            let units = units.iter().map(|&unit| u16::from_le_bytes(unit));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            return match text {
                Ok(text) if odd.is_empty() => Ok(Self {
                    text,
                    encoding: Encoding::Utf16Le,
                }),
                _ => Err(InputError::NotUtf8),
            };
        }
        if bytes
            .iter()
            .take(MAX_BYTES_LOOKED_AT)
            .any(|&byte| byte == 0)
        {
            return Err(InputError::NotUtf8);
        }
        let (rest, encoding) = match bytes.strip_prefix(UTF_8_BOM) {
            Some(rest) => (rest, Encoding::Utf8WithBom),
            None => (bytes, Encoding::Utf8),
        };
        let text = std::str::from_utf8(rest).map_err(|_| InputError::NotUtf8)?;
        Ok(Self {
            text: text.to_owned(),
            encoding,
        })
    }

    /// Returns `text`, written in the encoding of this file.
    pub fn with_text(&self, text: String) -> Self {
        let encoding = self.encoding;
        Self { text, encoding }
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        match self.encoding {
            Encoding::Utf8 => self.text.clone().into_bytes(),
            Encoding::Utf8WithBom => [UTF_8_BOM, self.text.as_bytes()].concat(),
            Encoding::Utf16Le => {
                let units = self.text.encode_utf16().flat_map(u16::to_le_bytes);
                UTF_16_LE_BOM.iter().copied().chain(units).collect()
            }
        }
    }
}
