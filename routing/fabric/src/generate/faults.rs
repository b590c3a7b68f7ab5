use super::Plan;
use super::random::Random;
use super::spec::{Spec, SpecError};

/// Takes `count` switches away without leaving the rest in more pieces than before.
pub(super) fn fail_switches(plan: &mut Plan, spec: &Spec<'_>, count: usize, random: &mut Random) -> Result<(), SpecError> {
    let before = pieces(plan);
    let mut failed = 0;
    loop {
        let failed_until_now = failed;
        for switch in random.permutation(plan.switches.len()) {
            if failed == count {
                break;
            }
            if !std::mem::replace(&mut plan.switches[switch].failed, true) {
                if (1..=before).contains(&pieces(plan)) {
                    failed += 1;
                } else {
                    plan.switches[switch].failed = false;
                }
            }
        }
        // What held the fabric together may have become an end of it: another round.
        if failed == count || failed == failed_until_now {
            break;
        }
    }
    if failed < count {
        return Err(spec.error(format!("fail-switches={count}: only {failed} switches can fail before the fabric falls into pieces")));
    }
    let Plan { switches, cables, .. } = plan;
    cables.retain(|ends| ends.iter().all(|&(switch, _)| !switches[switch].failed));
    Ok(())
}

/// Takes `count` cables between switches away without leaving the rest in more pieces than before.
///
/// The cables are tried in random order, and one goes unless it holds two pieces together. Those that stay are Kruskal's spanning tree
/// over the reverse order, so that all of this is one pass.
pub(super) fn fail_links(plan: &mut Plan, spec: &Spec<'_>, count: usize, random: &mut Random) -> Result<(), SpecError> {
    if count == 0 {
        return Ok(());
    }
    let order = random.permutation(plan.cables.len());
    let mut sets = Sets::new(plan.switches.len());
    let mut needed = vec![false; plan.cables.len()];
    for &cable in order.iter().rev() {
        let [(a, _), (b, _)] = plan.cables[cable];
        needed[cable] = sets.join(a, b);
    }
    let failed: Vec<usize> = order.into_iter().filter(|&cable| !needed[cable]).take(count).collect();
    if failed.len() < count {
        let spare = failed.len();
        return Err(spec.error(format!("fail-links={count}: only {spare} cables can fail before the fabric falls into pieces")));
    }
    let mut gone = vec![false; plan.cables.len()];
    failed.into_iter().for_each(|cable| gone[cable] = true);
    let mut gone = gone.into_iter();
    plan.cables.retain(|_| gone.next() == Some(false));
    Ok(())
}

/// How many pieces the switches that work are in.
pub(super) fn pieces(plan: &Plan) -> usize {
    let works = |switch: usize| !plan.switches[switch].failed;
    let mut sets = Sets::new(plan.switches.len());
    let joined = plan.cables.iter().filter(|[a, b]| works(a.0) && works(b.0) && sets.join(a.0, b.0)).count();
    (0..plan.switches.len()).filter(|&switch| works(switch)).count() - joined
}

/// Disjoint sets, with path halving.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    /// Whether they were in two sets until now.
    fn join(&mut self, a: usize, b: usize) -> bool {
        let [a, b] = [self.find(a), self.find(b)];
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}
