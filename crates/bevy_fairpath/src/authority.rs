//! Server-authoritative play: clients send inputs and predict, the server decides.

use bevy_app::{App, FixedLast, FixedUpdate, Last, PostUpdate};
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_time::{Fixed, Time, Virtual};
use bevy_transform::TransformSystems;
use bevy_transform::components::Transform;
use fairpath::number::Life;
use fairpath::session::{Delivery, Value};
use fairpath::time::TickRate;
use fairpath::{EntityId, LocalInstant, SharedInstant, Span, State, Vec3 as Vector3};
use fairpath_compensate::{
    ENTRIES_DEFAULT, Epoch, FixedTicks, InputQueue, Lead, Metronome, Moment, Padding, Simulate, Snapshot,
    TimeWarp, TimeWarpConfig,
};
use serde::{Deserialize, Serialize};

use crate::call::{Call, Called};
use crate::components::{Placed, ReplicatedId, Velocity};
use crate::connection::RemoteClient;
use crate::observe::overstep;
use crate::plugin::{Fairpath, FairpathSystems};
use crate::register::ReplicateAppExt;
use crate::send::CollectSystems;
use crate::space::Pose;
use crate::space::sealed::Space;

/// An avatar whose moves the server decides: its state, and the rules by which an input changes it.
///
/// Implement it for the component that holds the state, and call
/// [`predict`](PredictAppExt::predict) at both ends. The server spawns the avatar with the component,
/// [`ControlledBy`], `DeadReckoned` and a `Transform`. The client whose avatar it is sets
/// [`Controls`]; it plays its inputs at once, and corrects itself when the server decides otherwise.
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_math::Vec3; use bevy_transform::components::Transform;
/// use bevy_fairpath::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Component, Clone, Serialize, Deserialize)]
/// struct Runner { at: Vec3, velocity: Vec3 }
/// #[derive(Clone, Copy, Default, Serialize, Deserialize)]
/// struct Run { east: i8 }
///
/// impl Authoritative for Runner {
///     type Input = Run;
///
///     fn step(&mut self, input: &Run, secs: f32) {
///         self.velocity = Vec3::X * f32::from(input.east) * 8.0;
///         self.at += self.velocity * secs;
///     }
///
///     fn pose(&self) -> (Transform, Vec3) {
///         (Transform::from_translation(self.at), self.velocity)
///     }
/// }
/// # bevy_app::App::new().predict::<Runner>();
/// ```
pub trait Authoritative:
    Component<Mutability = bevy_ecs::component::Mutable> + Value + Clone + Send + Sync
{
    /// What a player does during a tick. The default is a player who does nothing.
    type Input: Value + Clone + Default + Send + Sync;

    /// Plays one tick of the fixed loop. It must be pure: the same state and input give the same
    /// result at server and client.
    fn step(&mut self, input: &Self::Input, secs: f32);

    /// Returns where the avatar is, and its velocity.
    fn pose(&self) -> (Transform, Vec3);
}

/// The client that controls an avatar: an entity with [`RemoteClient`]. The server sets it.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlledBy(pub Entity);

/// What the player of this client does. The game sets it; the plugin reads it in every tick.
#[derive(Resource, Clone, Debug)]
pub struct Controls<A: Authoritative>(pub A::Input);

impl<A: Authoritative> Default for Controls<A> {
    fn default() -> Self {
        Self(A::Input::default())
    }
}

/// The avatar that this client predicts. Its `Transform` and its [`Authoritative`] component are the
/// prediction's.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Predicted;

/// Registers server-authoritative avatars.
pub trait PredictAppExt {
    /// Lets the server decide about avatars with the state `A`, and clients predict their own. At
    /// both ends, before the app runs. The fixed loop must have the same rate at both: a whole
    /// number of ticks a second.
    fn predict<A: Authoritative>(&mut self) -> &mut Self;
}

impl PredictAppExt for App {
    fn predict<A: Authoritative>(&mut self) -> &mut Self {
        self.init_resource::<Controls<A>>().init_resource::<Rewind>();
        self.add_call::<Inputs<A::Input>>(Delivery::Newest).add_call::<Confirmed<A>>(Delivery::Newest);
        let is_server = |fairpath: Option<Res<Fairpath>>| fairpath.is_some_and(|fairpath| fairpath.is_server);
        let is_client =
            |fairpath: Option<Res<Fairpath>>| fairpath.is_some_and(|fairpath| !fairpath.is_server);
        self.add_systems(FixedUpdate, (take_inputs::<A>, play::<A>).chain().run_if(is_server));
        self.add_systems(
            Last,
            confirm::<A>.before(CollectSystems).in_set(FairpathSystems::Send).run_if(is_server),
        );
        let predict = predict::<A>.before(TransformSystems::Propagate);
        let predict = predict.run_if(is_client).run_if(resource_exists::<Time<Fixed>>);
        self.add_systems(PostUpdate, predict)
    }
}

/// The inputs that are not confirmed yet, with their ticks, after the number of times that the
/// client started its tick count anew.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Inputs<I>(u32, Vec<(u64, I)>);

/// The state of a client's avatar, and how many ticks early the input of a tick arrived.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Confirmed<A> {
    avatar: EntityId,
    tick: u64,
    state: A,
    margin: Option<(u64, i32)>,
}

/// The inputs that wait at the server for their ticks.
#[derive(Component)]
struct Seat<A: Authoritative> {
    inputs: InputQueue<A::Input>,
    has_played: bool,
}

fn take_inputs<A: Authoritative>(
    mut commands: Commands,
    mut calls: MessageReader<Called<Inputs<A::Input>>>,
    mut avatars: Query<(Entity, &ControlledBy, Option<&mut Seat<A>>), With<A>>,
) {
    for (avatar, _, seat) in &avatars {
        if seat.is_none() {
            let inputs = InputQueue::new(0, Padding::new(A::Input::default()));
            commands.entity(avatar).insert(Seat::<A> { inputs, has_played: false });
        }
    }
    for call in calls.read() {
        let Inputs(alignment, inputs) = &call.value;
        for (_, by, seat) in &mut avatars {
            if Some(by.0) == call.client
                && let Some(mut seat) = seat
                && seat.inputs.handle_alignment(*alignment)
            {
                inputs.iter().for_each(|(tick, input)| _ = seat.inputs.receive(*tick, input.clone()));
            }
        }
    }
}

type Avatar<'a, A> = (&'a mut A, &'a mut Seat<A>, &'a mut Transform, Option<&'a mut Velocity>);

fn play<A: Authoritative>(time: Res<Time<Fixed>>, mut avatars: Query<Avatar<'_, A>>) {
    for (mut state, mut seat, mut transform, velocity) in &mut avatars {
        let input = seat.inputs.play().input;
        seat.has_played = true;
        state.step(&input, time.delta_secs());
        let (pose, speed) = state.pose();
        (transform.translation, transform.rotation) = (pose.translation, pose.rotation);
        if let Some(mut velocity) = velocity {
            velocity.0 = speed;
        }
    }
}

fn confirm<A: Authoritative>(
    mut avatars: Query<(&ReplicatedId, &A, &ControlledBy, &mut Seat<A>)>,
    mut calls: MessageWriter<Call<Confirmed<A>>>,
    clients: Query<(), With<RemoteClient>>,
) {
    for (id, state, by, mut seat) in &mut avatars {
        if std::mem::take(&mut seat.has_played) && clients.contains(by.0) {
            let margin = seat.inputs.take_margin().map(|margin| (margin.tick, margin.ticks));
            let tick = seat.inputs.next_tick();
            calls
                .write(Call::to_client(by.0, Confirmed { avatar: id.0, tick, state: state.clone(), margin }));
        }
    }
}

/// The rules of the game, as prediction calls them.
struct Rules<A> {
    secs: f32,
    _avatar: std::marker::PhantomData<fn() -> A>,
}

impl<A: Authoritative> Simulate for Rules<A> {
    type State = A;
    type Input = A::Input;

    fn step(&self, state: &mut A, input: &A::Input, ticks: u32) {
        (0..ticks).for_each(|_| state.step(input, self.secs));
    }
}

/// The prediction of a client's own avatar.
#[derive(Component)]
struct Prediction<A: Authoritative> {
    ticks: FixedTicks<Rules<A>>,
    metronome: Metronome,
    lead: Lead,
    /// When the metronome began: its grid tells how far the running tick is.
    began: Option<LocalInstant>,
    /// What is drawn beside the prediction, so that a correction is not a jump.
    offset: Vec3,
}

/// The time in which most of a correction is drawn: 100 ms, as other peers' corrections.
const CORRECTED_IN_SECS: f32 = 0.1;

/// Larger corrections jump: the avatar was moved elsewhere.
const CORRECTION_MAX: f32 = 10.0;

/// Unconfirmed inputs that are sent with each call: half a second at 60 ticks a second, more than
/// most round trips, so that a lost call costs nothing.
const INPUTS_SENT: usize = 30;

fn predict<A: Authoritative>(
    mut commands: Commands,
    fairpath: Res<Fairpath>,
    (time, fixed): (Res<Time<Virtual>>, Res<Time<Fixed>>),
    controls: Res<Controls<A>>,
    mut confirmed: MessageReader<Called<Confirmed<A>>>,
    mut calls: MessageWriter<Call<Inputs<A::Input>>>,
    mut predictions: Query<(Entity, &mut Prediction<A>, &mut Transform, Option<&mut A>)>,
) {
    let rules = Rules::<A> { secs: fixed.timestep().as_secs_f32(), _avatar: std::marker::PhantomData };
    let rate = TickRate::hz((1.0 / fixed.timestep().as_secs_f64()).round().max(1.0) as u32);
    for Called { value: Confirmed { avatar, tick, state, margin }, .. } in confirmed.read() {
        let Some(entity) = fairpath.entity(*avatar) else { continue };
        let snapshot = Snapshot { epoch: Epoch(1), tick: *tick, state: state.clone() };
        let Ok((_, mut prediction, ..)) = predictions.get_mut(entity) else {
            let prediction = Prediction::<A> {
                ticks: FixedTicks::new(snapshot, ENTRIES_DEFAULT),
                metronome: Metronome::new(rate),
                lead: Lead::default(),
                began: None,
                offset: Vec3::ZERO,
            };
            // Of two in one frame the second finds none either: the newer one stays.
            commands.entity(entity).try_insert((Predicted, prediction));
            continue;
        };
        let before = prediction.ticks.predicted().pose().0.translation;
        prediction.ticks.accept(&rules, snapshot);
        let correction = before - prediction.ticks.predicted().pose().0.translation;
        let offset = prediction.offset + correction;
        prediction.offset = if offset.length() < CORRECTION_MAX { offset } else { Vec3::ZERO };
        if let Some((of_tick, ticks)) = margin {
            let at = prediction.ticks.tick();
            let nudge = prediction.lead.report(*of_tick, *ticks, at);
            prediction.metronome.nudge(nudge);
        }
    }
    let Some(now) = fairpath.frame_at.map(LocalInstant::from_micros) else { return };
    for (entity, mut prediction, mut transform, state) in &mut predictions {
        let prediction = &mut *prediction;
        let began = *prediction.began.get_or_insert(now);
        for _ in 0..prediction.metronome.poll(now) {
            prediction.ticks.advance(&rules, controls.0.clone());
        }
        let inputs = prediction.ticks.unacknowledged(INPUTS_SENT);
        let inputs: Vec<(u64, A::Input)> = inputs.map(|(tick, input)| (tick, input.clone())).collect();
        if !inputs.is_empty() && fairpath.is_connected() {
            calls.write(Call::to_server(Inputs(prediction.ticks.alignment(), inputs)));
        }
        prediction.offset *= (-time.delta_secs() * 3.0 / CORRECTED_IN_SECS).exp();
        let predicted = prediction.ticks.predicted();
        match state {
            Some(mut state) => *state = predicted.clone(),
            None => _ = commands.entity(entity).try_insert(predicted.clone()),
        }
        let (pose, velocity) = predicted.pose();
        let since = (now - began) - rate.begin(rate.running_at(now - began));
        let ahead = velocity * since.as_secs_f64().clamp(0.0, rate.step_secs()) as f32;
        (transform.translation, transform.rotation) =
            (pose.translation + ahead + prediction.offset, pose.rotation);
    }
}

/// Where entities were: for shots, which hit what the shooter saw. At the server, after
/// [`predict`](PredictAppExt::predict). Mark the targets with [`Hittable`].
///
/// A shot is a call that carries [`Fairpath::shared_now`] of the shooter:
///
/// ```
/// # use bevy_ecs::prelude::*; use bevy_math::Vec3;
/// use bevy_fairpath::prelude::*;
/// use bevy_fairpath::fairpath::SharedInstant;
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// struct Shot { aim: Vec3, seen_at: SharedInstant }
///
/// fn judge(mut shots: MessageReader<Called<Shot>>, rewind: Res<Rewind>) {
///     for shot in shots.read() {
///         let seen = rewind.seen(shot.value.seen_at);
///         let hit = seen.iter().find(|target| target.translation.distance(shot.value.aim) < 0.5);
///         println!("{:?}", hit.map(|target| target.entity));
///     }
/// }
/// # let _ = IntoSystem::into_system(judge);
/// ```
#[derive(Resource)]
pub struct Rewind {
    past: TimeWarp<Vector3>,
    entities: std::collections::BTreeMap<EntityId, Entity>,
    now: SharedInstant,
}

/// An entity that shots can hit: the server remembers where it was.
#[derive(Component, Clone, Copy, Debug, Default)]
pub struct Hittable;

/// An entity as it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeenThen {
    /// The entity.
    pub entity: Entity,
    /// Where it was.
    pub translation: Vec3,
    /// How it was turned.
    pub rotation: Quat,
}

impl Rewind {
    /// Returns where the targets were at an instant, at most 250 ms ago: a claim to have seen an
    /// older past counts as that, so that players are not hit long after they reached cover.
    pub fn seen(&self, at: SharedInstant) -> Vec<SeenThen> {
        let mut moments = Vec::new();
        self.past.rewind(self.now, at, &mut moments);
        let then = |moment: &Moment<Vector3>| {
            let pose = Vector3::to_pose(&moment.state);
            let entity = *self.entities.get(&moment.entity)?;
            Some(SeenThen { entity, translation: pose.translation(), rotation: pose.orientation() })
        };
        moments.iter().filter_map(then).collect()
    }
}

impl Default for Rewind {
    fn default() -> Self {
        let past = TimeWarp::new(TimeWarpConfig::default());
        Self { past, entities: std::collections::BTreeMap::new(), now: SharedInstant::ZERO }
    }
}

/// Remembers where targets are at the end of a tick.
pub(crate) fn remember(
    fairpath: Res<Fairpath>,
    (fixed, running): (Res<Time<Fixed>>, Res<Time<Virtual>>),
    rewind: Option<ResMut<Rewind>>,
    targets: Query<(Entity, &ReplicatedId, &Transform, Option<&Placed>), With<Hittable>>,
) {
    let (Some(at), Some(mut rewind)) = (fairpath.frame_at, rewind) else { return };
    let at = SharedInstant::from_micros(at) - Span::from_micros(overstep(&fixed, &running));
    let moment = |(_, id, transform, placed): (Entity, &ReplicatedId, &Transform, Option<&Placed>)| {
        let pose = placed.map_or_else(|| Pose::at(transform), |placed| placed.frame);
        let state: State<Vector3> = Vector3::to_state(&pose);
        Moment { entity: id.0, life: Life::default(), state }
    };
    rewind.now = at;
    rewind.entities = targets.iter().map(|(entity, id, ..)| (id.0, entity)).collect();
    rewind.past.record(at, targets.iter().map(moment).filter(|moment| moment.state.is_finite()));
}

/// Adds what servers need for [`Rewind`].
pub(crate) fn build_server(app: &mut App) {
    app.add_systems(FixedLast, remember);
}
