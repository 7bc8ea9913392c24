//! Diesel's migration harness, over tables whose prefix is known at run time only.

use super::failure::Failure;
use crate::error::FailureClass;
use crate::words::display;
use diesel::Connection;
use diesel::backend::Backend;
use diesel::connection::BoxableConnection;
use diesel::migration::{
    Migration, MigrationMetadata, MigrationName, MigrationSource, MigrationVersion, Result as MigrationResult,
};
use diesel_migrations::MigrationHarness;

/// A script with the prefix filled in, ending with the statement that records its version.
#[derive(Clone)]
pub(super) struct Filled {
    pub version: &'static str,
    pub text: String,
}

/// Scripts and the versions that were applied before.
pub(super) struct Scripts {
    pub scripts: Vec<Filled>,
    pub applied: Vec<String>,
}

/// Runs the scripts that were not applied yet, in order; returns their versions.
pub(super) fn run_pending<C>(connection: &mut C, scripts: &Scripts) -> Result<Vec<String>, Failure>
where
    C: Connection + 'static,
    C::Backend: 'static,
{
    let mut harness = Harness { connection, applied: &scripts.applied };
    match harness.run_pending_migrations(scripts) {
        Ok(versions) => Ok(versions.iter().map(ToString::to_string).collect()),
        Err(error) => Err(Failure { class: FailureClass::Permanent, message: error.to_string() }),
    }
}

struct Harness<'a, C> {
    connection: &'a mut C,
    applied: &'a [String],
}

impl<C, DB> MigrationHarness<DB> for Harness<'_, C>
where
    DB: Backend + 'static,
    C: Connection<Backend = DB> + 'static,
{
    fn run_migration(&mut self, migration: &dyn Migration<DB>) -> MigrationResult<MigrationVersion<'static>> {
        let name = migration.name();
        migration.run(self.connection).map_err(|error| format!("the script `{name}` failed: {error}"))?;
        Ok(migration.name().version().as_owned())
    }

    fn revert_migration(&mut self, migration: &dyn Migration<DB>) -> MigrationResult<MigrationVersion<'static>> {
        Err(format!("{} is not taken back by this program: run its down.sql by hand", migration.name()).into())
    }

    fn applied_migrations(&mut self) -> MigrationResult<Vec<MigrationVersion<'static>>> {
        Ok(self.applied.iter().map(|version| MigrationVersion::from(version.clone())).collect())
    }
}

impl<DB: Backend> MigrationSource<DB> for &Scripts {
    fn migrations(&self) -> MigrationResult<Vec<Box<dyn Migration<DB>>>> {
        Ok(self.scripts.iter().map(|script| -> Box<dyn Migration<DB>> { Box::new(script.clone()) }).collect())
    }
}

impl<DB: Backend> Migration<DB> for Filled {
    fn run(&self, connection: &mut dyn BoxableConnection<DB>) -> MigrationResult<()> {
        Ok(connection.batch_execute(&self.text)?)
    }

    fn revert(&self, _: &mut dyn BoxableConnection<DB>) -> MigrationResult<()> {
        Err(format!("{self} is not taken back by this program").into())
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        self
    }
}

impl MigrationMetadata for Filled {}

impl MigrationName for Filled {
    fn version(&self) -> MigrationVersion<'_> {
        MigrationVersion::from(self.version)
    }
}

display! { Filled => |filled| filled.version }
