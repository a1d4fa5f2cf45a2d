//! What of a project its user has reviewed, and what is pending.
//!
//! For each path there are three texts: *reviewed*, what the user has seen and accepted, or written;
//! *working*, what the file holds; and *committed*, what it has in git's HEAD. What is pending is the
//! difference from reviewed to working. There is no list of decisions beside it that could disagree
//! with the files.
//!
//! - [`Ledger`]: reviewed, as a base commit and the texts that differ from it, and the rules by which
//!   that changes
//! - [`authors`]: who wrote what is pending: the user, the agent of a turn, or another program
//! - [`rounds`]: what the user says to agents about their changes, and what they answer
//! - [`carry`]: how changes of one text are carried over to another
//! - [`commits`]: what is reviewed once the user has committed it
//! - [`Project`]: a working tree on disk, with its ledger in a folder beside the repository's own data,
//!   which is only read: no ref, stash, hook or object of it changes, and its index only when the user
//!   stages what was decided. A folder without git is one, too, if the user says so; then there is no
//!   committed text, and the ledger is among the user's own data

mod after;
pub mod authors;
pub mod carry;
pub mod commits;
mod decided;
mod disk;
pub mod file;
mod git;
mod ledger;
mod moved;
mod plain;
mod project;
mod renames;
pub mod rounds;
mod stage;
mod store;
mod tree;
mod version;
mod words;

pub use after::folder_of;
pub use authors::Written;
pub use decided::{Decided, Held, Note};
pub use git::GitError;
pub use ledger::{HunkNote, Ledger, Moves, Pending, Record, Seen, Staged, TakenOut, Turn, World};
pub use plain::projects_folder;
pub use project::{LeftOut, Lines, Look, Placed, Project, ProjectError, Question, Refused, Since};
pub use renames::Rename;
pub use store::StoreError;
pub use version::{Digest, Version};
