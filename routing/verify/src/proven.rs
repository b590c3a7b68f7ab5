use crate::{Certificate, Deadlock, Report, verify};
use heddle_fabric::{Fabric, Tables};
use std::sync::Arc;

/// Tables that were proved good for a fabric. Only [`prove`] makes them, so whoever takes nothing else programs nothing unproved.
#[derive(Clone, Debug)]
pub struct Proven {
    fabric: Arc<Fabric>,
    tables: Arc<Tables>,
    report: Arc<Report>,
}

/// Proves tables.
///
/// # Errors
/// The report that says what is wrong with them.
pub fn prove(fabric: Arc<Fabric>, tables: Tables) -> Result<Proven, Box<Report>> {
    let report = verify(&fabric, &tables);
    if report.is_good() { Ok(Proven { fabric, tables: Arc::new(tables), report: Arc::new(report) }) } else { Err(Box::new(report)) }
}

impl Proven {
    /// The fabric that the tables are for.
    pub const fn fabric(&self) -> &Arc<Fabric> {
        &self.fabric
    }

    /// The tables.
    pub const fn tables(&self) -> &Arc<Tables> {
        &self.tables
    }

    /// What the verifier said.
    pub const fn report(&self) -> &Arc<Report> {
        &self.report
    }

    /// The proof that the tables are free of deadlock.
    pub fn certificate(&self) -> &Certificate {
        match &self.report.deadlock {
            Deadlock::Free(certificate) => certificate,
            Deadlock::Cyclic(_) => unreachable!("prove() passes only tables that are free of deadlock"),
        }
    }
}
