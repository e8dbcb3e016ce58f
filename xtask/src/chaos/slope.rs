//! How fast a measured value grows: the slope of the straight line that fits best.

/// By least squares, of values over their times; none for fewer than two points.
pub(crate) fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (times, values): (f64, f64) =
        points.iter().fold((0.0, 0.0), |(times, values), (time, value)| (times + time, values + value));
    let (mean_time, mean_value) = (times / count, values / count);
    let (over, under) = points.iter().fold((0.0, 0.0), |(over, under), (time, value)| {
        let away = time - mean_time;
        (over + away * (value - mean_value), under + away * away)
    });
    if under > 0.0 { over / under } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::slope;

    fn check(points: &[(f64, f64)], expect: f64) {
        assert!((slope(points) - expect).abs() < 1e-9, "{points:?}");
    }

    #[test]
    fn the_line_of_best_fit() {
        check(&[(0.0, 10.0), (1.0, 12.0), (2.0, 14.0)], 2.0);
        check(&[(0.0, 10.0), (1.0, 11.0), (2.0, 10.0)], 0.0);
        check(&[(5.0, 10.0)], 0.0);
        check(&[], 0.0);
    }
}
