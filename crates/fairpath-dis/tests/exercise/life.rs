//! Goal: entities live, change and end on the far network as on the near one, and what the gateway
//! does not model arrives byte for byte. Method: one entity, and PDUs made by hand.

use fairpath::Vec3;
use fairpath::motion::Dis;
use fairpath::motion::dis::Model;
use fairpath::rotation::Quat;
use fairpath::session::{ClientFrame, Party};
use fairpath::time::Span;
use fairpath::{State, Vector};
use fairpath_dis::pdu::{Description, EntityState, Look, Pdu, kind};
use fairpath_dis::stamp::{Instants, Stamp};
use fairpath_dis::{DisId, Entity, EntityType, Fineness, GatewayConfig, Shot};
use fairpath_sim::{LinkConfig, Loss};

use super::world::{World, exchange};

const TANK: DisId = DisId::new(17, 1, 9);

pub(super) fn tank(version: u8) -> EntityState {
    let description = Description {
        version,
        status: if version == 7 { 0b0000_1010 } else { 0 },
        force: 2,
        kind: EntityType([1, 1, 0, 222, 1, 2, 3, 4]),
        alternative: EntityType([1, 1, 0, 222, 9, 0, 0, 0]),
        capabilities: 0x0102_0304,
        ..Description::default()
    };
    let frame = exchange(Fineness::Exact).frame();
    let motion = Dis {
        model: Model::Fpw,
        position: Vec3::new(500.0, -300.0, 2.0),
        velocity: Vec3::new(10.0, 4.0, 0.0),
        acceleration: Vec3::ZERO,
        orientation: Quat::about_z(0.4),
        angular_velocity: Vec3::ZERO,
    };
    let mut other = [0; 15];
    (other[0], other[7]) = (1, 77);
    let look = Look {
        description: description.with_marking("LEO 2"),
        appearance: 0x0000_0B05,
        other,
        // A turret: type 0, azimuth. The gateway does not know what that is.
        parameters: [0u8, 1, 0, 0, 0, 0, 0x10, 0x0B, 0x3F, 0x80, 0, 0, 0, 0, 0, 0].repeat(2),
    };
    EntityState { id: TANK, motion: frame.motion_to_geocentric(&motion), look }
}

impl World {
    /// Sends an entity's state to network 0, true for now.
    pub(super) fn tell(&mut self, state: &EntityState) {
        let now = self.now();
        let instants = Instants {
            local: fairpath::LocalInstant::from_micros(now.as_micros()),
            unix_us: self.utc_us(now),
        };
        self.hear(0, &state.write(1, Stamp::of(instants, true).0));
    }

    pub(super) fn idle(&mut self, millis: i64) {
        self.run_for(Span::from_millis(millis), |_| {});
    }
}

fn world() -> World {
    let link = LinkConfig::default().delay(Span::from_millis(30)).loss(Loss::each(0.05));
    let mut world = World::new(link, Fineness::Exact, vec![GatewayConfig::default(); 2]);
    world.idle(500);
    world
}

#[test]
fn what_is_not_modelled_arrives_byte_for_byte() {
    for version in [6, 7] {
        let mut world = world();
        let mut sent = tank(version);
        world.tell(&sent);
        world.idle(1_500);
        let out = world.heard[1].last().expect("a PDU").bytes.clone();
        let fed = sent.write(1, Stamp(0));
        // All but the stamp, the position and the velocity, which moved on.
        let same =
            |range: std::ops::Range<usize>| assert_eq!(out[range.clone()], fed[range.clone()], "{range:?}");
        same(0..4);
        same(8..36);
        same(84..144);
        same(144..176);
        assert_eq!(out.len(), fed.len());

        // A change of appearance and of the turret is told at once, without a new motion.
        sent.look.appearance |= 1 << 7;
        sent.look.parameters[11] = 9;
        let before = world.heard[1].len();
        world.tell(&sent);
        world.idle(600);
        let (_, last, _) = world.states(1).pop().expect("a PDU");
        assert!(world.heard[1].len() > before);
        assert_eq!(last.look, sent.look);
    }
}

#[test]
fn heartbeats_go_on_and_a_silent_entity_times_out() {
    let mut world = world();
    for _ in 0..2 {
        world.tell(&tank(7));
        world.idle(5_000);
    }
    // The last PDU was 5 s ago: 2.4 heartbeats are over 7 s later.
    world.idle(6_500);
    let states = world.states(1);
    let gaps = states.windows(2).map(|pair| pair[1].0 - pair[0].0).max().expect("several");
    assert!(gaps <= Span::from_millis(5_500), "{gaps:?}");
    assert!(!states.last().expect("some").1.look.is_deactivated());
    world.idle(1_500);
    let (_, last, _) = world.states(1).pop().expect("some");
    assert!(last.look.is_deactivated(), "the far network is told that it has gone");
    assert_eq!((world.gateways[0].entities(), world.gateways[1].entities()), ((0, 0), (0, 0)));
    let count = world.heard[1].len();
    world.idle(6_000);
    assert_eq!(world.heard[1].len(), count, "nothing more is said about it");
}

#[test]
fn a_standing_entity_of_dis_7_may_be_silent_for_two_minutes() {
    for (version, is_kept) in [(7, true), (6, false)] {
        let mut world = world();
        let mut state = tank(version);
        state.motion.velocity = Vec3::ZERO;
        world.tell(&state);
        world.idle(14_000);
        assert_eq!(world.gateways[1].entities().1 == 1, is_kept, "version {version}");
    }
}

#[test]
fn deactivated_entities_end_and_frozen_ones_stand() {
    let mut world = world();
    let mut state = tank(7);
    world.tell(&state);
    world.idle(300);
    state.look.appearance |= 1 << 21;
    world.tell(&state);
    world.idle(1_000);
    let (at, frozen, _) = world.states(1).pop().expect("a PDU");
    assert_eq!(frozen.motion.model, Model::Static);
    assert!(frozen.motion.position.distance(state.motion.position) < 0.01, "{at:?}");
    world.tell(&EntityState { look: state.look.deactivated(), ..state });
    world.idle(500);
    assert!(world.states(1).pop().expect("a PDU").1.look.is_deactivated());
    assert_eq!(world.gateways[1].entities(), (0, 0));
}

#[test]
fn fire_and_detonation_arrive_once_and_other_pdus_as_they_are() {
    let mut world = world();
    let frame = exchange(Fineness::Exact).frame();
    for is_detonation in [false, true] {
        let shot =
            Shot { is_detonation, shooter: TANK, position: Vec3::new(9.0, 8.0, 7.0), ..Shot::default() };
        let bytes = shot.write(&frame).0;
        world.hear(0, &bytes);
        // The same datagram again, as two interfaces may deliver it.
        world.hear(0, &bytes);
    }
    // A Comment PDU (22), which the gateway knows nothing about.
    let mut comment = vec![7, 1, 22, 5, 0, 0, 0, 1, 0, 32, 0, 0];
    comment.extend(TANK.to_bytes());
    comment.extend([0; 14]);
    world.hear(0, &comment);
    world.idle(1_000);
    let kinds: Vec<u8> =
        world.heard[1].iter().map(|it| Pdu::split(&it.bytes).next().unwrap().unwrap().kind()).collect();
    let count = |kind: u8| kinds.iter().filter(|it| **it == kind).count();
    assert_eq!((count(kind::FIRE), count(kind::DETONATION)), (1, 1));
    let passed = world.heard[1].iter().find(|it| it.bytes[2] == 22);
    assert_eq!(passed.expect("unreliable, but the link is good").bytes[8..], comment[8..]);
}

#[test]
fn an_object_of_a_game_is_an_entity_of_the_gateways_own_application() {
    let mut world = world();
    let create = |game: &mut ClientFrame<'_, Vec3>| {
        let state = State::moving(Vec3::new(1.0, 2.0, 3.0), Vec3::new(5.0, 0.0, 0.0));
        let entity = Entity { description: Description::default().with_marking("SHIP"), ..Entity::default() };
        let now = game.now();
        game.create(&entity, state, now).expect("connected")
    };
    // The client of gateway 0 plays the game; its gateway does not know about the object.
    let object = create(&mut world.session.client_frame(0));
    world.idle(1_000);
    let (_, state, _) = world.states(1).pop().expect("a PDU");
    assert_eq!(state.id.application, GatewayConfig::default().own);
    assert_eq!((state.look.description.marking().as_str(), state.look.description.version), ("SHIP", 7));
    assert!(matches!(world.session.client_frame(1).owner(object), Some(Party::Client(_))));
}

#[test]
fn entities_of_another_exercise_or_a_refused_site_stay_outside() {
    let mut world = world();
    let mut bytes = tank(7).write(1, Stamp(1));
    bytes[1] = 2;
    world.hear(0, &bytes);
    assert_eq!(world.gateways[0].counters().filtered, 1);
    let link = LinkConfig::default().delay(Span::from_millis(30));
    let refuse = GatewayConfig { refuse: vec!["17".parse().unwrap()], ..GatewayConfig::default() };
    let mut world = World::new(link, Fineness::Exact, vec![refuse, GatewayConfig::default()]);
    world.idle(300);
    world.tell(&tank(7));
    world.idle(500);
    assert_eq!((world.gateways[0].counters().filtered, world.gateways[1].entities().1), (1, 0));
}
