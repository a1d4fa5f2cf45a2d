//! Markings that help a person to read a hunk.

mod moved;
