//! What several suites share: random texts, a target to try commands on, models, other tools.

pub mod compared;
pub mod desk;
pub mod dice;
pub mod families;
pub mod model;
pub mod pairs;
pub mod past;
pub mod texts;
pub mod tools;

/// Returns how many random cases a test tries: `default`, or as many as the environment variable
/// `AGENT_Q_DIFF_CASES` says.
pub fn n_cases(default: u32) -> u32 {
    let from_env = std::env::var("AGENT_Q_DIFF_CASES");
    from_env.map_or(default, |n| {
        n.parse().expect("AGENT_Q_DIFF_CASES: a number")
    })
}
