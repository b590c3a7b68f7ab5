use super::Plan;
use super::spec::{Spec, SpecError};

pub(super) fn torus(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let sizes = sizes(spec)?;
    grid(spec, &sizes, true)
}

pub(super) fn mesh(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let sizes = sizes(spec)?;
    grid(spec, &sizes, false)
}

pub(super) fn ring(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let what = "the number of switches";
    let size = spec.number(spec.value(what)?, what, 1..=Plan::MAX_NODES)?;
    grid(spec, &[size], true)
}

/// Ports: hosts, then for each dimension the cables to the next switch, then those to the one before.
fn grid(spec: &mut Spec<'_>, sizes: &[u64], wrap: bool) -> Result<Plan, SpecError> {
    let (hosts, links) = hosts_and_links(spec)?;
    let ports = hosts + 2 * links * sizes.len() as u64;
    let (mut plan, switches) = placed(spec, sizes, hosts, ports)?;
    for number in 0..switches {
        let at = coordinates(number, sizes);
        for (dimension, &size) in sizes.iter().enumerate() {
            let wraps = at[dimension] + 1 == size;
            if wraps && (!wrap || size <= 2) {
                continue;
            }
            let mut next = at.clone();
            next[dimension] = (at[dimension] + 1) % size;
            let ahead = hosts + 1 + 2 * links * dimension as u64;
            for i in 0..links {
                plan.cable((number, ahead + i), (position(&next, sizes), ahead + links + i));
            }
        }
    }
    Ok(plan)
}

/// Ports: hosts, then for each dimension the cables to the neighbour.
pub(super) fn hypercube(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let what = "the number of dimensions";
    let dimensions = spec.number(spec.value(what)?, what, 1..=15)?;
    let (hosts, links) = hosts_and_links(spec)?;
    let (mut plan, switches) = placed(spec, &[1 << dimensions], hosts, hosts + dimensions * links)?;
    for number in 0..switches {
        for dimension in 0..dimensions {
            let neighbour = number ^ (1 << dimension);
            let first = hosts + 1 + dimension * links;
            for i in (0..links).filter(|_| number < neighbour) {
                plan.cable((number, first + i), (neighbour, first + i));
            }
        }
    }
    Ok(plan)
}

/// Ports: hosts, then for each dimension the cables to the other switches of the row, in their order.
pub(super) fn hyperx(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let sizes = sizes(spec)?;
    let (hosts, links) = hosts_and_links(spec)?;
    let ports = hosts + links * sizes.iter().map(|size| size - 1).sum::<u64>();
    let (mut plan, switches) = placed(spec, &sizes, hosts, ports)?;
    for number in 0..switches {
        let at = coordinates(number, &sizes);
        let mut first = hosts + 1;
        for (dimension, &size) in sizes.iter().enumerate() {
            let own = at[dimension];
            for other in own + 1..size {
                let mut peer = at.clone();
                peer[dimension] = other;
                for i in 0..links {
                    plan.cable((number, first + (other - 1) * links + i), (position(&peer, &sizes), first + own * links + i));
                }
            }
            first += links * (size - 1);
        }
    }
    Ok(plan)
}

fn sizes(spec: &Spec<'_>) -> Result<Vec<u64>, SpecError> {
    let text = spec.value("the sizes of the dimensions")?;
    let sizes: Vec<u64> =
        text.split('x').map(|size| spec.number(size, "the size of a dimension", 1..=Plan::MAX_NODES)).collect::<Result<_, _>>()?;
    if sizes.len() > 8 {
        return Err(spec.error_at(text, format!("{} dimensions; 1 to 8 are possible", sizes.len())));
    }
    Ok(sizes)
}

fn hosts_and_links(spec: &mut Spec<'_>) -> Result<(u64, u64), SpecError> {
    let hosts = spec.option("hosts", 0..=254, Some(1))?;
    let links = spec.option("links", 1..=254, Some(1))?;
    spec.finish(true)?;
    Ok((hosts, links))
}

/// The switches with their hosts, which have the first ports; and how many switches there are.
fn placed(spec: &Spec<'_>, sizes: &[u64], hosts: u64, ports: u64) -> Result<(Plan, usize), SpecError> {
    let switches = sizes.iter().fold(1, |all: u64, &size| all.saturating_mul(size));
    let mut plan = Plan::new(spec, switches, switches.saturating_mul(hosts), ports)?;
    let names: Vec<String> =
        (0..switches as usize).map(|number| coordinates(number, sizes).iter().map(u64::to_string).collect::<Vec<_>>().join("-")).collect();
    for name in &names {
        plan.switch(format!("switch-{name}"), ports);
    }
    for (number, name) in names.iter().enumerate() {
        for h in 0..hosts {
            plan.host(format!("host-{name}-{h}"), number, 1 + h);
        }
    }
    Ok((plan, switches as usize))
}

/// The last dimension varies fastest.
fn coordinates(number: usize, sizes: &[u64]) -> Vec<u64> {
    let mut rest = number as u64;
    let mut at = vec![0; sizes.len()];
    for (coordinate, &size) in at.iter_mut().zip(sizes).rev() {
        *coordinate = rest % size;
        rest /= size;
    }
    at
}

fn position(at: &[u64], sizes: &[u64]) -> usize {
    at.iter().zip(sizes).fold(0, |all, (&coordinate, &size)| all * size + coordinate) as usize
}
