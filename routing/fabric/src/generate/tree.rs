use super::Plan;
use super::spec::{Spec, SpecError};

fn radix(spec: &Spec<'_>) -> Result<u64, SpecError> {
    let text = spec.value("the number of ports of a switch")?;
    let radix = spec.number(text, "the number of ports of a switch", 2..=254)?;
    if radix % 2 == 0 {
        Ok(radix)
    } else {
        Err(spec.error_at(text, format!("a switch with {radix} ports has no half; expected an even number")))
    }
}

pub(super) fn clos2(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let radix = radix(spec)?;
    let half = radix / 2;
    let leaves = spec.option("leaves", 1..=radix, Some(radix))?;
    spec.finish(true)?;

    let mut plan = Plan::new(spec, leaves + half, leaves * half, radix)?;
    let leaf: Vec<_> = (0..leaves).map(|l| plan.switch(format!("leaf-{l}"), radix)).collect();
    let spine: Vec<_> = (0..half).map(|s| plan.switch(format!("spine-{s}"), radix)).collect();
    for l in 0..leaves {
        for h in 0..half {
            plan.host(format!("host-{l}-{h}"), leaf[l as usize], 1 + h);
        }
        for s in 0..half {
            plan.cable((leaf[l as usize], half + 1 + s), (spine[s as usize], 1 + l));
        }
    }
    Ok(plan)
}

pub(super) fn clos3(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let radix = radix(spec)?;
    let half = radix / 2;
    let pods = spec.option("pods", 1..=radix, Some(radix))?;
    spec.finish(true)?;

    let mut plan = Plan::new(spec, pods * radix + half * half, pods * half * half, radix)?;
    let mut leaf = Vec::new(); // by pod, then number in the pod
    let mut aggregation = Vec::new();
    for p in 0..pods {
        leaf.extend((0..half).map(|l| plan.switch(format!("leaf-{p}-{l}"), radix)));
        aggregation.extend((0..half).map(|a| plan.switch(format!("agg-{p}-{a}"), radix)));
    }
    let spine: Vec<_> = (0..half * half).map(|n| plan.switch(format!("spine-{}-{}", n / half, n % half), radix)).collect();
    for p in 0..pods {
        for n in 0..half {
            let leaf = leaf[(p * half + n) as usize];
            for h in 0..half {
                plan.host(format!("host-{p}-{n}-{h}"), leaf, 1 + h);
            }
            for a in 0..half {
                plan.cable((leaf, half + 1 + a), (aggregation[(p * half + a) as usize], 1 + n));
            }
            let aggregation = aggregation[(p * half + n) as usize];
            for s in 0..half {
                plan.cable((aggregation, half + 1 + s), (spine[(n * half + s) as usize], 1 + p));
            }
        }
    }
    Ok(plan)
}

pub(super) fn rail(spec: &mut Spec<'_>) -> Result<Plan, SpecError> {
    let pods = spec.option("pods", 1..=Plan::MAX_NODES, None)?;
    let servers = spec.option("servers", 1..=254, Some(32))?;
    let rails = spec.option("rails", 1..=254, Some(8))?;
    let spines = spec.option("spines", 1..=254, Some(servers))?;
    let links = spec.option("links", 1..=254, Some(1))?;
    spec.finish(false)?;

    let leaf_ports = servers + spines * links;
    let spine_ports = pods * rails * links;
    let mut plan = Plan::new(spec, pods * rails + spines, pods * rails * servers, leaf_ports.max(spine_ports))?;
    let mut leaf = Vec::new(); // by pod, then rail
    for p in 0..pods {
        leaf.extend((0..rails).map(|r| plan.switch(format!("leaf-{p}-{r}"), leaf_ports)));
    }
    let spine: Vec<_> = (0..spines).map(|s| plan.switch(format!("spine-{s}"), spine_ports)).collect();
    for (number, &leaf) in leaf.iter().enumerate() {
        let (p, r) = (number as u64 / rails, number as u64 % rails);
        for n in 0..servers {
            plan.host(format!("server-{p}-{n} mlx5_{r}"), leaf, 1 + n);
        }
        for s in 0..spines {
            for i in 0..links {
                plan.cable((leaf, servers + 1 + s * links + i), (spine[s as usize], 1 + number as u64 * links + i));
            }
        }
    }
    Ok(plan)
}
