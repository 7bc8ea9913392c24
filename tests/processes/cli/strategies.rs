//! The option `--strategy` (LT-13).

use super::{Place, text};

#[test]
fn a_job_is_given_a_strategy_and_it_is_told() {
    let place = Place::new();
    place.fine("migrate");
    place.fine("schedule --job cache.drop --type drop --trigger cache.hourly --every 1h --strategy broadcast");
    assert_eq!(text(&place.json("job show cache.drop")["policy"], "strategy"), "broadcast");
    assert!(place.fine("explain cache.hourly").contains("each tick runs on every node that may run the job"));
    let refused = ["job", "add", "cache.alone", "--type", "drop", "--strategy", "sharded", "--non-concurrent"];
    assert!(place.run(&refused).code != 0, "a job that runs alone is not shared");
    place.fine("schedule --job cache.near --type drop --trigger cache.daily --every 1d --strategy least-loaded");
    assert_eq!(text(&place.json("job show cache.near")["policy"], "strategy"), "least-loaded");
    assert!(place.fine("explain cache.daily").contains("the nodes that the strategy `least-loaded` chooses"));
    let refused = place.run(&["job", "add", "cache.far", "--type", "drop", "--strategy", "a b"]);
    assert!(refused.code != 0, "no strategy can have that name");
}
