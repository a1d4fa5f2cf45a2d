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
//! - [`history`]: what agents proposed and what became of it, across projects
//! - [`Project`]: a working tree on disk, with its ledger in a folder beside the repository's own data,
//!   which is only read: no ref, stash, hook or object of it changes, and its index only when the user
//!   stages what was decided. A folder without git is one, too, if the user says so; then there is no
//!   committed text, and the ledger is among the user's own data

// Each module uses only those above it.
mod version;

mod path;

pub mod file;

mod files;

pub mod left_out;

pub mod authors;

pub mod carry;

mod world;

pub mod commits;

pub mod rounds;

mod replies;

mod programs;

mod processes;

mod transcript;

mod record;

mod undone;

mod ledger;

mod renames;

mod store;

mod git;

mod error;

mod plain;

mod tree;

mod moved;

mod stage;

mod hidden;

mod disk;

mod project;

mod decided;

pub mod round;

mod after;

pub mod history;

pub use after::folder_of;
pub use authors::Written;
pub use decided::{Decided, Held, Note};
pub use disk::Look;
pub use error::ProjectError;
pub use git::{GitError, safe_environment};
pub use ledger::{Ledger, Moves, Pending};
pub use left_out::{LeftOut, Submodule, Why};
pub use plain::projects_folder;
pub use programs::{Known, Programs};
pub use project::{Lines, Placed, Project, Question, Since};
pub use record::{HunkNote, Record, Seen, Staged, TakenOut, Turn};
pub use renames::Rename;
pub use replies::answers_in;
pub use store::{StoreError, now, read_text};
pub use transcript::Transcript;
pub use tree::{git_top, recorded_root, tree_root};
pub use version::{Digest, Version};
pub use world::{Step, World};
