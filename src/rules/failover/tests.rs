//! Tests of failover: each look of an observer by hand.

use super::*;

const PEER: Suspect<'static> =
    Suspect { instance: "peer", last_checkin_ms: 100_000, interval_ms: 15_000, foreign: false };

fn observer(now_ms: i64, ticks_ms: u64, gap_ms: i64) -> Observer {
    slow(now_ms, ticks_ms, ticks_ms, gap_ms)
}

fn slow(now_ms: i64, asked_ms: u64, answered_ms: u64, gap_ms: i64) -> Observer {
    let (ticks, answered) = (Duration::from_millis(asked_ms), Duration::from_millis(answered_ms));
    Observer { now_ms, ticks, answered, gap_ms, tolerance_ms: 7500, has_several_clocks: false }
}

#[test]
fn a_node_is_dead_one_millisecond_after_its_window_and_not_before() {
    let mut seen = Observations::default();
    assert!(!seen.convicts(PEER, &observer(122_500, 0, 0)));
    assert!(seen.convicts(PEER, &observer(122_501, 0, 0)));
}

#[test]
fn an_observer_that_was_away_itself_forgives_as_much() {
    let mut seen = Observations::default();
    assert!(!seen.convicts(PEER, &observer(167_500, 0, 60_000)));
    assert!(seen.convicts(PEER, &observer(167_501, 0, 60_000)));
}

/// The store was away for a minute. The first node that is back looks again at once, and the
/// others, which try again a little later, are not dead for that.
#[test]
fn after_an_outage_each_peer_has_the_tolerance_to_come_back() {
    let mut seen = Observations::default();
    let back = observer(160_000, 60_000, 60_000);
    seen.note_answer(&back, true);
    assert!(!seen.convicts(PEER, &back));
    assert!(!seen.convicts(PEER, &observer(160_100, 60_100, 100)));
    let last = observer(167_499, 67_499, 100);
    assert_eq!((seen.grace("peer", &last), seen.convicts(PEER, &last)), (Duration::from_millis(1), false));
    assert!(seen.convicts(PEER, &observer(167_500, 67_500, 100)));
}

/// A look of the observer at its peer, at so many milliseconds; it may be the first after an
/// outage.
fn is_dead_at(seen: &mut Observations, ticks_ms: u64, ends_outage: bool) -> bool {
    let look = observer(160_000 + millis(Duration::from_millis(ticks_ms)), ticks_ms, 5_000);
    seen.note_answer(&look, ends_outage);
    seen.convicts(PEER, &look)
}

/// A check-in of its own that fails every five seconds is no excuse for ever.
#[test]
fn outages_without_an_end_put_off_a_verdict_once() {
    let mut seen = Observations::default();
    assert_eq!(
        (0..).position(|n| is_dead_at(&mut seen, 5_000 * n, true)),
        Some(4),
        "the fourth return after the first"
    );
}

/// The store is away for 18 of each 25 seconds: 7 seconds, less than the tolerance, are left to
/// come back in each time. A node that has died meanwhile is found in the second of them.
#[test]
fn outages_a_window_apart_do_not_put_off_a_verdict_each_time() {
    let mut seen = Observations::default();
    for (ticks_ms, ends_outage) in [(0, true), (2_500, false), (5_000, false), (25_000, true)] {
        assert!(!is_dead_at(&mut seen, ticks_ms, ends_outage), "{ticks_ms}");
    }
    assert!(is_dead_at(&mut seen, 27_500, false));
}

/// The peer was back after the first outage, and has written its row after the observer's look.
#[test]
fn a_check_in_of_before_an_outage_is_no_return_from_it() {
    let mut seen = Observations::default();
    assert!(!is_dead_at(&mut seen, 0, true));
    let written = Suspect { last_checkin_ms: 165_000, ..PEER };
    let (back, later) = (observer(182_500, 22_500, 22_500), observer(188_000, 28_000, 5_500));
    seen.note_answer(&back, true);
    assert!(!seen.convicts(written, &back));
    seen.note_answer(&later, false);
    assert!(!seen.convicts(written, &later), "5.5 s after the return");
}

/// A short outage ends while the peer is not due yet, and a long one begins before it is. The
/// peer has missed nothing between them, and has the whole tolerance after the second.
#[test]
fn who_was_not_due_between_two_outages_has_the_whole_tolerance() {
    let mut seen = Observations::default();
    for (now_ms, ticks_ms, gap_ms, ends_outage) in
        [(102_000, 2_000, 2_000, true), (111_000, 11_000, 9_000, false), (131_000, 31_000, 20_000, true)]
    {
        let look = observer(now_ms, ticks_ms, gap_ms);
        seen.note_answer(&look, ends_outage);
        assert!(!seen.convicts(PEER, &look), "{now_ms}");
    }
    let last = observer(138_499, 38_499, 7_499);
    seen.note_answer(&last, false);
    assert!(!seen.convicts(PEER, &last));
    assert!(seen.convicts(PEER, &observer(138_500, 38_500, 1)));
}

/// The store answers for a moment only, to one node, and is away again for ten seconds. The
/// others could not come back in that moment, and have most of the tolerance after the second.
#[test]
fn a_moment_between_two_outages_is_no_time_to_come_back() {
    let mut seen = Observations::default();
    assert!(!is_dead_at(&mut seen, 0, true));
    assert!(!is_dead_at(&mut seen, 10_000, true));
    assert!(!is_dead_at(&mut seen, 15_000, false), "5 of 7.5 seconds, and a quarter for the return");
    assert!(is_dead_at(&mut seen, 15_700, false));
}

/// H20: a restored backup or a bad clock left a check-in in the future; the node would be
/// "alive" for hours.
#[test]
fn a_check_in_from_the_future_is_judged_by_whether_it_changes() {
    let mut seen = Observations::default();
    let future = Suspect { last_checkin_ms: 10_000_000, ..PEER };
    assert!(!seen.convicts(future, &observer(100_000, 0, 0)));
    assert!(!seen.convicts(future, &observer(122_000, 22_000, 0)));
    assert!(seen.convicts(future, &observer(122_600, 22_501, 0)));
    assert!(!seen.convicts(Suspect { last_checkin_ms: 10_000_001, ..PEER }, &observer(122_700, 22_700, 0)));
}

/// A node of Quartz writes its own clock's time. A clock that is a minute behind makes the node
/// look dead with every check-in.
#[test]
fn a_node_of_quartz_whose_clock_is_behind_is_convicted_by_silence_only() {
    let mut seen = Observations::default();
    let java = |last_checkin_ms| Suspect { last_checkin_ms, interval_ms: 1000, foreign: true, ..PEER };
    assert!(!seen.convicts(java(40_000), &observer(100_000, 0, 0)));
    assert!(!seen.convicts(java(41_000), &observer(101_000, 1_000, 0)));
    assert_eq!(seen.skew_ms("peer"), -59_000, "it was written after 100 s of the store's time");
    assert!(!seen.convicts(java(41_000), &observer(109_500, 9_500, 0)));
    assert!(seen.convicts(java(41_000), &observer(109_501, 9_501, 0)));
    // A clock that is ahead does not make its node count as alive for longer.
    assert!(!seen.convicts(java(170_000), &observer(110_000, 10_000, 0)));
    assert_eq!(seen.skew_ms("peer"), 60_000);
    assert!(seen.convicts(java(170_000), &observer(119_000, 18_501, 0)));
}

/// A node that has not run since yesterday needs no watching.
#[test]
fn a_node_of_quartz_that_is_long_gone_is_convicted_at_first_sight() {
    let java = Suspect { foreign: true, ..PEER };
    let now_ms = PEER.last_checkin_ms + LARGEST_SKEW_MS;
    assert!(Observations::default().convicts(java, &observer(now_ms, 0, 0)));
    assert!(!Observations::default().convicts(java, &observer(now_ms - 1, 0, 0)));
}

/// The database's clock is set forward by an hour: every row looks an hour old, and nobody is
/// dead.
#[test]
fn a_jump_of_the_stores_clock_convicts_nobody() {
    let mut seen = Observations::default();
    seen.read_clock(&observer(100_000, 0, 0));
    let after = observer(3_715_000, 15_000, 15_000);
    seen.read_clock(&after);
    assert!(!seen.convicts(PEER, &after));
    // The peer goes on checking in; one that does not is convicted after a window of silence.
    let later = observer(3_738_000, 38_000, 15_000);
    seen.read_clock(&later);
    assert!(seen.convicts(PEER, &later));
    let alive = Suspect { last_checkin_ms: 3_730_000, ..PEER };
    assert!(!seen.convicts(alive, &later));
}

/// Answers that take between nothing and three seconds, in no order: the dead node's row is
/// judged as ever.
#[test]
fn slow_answers_are_no_jump() {
    let mut seen = Observations::default();
    let mut asked_ms = 0;
    for (turn, delay_ms) in [0, 3000, 100, 2900, 1500, 0, 2500, 50].into_iter().cycle().take(40).enumerate() {
        // The store's time is read at the beginning, in the middle or at the end.
        let read_ms = asked_ms + delay_ms * (turn as u64 % 3) / 2;
        let look = slow(100_000 + read_ms as i64, asked_ms, asked_ms + delay_ms, 0);
        seen.read_clock(&look);
        assert_eq!(seen.convicts(PEER, &look), look.now_ms > 122_500, "{look:?}");
        asked_ms += 3000;
    }
    assert_eq!(seen.jumped, None);
}

/// A jump that a slow answer hides is seen with the next quick one.
#[test]
fn a_jump_is_seen_as_soon_as_no_reading_explains_it() {
    let mut seen = Observations::default();
    seen.read_clock(&observer(100_000, 0, 0));
    seen.read_clock(&slow(104_900, 1_000, 5_000, 0));
    assert_eq!(seen.jumped, None, "it may be that the time was read at the end");
    seen.read_clock(&observer(108_900, 6_000, 0));
    assert_eq!(seen.jumped, Some(Duration::from_millis(6_000)));
    for second in 0..1000 {
        seen.read_clock(&observer(108_900 + second * 1001, 6_000 + 1000 * second as u64, 0));
    }
    assert_eq!(seen.jumped, Some(Duration::from_millis(6_000)), "a clock that is a little faster does not jump");
}

/// A peer that checks in once a minute is not convicted by a time that has jumped since.
#[test]
fn a_row_from_before_the_jump_is_judged_by_silence_however_long_its_interval_is() {
    let mut seen = Observations::default();
    let slow_peer = Suspect { interval_ms: 60_000, ..PEER };
    seen.read_clock(&observer(100_000, 0, 0));
    assert!(!seen.convicts(slow_peer, &observer(100_000, 0, 0)));
    for ticks_ms in [15_000, 30_000, 45_000, 60_000] {
        let look = observer(3_700_000 + ticks_ms as i64, ticks_ms, 15_000);
        seen.read_clock(&look);
        assert!(!seen.convicts(slow_peer, &look), "{ticks_ms}");
    }
    // Silence that was seen before the jump counts.
    assert!(seen.convicts(slow_peer, &observer(3_767_501, 67_501, 15_000)));
}

#[test]
fn a_namesake_is_judged_by_its_process_or_by_the_length_of_its_lease() {
    const PATIENCE: Duration = Duration::from_secs(6);
    let at = |ticks_ms: u64| observer(100_000 + ticks_ms as i64, ticks_ms, 0);
    let mut seen = Observations::default();
    assert_eq!(seen.judge_namesake(PEER, Some(true), PATIENCE, &at(0)), Namesake::Gone);
    assert_eq!(seen.judge_namesake(PEER, Some(false), PATIENCE, &at(0)), Namesake::Lives);
    assert_eq!(seen.judge_namesake(PEER, None, PATIENCE, &at(0)), Namesake::Doubtful(Duration::from_millis(21_000)));
    assert_eq!(seen.judge_namesake(PEER, None, PATIENCE, &at(20_999)), Namesake::Doubtful(Duration::from_millis(1)));
    let checked_in = Suspect { last_checkin_ms: 120_999, ..PEER };
    assert_eq!(seen.clone().judge_namesake(checked_in, None, PATIENCE, &at(21_000)), Namesake::Lives);
    assert_eq!(seen.judge_namesake(PEER, None, PATIENCE, &at(21_000)), Namesake::Gone);
    // A node that everybody takes for dead is gone at first sight, also if its process hangs.
    assert_eq!(Observations::default().judge_namesake(PEER, Some(false), PATIENCE, &at(22_501)), Namesake::Gone);
}
