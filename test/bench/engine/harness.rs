//! Measuring in turns, and printing the results.

use std::time::{Duration, Instant};

/// Length of the texts where only the time counts, in bytes.
pub const LONG: usize = 10_000_000;

/// The longest that one call may take on such a text.
pub const LIMIT: Duration = Duration::from_millis(500);

/// How thoroughly to measure.
pub struct Bench {
    pub is_quick: bool,
    n_rounds: usize,
}

/// Something to measure: makes its input and returns how long the work on it took.
pub type Work<'a> = &'a mut dyn FnMut() -> Duration;

/// The highest ratio that a row may have, if there is one.
pub type Target = Option<f64>;

impl Bench {
    pub fn new(is_quick: bool) -> Bench {
        let n_rounds = if is_quick { 5 } else { 11 };
        Bench { is_quick, n_rounds }
    }

    /// Runs `works` in turns, and returns the median time of each. Starts no round after ten
    /// seconds.
    pub fn medians<const N: usize>(&self, mut works: [Work<'_>; N]) -> [Duration; N] {
        let start = Instant::now();
        let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
        for round in 0..self.n_rounds {
            if round > 0 && start.elapsed() > Duration::from_secs(10) {
                break;
            }
            for (work, times) in works.iter_mut().zip(&mut times) {
                times.push(work());
            }
        }
        times.map(median)
    }
}

/// Returns the median of three times of `work`.
pub fn median_of_three(work: impl FnMut() -> Duration) -> Duration {
    median(std::iter::repeat_with(work).take(3).collect())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Returns how long `work` takes on what `make` returns. Neither making nor dropping is measured.
pub fn timed<T, R>(make: impl FnOnce() -> T, work: impl FnOnce(T) -> R) -> Duration {
    let made = make();
    let start = Instant::now();
    let result = std::hint::black_box(work(made));
    let elapsed = start.elapsed();
    drop(result);
    elapsed
}

/// Prints a row whose peer is [`LIMIT`].
pub fn limit_row(name: &str, ours: Duration) {
    time_row(&format!("{name} : half a second"), ours, LIMIT, Some(1.0));
}

/// Prints a row of times.
pub fn time_row(name: &str, ours: Duration, peer: Duration, target: Target) {
    let ratio = ours.as_secs_f64() / peer.as_secs_f64().max(f64::MIN_POSITIVE);
    row(name, &shown(ours), &shown(peer), ratio, target);
}

/// Prints a row of counts.
pub fn count_row(name: &str, ours: usize, peer: usize, unit: &str, target: Target) {
    let ratio = ours as f64 / peer.max(1) as f64;
    row(
        name,
        &format!("{ours} {unit}"),
        &format!("{peer} {unit}"),
        ratio,
        target,
    );
}

fn row(name: &str, ours: &str, peer: &str, ratio: f64, target: Target) {
    let (target, verdict) = match target {
        Some(most) if ratio <= most => (format!("<= {most}"), "ok"),
        Some(most) => (format!("<= {most}"), "MISS"),
        None => ("-".to_owned(), "-"),
    };
    let ratio = if ratio < 0.1 {
        format!("{ratio:.3}")
    } else {
        format!("{ratio:.2}")
    };
    println!("ROW\t{name}\t{ours}\t{peer}\t{ratio}\t{target}\t{verdict}");
}

fn shown(time: Duration) -> String {
    match time.as_secs_f64() * 1e3 {
        ms if ms < 0.1 => format!("{:.1} µs", ms * 1e3),
        ms if ms < 10.0 => format!("{ms:.2} ms"),
        ms => format!("{ms:.0} ms"),
    }
}
