//! Lengths of time for people: two units at most.

/// The length of a number of milliseconds, such as `2 h 5 min`; of a negative number without its
/// sign.
pub fn span(ms: i64) -> String {
    let ms = ms.unsigned_abs();
    let (seconds, minutes, hours) = (ms / 1_000, ms / 60_000, ms / 3_600_000);
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1_000 / 100),
        60_000..3_600_000 => format!("{minutes} min {} s", seconds % 60),
        3_600_000..86_400_000 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// A moment before now, such as `2 h 5 min ago`.
pub fn ago(ms: i64, now_ms: i64) -> String {
    format!("{} ago", span(now_ms.saturating_sub(ms).max(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_two_parts_at_most() {
        let shown = [7, 1_250, 61_000, 3_700_000, 90_000_000, -1_250].map(span);
        assert_eq!(shown, ["7 ms", "1.2 s", "1 min 1 s", "1 h 1 min", "1 d 1 h", "1.2 s"]);
    }
}
