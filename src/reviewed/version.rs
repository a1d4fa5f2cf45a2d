//! What a path holds at some time: nothing, a file, or a symbolic link.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, which names them in a store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(Sha256::digest(bytes).into())
    }

    /// Reads a digest as [`Digest`]'s `Display` writes it: 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Digest> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        let mut digest = [0; 32];
        for (at, byte) in digest.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Digest(digest))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        let digits: String = digits
            .map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)]))
            .collect();
        to.write_str(&digits)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", &self.to_string()[..8])
    }
}

/// What a path holds. The bytes of a link are the path that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// Nothing.
    Absent,
    /// A file.
    File {
        /// Its bytes.
        digest: Digest,
        /// Whether its owner may execute it.
        is_executable: bool,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        digest: Digest,
    },
}

impl Version {
    /// Returns the digest of the bytes, if there are any.
    pub fn digest(self) -> Option<Digest> {
        match self {
            Version::Absent => None,
            Version::File { digest, .. } | Version::Link { digest } => Some(digest),
        }
    }

    /// Returns the mode as git writes it, in octal; 0 if there is nothing.
    pub fn mode(self) -> u32 {
        match self {
            Version::Absent => 0,
            Version::File {
                is_executable: false,
                ..
            } => 0o100_644,
            Version::File {
                is_executable: true,
                ..
            } => 0o100_755,
            Version::Link { .. } => 0o120_000,
        }
    }

    /// Returns the version with this mode and these bytes; `None` if git has no such mode for what
    /// can be reviewed.
    pub fn with_mode(mode: u32, digest: Digest) -> Option<Version> {
        Some(match mode {
            0 => Version::Absent,
            0o100_644 | 0o100_664 => Version::File {
                digest,
                is_executable: false,
            },
            0o100_755 => Version::File {
                digest,
                is_executable: true,
            },
            0o120_000 => Version::Link { digest },
            _ => return None,
        })
    }
}
