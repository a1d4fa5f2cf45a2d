//! What of a project its user has reviewed, and what is pending.
//!
//! For each path there are three texts: *reviewed*, what the user has seen and accepted, or written;
//! *working*, what the file holds; and *committed*, what it has in git's HEAD. What is pending is the
//! difference from reviewed to working. There is no list of decisions beside it that could disagree
//! with the files.
//!
//! Reviewed is kept as a base commit and, only for paths where it differs from that, the text that
//! was reviewed ([`Ledger`]). It lies beside the repository's own data, which is only read: no ref,
//! index, stash, hook or object of it changes.

mod carry;
mod ledger;
mod version;

pub use ledger::{Ledger, Moves, Pending, Record, World};
pub use version::{Digest, Version};
