//! How a cost grows with the size of its input: the exponent that fits best, once costs are large enough to tell.

use crate::chaos::slope;

/// Growth of a larger exponent is more than linear. Sorting and growing tables are a little over one; twice the input at
/// four times the cost is two.
pub(super) const MOST_EXPONENT: f64 = 1.4;
/// How many points must lie above the noise.
const FEWEST: usize = 3;

/// What a series of measurements says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Growth {
    /// Too cheap to tell, at any size that was tried.
    Noise,
    /// The cost is proportional to the size to this power.
    Exponent(f64),
}

impl Growth {
    /// Of costs over sizes. Costs of less than `floor` are noise.
    pub(super) fn of(points: &[(usize, f64)], floor: f64) -> Self {
        let above: Vec<(f64, f64)> = points
            .iter()
            .filter(|(_, cost)| *cost >= floor)
            .map(|(size, cost)| ((*size as f64).ln(), cost.ln()))
            .collect();
        if above.len() < FEWEST { Self::Noise } else { Self::Exponent(slope(&above)) }
    }

    pub(super) fn is_linear(self) -> bool {
        match self {
            Self::Noise => true,
            Self::Exponent(exponent) => exponent <= MOST_EXPONENT,
        }
    }
}

impl std::fmt::Display for Growth {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Noise => formatter.pad("-"),
            Self::Exponent(exponent) => formatter.pad(&format!("{exponent:.2}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(costs: impl Fn(f64) -> f64, linear: bool) {
        let points: Vec<(usize, f64)> = [1_usize, 2, 4, 8].map(|size| (size, costs(size as f64))).to_vec();
        assert_eq!(Growth::of(&points, 1.0).is_linear(), linear, "{points:?}");
    }

    #[test]
    fn linear_growth_passes_and_quadratic_does_not() {
        check(|size| 10.0 * size, true);
        check(|size| 10.0 * size * size, false);
        check(|size| 10.0 * 2_f64.powf(size), false);
        check(|size| 10.0 * size + 3.0, true);
        check(|_| 50.0, true);
    }

    #[test]
    fn what_is_too_cheap_to_measure_says_nothing() {
        check(|size| 0.001 * size * size, true);
        assert_eq!(Growth::of(&[(1, 0.1), (2, 5.0), (4, 20.0)], 1.0), Growth::Noise);
    }
}
