use crate::apply::{self, Extent};
use crate::kept::Kept;
use crate::{Certificate, Deadlock, Parts, Report, examine};
use heddle_fabric::{Fabric, Patch, Tables};
use std::sync::Arc;

/// Tables that were proved good for a fabric. Only [`prove`] and [`Proven::apply`] make them, so whoever takes nothing else programs nothing
/// unproved.
#[derive(Clone, Debug)]
pub struct Proven {
    fabric: Arc<Fabric>,
    tables: Arc<Tables>,
    report: Arc<Report>,
    /// Not there for tables that need several VLs.
    kept: Option<Arc<Kept>>,
}

/// Proves tables.
///
/// # Errors
/// The report that says what is wrong with them.
pub fn prove(fabric: Arc<Fabric>, tables: Tables) -> Result<Proven, Box<Report>> {
    let (report, kept) = examine(&fabric, &tables);
    if report.is_good() {
        Ok(Proven { fabric, tables: Arc::new(tables), report: Arc::new(report), kept: kept.map(Arc::new) })
    } else {
        Err(Box::new(report))
    }
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

    /// Proves what becomes of the tables when the fabric changes to `fabric` and the entries of `patch` are written. Where the switches are not
    /// the same, or a LID is beyond the end of the tables, the patch is one of [`Tables::carried`].
    ///
    /// Only what changed is looked at, so that the work follows the change; beside it, all ports are compared. The certificate is then for
    /// traffic with a host at one end. Everything is proven anew, and [`Extent`] says why, if the change alone is no proof, if switches come or
    /// go, and where tables need several VLs. Tables and certificate are changed in place if nobody else holds them.
    ///
    /// # Errors
    /// The report that says what is wrong with the new tables.
    pub fn apply(self, fabric: Arc<Fabric>, patch: &Patch) -> Result<(Self, Extent), Box<Report>> {
        let Self { fabric: old, tables, mut report, kept } = self;
        if !apply::same_rows(&old, &fabric, &tables) {
            let mut tables = tables.carried(&old, &fabric);
            tables.apply(patch);
            let why = "the switches or the size of their tables are not what they were";
            return Ok((prove(fabric, tables)?, Extent::Everything(why)));
        }
        let mut tables = Arc::unwrap_or_clone(tables);
        tables.apply(patch);
        let parts = Parts::of(&fabric);
        let followed = kept.ok_or("the tables need several VLs").and_then(|kept| {
            if tables.lanes().is_some() {
                return Err("the tables say which SLs and VLs their routes have");
            }
            // Entries for LIDs of another part drop packets, and stand for ways as soon as a cable joins the parts.
            if report.parts.len().max(parts.len()) > 1 {
                return Err("the fabric is in several parts");
            }
            let mut kept = Arc::unwrap_or_clone(kept);
            let step = apply::follow(&old, &fabric, &tables, patch, &mut kept, report.unowned_entries)?;
            Ok((kept, step))
        });
        let (kept, step) = match followed {
            Ok(followed) => followed,
            Err(why) => return Ok((prove(fabric, tables)?, Extent::Everything(why))),
        };
        let now = Arc::make_mut(&mut report);
        now.end_ports = fabric.end_ports().len();
        now.lids = fabric.end_ports().iter().map(|end| end.lids().count()).sum();
        now.parts = parts;
        now.unowned_entries = step.unowned_entries;
        now.deadlock = Deadlock::Free(Certificate { vls: 1, ranks: kept.ranks.clone(), covers_switch_to_switch: false });
        Ok((Self { fabric, tables: Arc::new(tables), report, kept: Some(Arc::new(kept)) }, step.extent))
    }
}
