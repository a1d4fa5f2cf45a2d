//! What a path holds at some time: nothing, a file, a symbolic link, or a submodule.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
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
        let value = |digit: u8| match digit {
            b'0'..=b'9' => digit - b'0',
            _ => (digit | 0x20) - b'a' + 10,
        };
        let mut digest = [0; 32];
        for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = value(pair[0]) << 4 | value(pair[1]);
        }
        Some(Digest(digest))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(self.0) {
            pair[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
            pair[1] = b"0123456789abcdef"[usize::from(byte & 15)];
        }
        to.write_str(std::str::from_utf8(&digits).expect("digits are ASCII"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", &self.to_string()[..8])
    }
}

/// What a path holds. The bytes of a link are the path that it leads to, those of a submodule the name of its
/// commit.
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
    /// A repository of its own, at a commit.
    Submodule {
        /// The name of the commit.
        digest: Digest,
    },
}

impl Version {
    /// Returns the digest of the bytes, if there are any.
    pub fn digest(self) -> Option<Digest> {
        match self {
            Version::Absent => None,
            Version::File { digest, .. }
            | Version::Link { digest }
            | Version::Submodule { digest } => Some(digest),
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
            Version::Submodule { .. } => 0o160_000,
        }
    }

    /// Returns whether it is a submodule.
    pub fn is_submodule(self) -> bool {
        matches!(self, Version::Submodule { .. })
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
            0o160_000 => Version::Submodule { digest },
            _ => return None,
        })
    }
}

/// Its mode in octal, a colon, and the digest of its bytes; or `0` for nothing.
impl fmt::Display for Version {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digest() {
            None => to.write_str("0"),
            Some(digest) => write!(to, "{:o}:{digest}", self.mode()),
        }
    }
}

impl Version {
    /// Reads a version as its `Display` writes it.
    pub fn parse(text: &str) -> Option<Version> {
        if text == "0" {
            return Some(Version::Absent);
        }
        let (mode, digest) = text.split_once(':')?;
        Version::with_mode(u32::from_str_radix(mode, 8).ok()?, Digest::parse(digest)?)
    }
}

/// Reads a string by a function that returns `None` of what it does not understand.
pub(crate) struct Word<T>(pub fn(&str) -> Option<T>);

impl<T> Visitor<'_> for Word<T> {
    type Value = T;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a word that means something here")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.0)(text).ok_or_else(|| E::custom("this word means nothing here"))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Digest, D::Error> {
        from.deserialize_str(Word(Digest::parse))
    }
}

/// As its `Display`, or, for Lisp, as the pair of its mode and its digest.
impl Serialize for Version {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !to.is_human_readable() {
            return (self.mode(), self.digest()).serialize(to);
        }
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Version, D::Error> {
        if !from.is_human_readable() {
            let (mode, digest) = <(u32, Option<Digest>)>::deserialize(from)?;
            let version = digest.map_or(Some(Version::Absent), |it| Version::with_mode(mode, it));
            return version.ok_or_else(|| Error::custom("git has no such mode"));
        }
        from.deserialize_str(Word(Version::parse))
    }
}
