use super::Plan;
use super::spec::{Spec, SpecError};

/// Ports: hosts, then the other switches of the group in their order, then other groups.
pub(super) fn dragonfly(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let a = spec.option("a", 1..=254, None)?;
    let p = spec.option("p", 0..=254, None)?;
    let h = spec.option("h", 0..=254, None)?;
    let groups = spec.option("groups", 1..=a * h + 1, Some(a * h + 1))?;
    spec.finish(false)?;

    let ports = p + a - 1 + h;
    let mut plan = Plan::new(spec, groups * a, groups * a * p, ports)?;
    for g in 0..groups {
        for r in 0..a {
            let switch = plan.switch(format!("router-{g}-{r}"), ports);
            for n in 0..p {
                plan.host(format!("host-{g}-{r}-{n}"), switch, 1 + n);
            }
            for other in 0..r {
                plan.cable((switch, p + 1 + other), ((g * a + other) as usize, p + r));
            }
        }
    }
    for (from, to) in between_groups(groups, a * h) {
        let end = |(group, link): (u64, u64)| ((group * a + link / h) as usize, p + a + link % h);
        plan.cable(end(from), end(to));
    }
    Ok(plan)
}

/// Ports of a leaf: hosts, then spines. Ports of a spine: leaves, then other groups.
pub(super) fn dragonfly_plus(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let leaves = spec.option("leaves", 1..=254, None)?;
    let spines = spec.option("spines", 1..=254, None)?;
    let p = spec.option("p", 0..=254, None)?;
    let h = spec.option("h", 0..=254, None)?;
    let groups = spec.option("groups", 1..=spines * h + 1, Some(spines * h + 1))?;
    spec.finish(false)?;

    let (leaf_ports, spine_ports) = (p + spines, leaves + h);
    let size = leaves + spines;
    let mut plan = Plan::new(spec, groups * size, groups * leaves * p, leaf_ports.max(spine_ports))?;
    for g in 0..groups {
        for l in 0..leaves {
            let leaf = plan.switch(format!("leaf-{g}-{l}"), leaf_ports);
            for n in 0..p {
                plan.host(format!("host-{g}-{l}-{n}"), leaf, 1 + n);
            }
        }
        for s in 0..spines {
            let spine = plan.switch(format!("spine-{g}-{s}"), spine_ports);
            for l in 0..leaves {
                plan.cable(((g * size + l) as usize, p + 1 + s), (spine, 1 + l));
            }
        }
    }
    for (from, to) in between_groups(groups, spines * h) {
        let end = |(group, link): (u64, u64)| ((group * size + leaves + link / h) as usize, leaves + 1 + link % h);
        plan.cable(end(from), end(to));
    }
    Ok(plan)
}

/// A cable's ends: a group and which of its links to other groups it is.
type Ends = ((u64, u64), (u64, u64));

/// As many cables for each pair of groups as `links` links a group allow. A group's links go to the others in turn, in their order.
fn between_groups(groups: u64, links: u64) -> Vec<Ends> {
    let others = groups - 1;
    let mut cables = Vec::new();
    for copy in 0..links.checked_div(others).unwrap_or(0) {
        for from in 0..groups {
            for to in from + 1..groups {
                cables.push(((from, copy * others + to - 1), (to, copy * others + from)));
            }
        }
    }
    cables
}
