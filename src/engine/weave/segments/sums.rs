//! Prefix sums over a list of changing numbers: a Fenwick tree (Fenwick 1994).

/// The list. Changing one of n numbers, or summing those before it, takes O(log n) time.
#[derive(Debug, Clone, Default)]
pub(super) struct Sums {
    /// At index `i`, counted from 1, the sum of the last `k` numbers up to the `i`th, where `k` is
    /// the lowest set bit of `i`.
    tree: Vec<isize>,
}

impl Sums {
    pub fn new(numbers: impl Iterator<Item = isize>) -> Sums {
        let mut tree: Vec<isize> = std::iter::once(0).chain(numbers).collect();
        for at in 1..tree.len() {
            let next = at + (at & at.wrapping_neg());
            if next < tree.len() {
                tree[next] += tree[at];
            }
        }
        Sums { tree }
    }

    /// Adds `by` to the number at index `at`.
    pub fn add(&mut self, at: usize, by: isize) {
        let mut at = at + 1;
        while at < self.tree.len() {
            self.tree[at] += by;
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the sum of the first `n` numbers.
    pub fn before(&self, n: usize) -> isize {
        let (mut at, mut sum) = (n, 0);
        while at > 0 {
            sum += self.tree[at];
            at &= at - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_follow_the_numbers() {
        let mut numbers: Vec<isize> = (0..37).map(|at| at * at % 11 - 4).collect();
        let mut sums = Sums::new(numbers.iter().copied());
        for at in [0, 36, 17, 17, 8] {
            sums.add(at, 5);
            numbers[at] += 5;
            for n in 0..=numbers.len() {
                assert_eq!(sums.before(n), numbers[..n].iter().sum::<isize>());
            }
        }
    }
}
