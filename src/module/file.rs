//! Comparing a file with a proposal, without a buffer.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use emacs::{Env, Result, Value, defun};

use agent_q_diff_engine::text::Decoding;

use crate::error::catching_panics;
use crate::session::{Session, text_of};

/// Number of bytes of a file that are read at once.
const BLOCK_LEN: usize = 1 << 16;

/// Return whether FILE certainly shows the original of REVIEW when it is visited.
///
/// REVIEW was made from two texts; FILE is the encoded name of a local file.
/// Return t if the file has the bytes of the original, and these are lines of
/// UTF-8.  Return `may-declare' if they also have a word with which a coding
/// system can be declared.  Otherwise, or if FILE cannot be read, return nil.
#[defun]
fn file_has_original<'e>(env: &'e Env, session: &mut Session, file: Vec<u8>) -> Result<Value<'e>> {
    catching_panics(env, || {
        let review = text_of(env, session)?;
        let original = review.proposal().original();
        let name = std::str::from_utf8(&file);
        let is_same = name.is_ok_and(|name| has_bytes(Path::new(name), original).unwrap_or(false));
        let decoding = match is_same {
            true => Decoding::of(original),
            false => Decoding::Unknown,
        };
        env.intern(match decoding {
            Decoding::Plain => "t",
            Decoding::MayDeclare => "may-declare",
            Decoding::Unknown => "nil",
        })
    })
}

/// Returns whether the regular file `path` has just `bytes`, read block by block.
fn has_bytes(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let metadata = path.metadata()?;
    if !metadata.is_file() || metadata.len() != bytes.len() as u64 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK_LEN.min(bytes.len() + 1)];
    let mut rest = bytes;
    loop {
        let n_read = file.read(&mut block)?;
        if n_read == 0 {
            return Ok(rest.is_empty());
        }
        match rest.strip_prefix(&block[..n_read]) {
            Some(behind) => rest = behind,
            None => return Ok(false),
        }
    }
}
