//! Law: whatever a network did, once it heals everybody has the newest of everything.

use fairpath::session::Delivery;
use fairpath::time::Span;
use fairpath::vector::{Vec2, Vector};
use fairpath::{Observation, State};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;
use fairpath_sim::{Fault, LinkConfig, Loss, PeerId};

use super::arena::{client_events, launch, world};

#[derive(Clone, Debug)]
enum Step {
    Move(usize, f64),
    Set(usize, u8, u8),
    Call(usize),
    Cut(usize),
    Isolate(usize),
    Rejoin(usize),
    Wait(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..3usize, -100.0..100.0f64).prop_map(|(who, x)| Step::Move(who, x)),
        4 => (0..3usize, 0..32u8, any::<u8>()).prop_map(|(who, group, value)| Step::Set(who, group, value)),
        2 => (0..3usize).prop_map(Step::Call),
        1 => (0..3usize).prop_map(Step::Cut),
        1 => (0..3usize).prop_map(Step::Isolate),
        1 => (0..3usize).prop_map(Step::Rejoin),
        4 => (1..600i64).prop_map(Step::Wait),
    ]
}

fn link() -> impl Strategy<Value = LinkConfig> {
    (0..120i64, 0.0..0.5f64, 0.0..0.4f64, 0.0..0.4f64).prop_map(|(delay, loss, duplicates, reorder)| {
        LinkConfig::default()
            .delay(Span::from_millis(delay))
            .loss(Loss::each(loss))
            .duplicate_ratio(duplicates)
            .reorder(reorder, Span::from_millis(150))
    })
}

#[test]
fn after_healing_everybody_has_the_newest_of_everything() {
    law!((any::<u64>(), link(), prop::collection::vec(step(), 1..40)), |(seed, link, steps)| {
        let mut world = world(seed, link, 3);
        let ships = launch(&mut world);
        let mut x = [0.0; 3];
        let mut calls = [0u32; 3];
        let fly = |world: &mut super::arena::World, x: &[f64; 3]| {
            for index in 0..3 {
                let (client, local) = world.client_now(index);
                let state = State::moving(Vec2::new(x[index], 0.0), Vec2::ZERO);
                client.observe(ships[index], Observation::Moved(state), local).expect("its own");
            }
        };
        for step in steps {
            match step {
                Step::Move(who, to) => x[who] = to,
                Step::Set(who, group, value) => {
                    world.client(who).set_state(ships[who], group, &[value]).expect("its own");
                }
                Step::Call(who) => {
                    let target = ships[(who + 1) % 3];
                    if world
                        .client(who)
                        .call_owner(target, calls[who], b"", Delivery::ReliableOrdered)
                        .is_ok()
                    {
                        calls[who] += 1;
                    }
                }
                Step::Cut(who) => world.cut(who),
                Step::Isolate(who) => world.network.inject(Fault::Isolate(PeerId(who as u32 + 1))),
                Step::Rejoin(who) => world.network.inject(Fault::Rejoin(PeerId(who as u32 + 1))),
                Step::Wait(millis) => {
                    world.run_for(Span::from_millis(millis), |world, _| fly(world, &x));
                }
            }
        }
        world.network.inject(Fault::Heal);
        world.run_for(Span::from_secs(12), |world, _| fly(world, &x));
        for viewer in 0..3 {
            for owner in 0..3 {
                let groups: Vec<_> = (0..32)
                    .map(|group| world.client(owner).state(ships[owner], group).map(<[u8]>::to_vec))
                    .collect();
                let (client, local) = world.client_now(viewer);
                for (group, value) in groups.iter().enumerate() {
                    prop_assert_eq!(
                        client.state(ships[owner], group as u8),
                        value.as_deref(),
                        "group {}",
                        group
                    );
                }
                let placed = client.place(ships[owner], local).expect("seen");
                let error = placed.position.distance(Vec2::new(x[owner], 0.0));
                prop_assert!(error <= 0.31, "{} sees {} off by {}", viewer, owner, error);
            }
            let from = (viewer + 2) % 3;
            let heard: Vec<u32> = client_events(&mut world, viewer)
                .into_iter()
                .filter_map(|event| match event {
                    fairpath::session::ClientEvent::Called { method, .. } => Some(method),
                    _ => None,
                })
                .collect();
            prop_assert_eq!(heard, (0..calls[from]).collect::<Vec<_>>(), "calls on {}", viewer);
        }
        Ok(())
    });
}
