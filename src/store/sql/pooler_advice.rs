//! Advice about a pooler before PostgreSQL that is in the way.

/// The thing to be done about a pooler, by the words of an error; none where no pooler is in the
/// way.
pub(super) fn pooler_advice(message: &str) -> Option<&'static str> {
    const BY_TRANSACTION: &str = "a pooler lends sessions by the transaction, and their prepared statements with them: set \
         carnelian.dataSource.pooler = transaction";
    const PARAMETER: &str = "a pooler refuses a parameter of the URL: leave it out and set it for the role, or have it \
         ignored, ignore_startup_parameters in PgBouncer";
    let says = |words: &str| message.contains(words);
    let has_lost = says("prepared statement \"__diesel_stmt_") && (says("already exists") || says("does not exist"));
    let is_refused = says("unsupported startup parameter");
    has_lost.then_some(BY_TRANSACTION).or(is_refused.then_some(PARAMETER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_in_the_way_is_named_with_what_is_to_be_done() {
        for (message, advice) in [
            ("prepared statement \"__diesel_stmt_1\" already exists", "carnelian.dataSource.pooler = transaction"),
            ("prepared statement \"__diesel_stmt_17\" does not exist", "carnelian.dataSource.pooler = transaction"),
            ("FATAL:  unsupported startup parameter: options", "ignore_startup_parameters"),
        ] {
            let said = pooler_advice(message);
            assert!(said.is_some_and(|said| said.contains(advice)), "{message}: {said:?}");
        }
        for message in ["relation \"qrtz_jobs\" does not exist", "prepared statement \"mine\" does not exist"] {
            assert_eq!(pooler_advice(message), None, "{message}");
        }
    }
}
