//! The middle of some measurements: one disturbed round does not move it.

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::median;

    fn check(values: &[f64], expect: f64) {
        assert!((median(values.to_vec()) - expect).abs() < f64::EPSILON, "{values:?}");
    }

    #[test]
    fn the_middle_is_taken() {
        check(&[3.0, 1.0, 900.0], 3.0);
        check(&[4.0, 1.0, 2.0, 3.0], 2.5);
        check(&[], 0.0);
    }
}
