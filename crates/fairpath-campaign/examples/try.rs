use fairpath_campaign::SchedulerPlan;
use fairpath_campaign::siege::*;
fn main() {
    for scheduler in
        [SchedulerPlan::Broadcast, SchedulerPlan::DeterministicBudget(2.0, 0), SchedulerPlan::ErrorIndex(2.0)]
    {
        for objects_max in [4, 256] {
            let d = Defence { scheduler, objects_max };
            let base = besiege(Attack::None, d, 1);
            for attack in Attack::ALL {
                let it = besiege(attack, d, 1);
                println!(
                    "{scheduler:?} {objects_max} {attack:?} {:.3} x{:.3} unseen {} closed {} out {} refused {} outbox {} objects {} {:?}",
                    it.error,
                    it.error / base.error,
                    it.unseen,
                    it.honest_closed,
                    it.thrown_out,
                    it.refused,
                    it.outbox_bytes,
                    it.objects,
                    it.violation
                );
            }
        }
    }
}
