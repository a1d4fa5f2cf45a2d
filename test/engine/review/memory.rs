//! How much memory a review takes, in proportion to its texts.

// `GlobalAlloc` is an unsafe trait.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use agent_q_diff_engine::proposal::Proposal;
use agent_q_diff_engine::review::Review;

/// The system's allocator, which counts the allocated bytes in [`HELD`].
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns `n_lines` lines of `len` bytes. With a `step`, every `step`th one is changed.
fn text(n_lines: usize, len: usize, step: Option<usize>) -> Vec<u8> {
    let line = |at: usize| match step {
        Some(step) if at % step == step / 2 => format!("{:x>width$}\n", "", width = len - 1),
        _ => format!("{:0width$}\n", at % 10, width = len - 1),
    };
    let lines: Vec<String> = (0..n_lines).map(line).collect();
    // Without spare capacity, like a text from Emacs.
    lines.concat().into_bytes()
}

/// Returns how much memory a review and its texts take, in percent of the texts, which have lines of
/// `len` bytes, every `step`th one changed.
fn held(n_lines: usize, len: usize, step: usize) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    let texts = [None, Some(step)].map(|step| text(n_lines, len, step));
    let [original, modified] = texts;
    let n_bytes = original.len() + modified.len();
    let review = Review::new(Proposal::from_texts(original, modified, 3).unwrap());
    let held = HELD.load(Ordering::Relaxed) - before;
    drop(review);
    100 * held / n_bytes
}

#[test]
fn a_review_holds_at_most_two_and_a_half_times_its_texts_and_little_for_each_edit() {
    // A single test, so that no memory of another one is counted.
    for (n_lines, len, step, most) in [
        (250_000, 40, 250_000, 250),
        (250_000, 40, 25, 250),
        (250_000, 40, 10, 250),
        (250_000, 40, 2, 250),
        (1_000_000, 4, 1_000, 250),
        // Where a line begins takes four bytes, twice as many as such a line.
        (1_000_000, 2, 1_000, 310),
    ] {
        let held = held(n_lines, len, step);
        assert!(
            held <= most,
            "{n_lines} lines of {len} bytes, one in {step}: {held} %"
        );
    }
    for step in [1_000, 2] {
        let [original, modified] = [None, Some(step)].map(|step| text(100_000, 40, step));
        let live = original.clone();
        let mut review = Review::new(Proposal::from_texts(original, modified, 3).unwrap());
        review.follow(&live);
        let held = held_by_missed_edits(&mut review, live);
        assert!(held <= 10, "100 missed edits, one in {step}: {held} %");
    }
}

/// Changes one line of the target `live` 100 times without reporting it to `review`, and returns
/// how much memory the review takes for that, in percent of the text.
fn held_by_missed_edits(review: &mut Review, mut live: Vec<u8>) -> usize {
    let n_bytes = live.len();
    let at = live.len() / 2;
    let mut before = 0;
    for n in 0..=100 {
        live[at] = b'a' + (n % 26) as u8;
        assert!(review.follow(&live));
        if n == 0 {
            // What is computed once from the texts does not count.
            before = HELD.load(Ordering::Relaxed);
        }
    }
    100 * (HELD.load(Ordering::Relaxed) - before) / n_bytes
}
