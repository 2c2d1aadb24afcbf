//! A tank's state as BZFlag sends it, and where BZFlag shows the tank later.

use fairpath::motion::{Circular, Linear, Motion, Quadratic, Static};
use fairpath::vector::{Planar as _, Vec3};

use crate::message::{Code, Message};

/// Bits of [`PlayerUpdate::status`].
pub mod status {
    /// The tank lives.
    pub const ALIVE: u16 = 1;
    /// The player has paused: the tank stands.
    pub const PAUSED: u16 = 1 << 1;
    /// The tank is in the air.
    pub const FALLING: u16 = 1 << 6;
    /// The tank stands on something that moves; four bytes name it.
    pub const ON_DRIVER: u16 = 1 << 7;
    /// Four bytes hold what the player steers.
    pub const USER_INPUTS: u16 = 1 << 8;
    /// Two bytes hold how strong the jump jets are.
    pub const JUMP_JETS: u16 = 1 << 9;
    /// One byte names a sound to play once.
    pub const PLAY_SOUND: u16 = 1 << 10;
}

/// Steps of the 16-bit form: 2 cm, 1 cm/s, 1 mrad/s, and a half turn in 32 766 steps.
const SMALL_POSITION: f64 = 0.02;
const SMALL_VELOCITY: f64 = 0.01;
const SMALL_TURN_RATE: f64 = 0.001;
const SMALL_ANGLE: f64 = std::f64::consts::PI / SMALL_MAX;
const SMALL_MAX: f64 = 32_766.0;

/// BZFlag reckons a tank that turns more slowly than this, in radians per second, along a line.
const TURN_RATE_MIN: f64 = 0.001;

/// No honest number is larger: worlds are a few thousand units wide. Larger ones, and those that
/// are no number, pass as they are.
const NUMBER_MAX: f64 = 1e6;

/// The state of one tank: `MsgPlayerUpdate` or `MsgPlayerUpdateSmall`.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayerUpdate {
    /// Whether numbers have 16 bits.
    pub is_small: bool,
    /// When the state was true, in seconds of the sender's clock.
    pub stamp: f32,
    /// The player.
    pub player: u8,
    /// Counts the player's updates. A client ignores an update that is not above the last one.
    pub order: i32,
    /// See [`status`].
    pub status: u16,
    /// Position of the tank's middle on the ground, in world units.
    pub position: Vec3,
    /// Velocity in units per second.
    pub velocity: Vec3,
    /// Heading in radians from +x towards +y.
    pub azimuth: f64,
    /// Turn rate in radians per second.
    pub turn_rate: f64,
    /// What `status` announces behind that, and anything that is behind it.
    pub tail: Vec<u8>,
}

impl PlayerUpdate {
    /// Decodes a message; `None` for other messages, short ones, and numbers that no game uses.
    pub fn decode(message: &Message<'_>) -> Option<Self> {
        let is_small = message.code == Code::PLAYER_UPDATE_SMALL;
        if !message.code.is_player_update() {
            return None;
        }
        let mut bytes = Reader(message.payload);
        let stamp = f32::from_bits(bytes.u32()?);
        let player = bytes.u8()?;
        let order = bytes.u32()? as i32;
        let status = bytes.u16()?;
        let mut number = |step: f64| -> Option<f64> {
            Some(if is_small {
                f64::from(bytes.u16()? as i16) * step
            } else {
                f64::from(f32::from_bits(bytes.u32()?))
            })
        };
        let position = Vec3::new(number(SMALL_POSITION)?, number(SMALL_POSITION)?, number(SMALL_POSITION)?);
        let velocity = Vec3::new(number(SMALL_VELOCITY)?, number(SMALL_VELOCITY)?, number(SMALL_VELOCITY)?);
        let azimuth = number(SMALL_ANGLE)?;
        let turn_rate = number(SMALL_TURN_RATE)?;
        let tail = bytes.0.to_vec();
        let update =
            Self { is_small, stamp, player, order, status, position, velocity, azimuth, turn_rate, tail };
        (update.tail.len() >= update.tail_len() && update.is_plausible()).then_some(update)
    }

    /// Appends the update as a message. It has 16-bit numbers if it had them before and they fit.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let is_small = self.is_small && self.fits_small();
        let mut payload = Vec::with_capacity(64);
        payload.extend(self.stamp.to_bits().to_be_bytes());
        payload.push(self.player);
        payload.extend(self.order.to_be_bytes());
        payload.extend(self.status.to_be_bytes());
        let mut number = |value: f64, step: f64| {
            if is_small {
                payload.extend(((value / step).round() as i16).to_be_bytes());
            } else {
                payload.extend((value as f32).to_bits().to_be_bytes());
            }
        };
        for value in [self.position.x, self.position.y, self.position.z] {
            number(value, SMALL_POSITION);
        }
        for value in [self.velocity.x, self.velocity.y, self.velocity.z] {
            number(value, SMALL_VELOCITY);
        }
        number(fairpath::rotation::wrap_angle(self.azimuth), SMALL_ANGLE);
        number(self.turn_rate, SMALL_TURN_RATE);
        payload.extend_from_slice(&self.tail);
        let code = if is_small { Code::PLAYER_UPDATE_SMALL } else { Code::PLAYER_UPDATE };
        Message { code, payload: &payload }.write(bytes);
    }

    /// Returns whether the tank lives.
    pub fn is_alive(&self) -> bool {
        self.has(status::ALIVE)
    }

    /// Returns whether all of these bits of [`status`](Self::status) are set.
    pub fn has(&self, bits: u16) -> bool {
        self.status & bits == bits
    }

    /// Returns the motion by which every client moves the tank until the next update.
    ///
    /// A paused tank stands. A falling one keeps its velocity on the ground's plane and falls. A
    /// tank that turns drives along an arc, any other along a line. What it stands on (moving
    /// platforms) is not known here and not taken into account.
    pub fn motion(&self, gravity: f64) -> Motion<Vec3> {
        let Self { position, velocity, .. } = *self;
        if self.has(status::PAUSED) {
            Motion::Static(Static { position, orientation: Vec3::level(self.azimuth) })
        } else if self.has(status::FALLING) {
            Motion::Quadratic(Quadratic { position, velocity, acceleration: Vec3::new(0.0, 0.0, gravity) })
        } else if self.is_turning() {
            Motion::Circular(Circular {
                position,
                heading: self.azimuth,
                speed: self.signed_speed(),
                turn_rate: self.turn_rate,
                climb_rate: velocity.z,
                climb_acceleration: 0.0,
            })
        } else {
            Motion::Linear(Linear { position, velocity })
        }
    }

    /// Returns the update that its owner would send `secs` later if the tank kept its motion: what
    /// a client shows then that has this one. The stamp is later by as much.
    #[must_use]
    pub fn after(&self, secs: f64, gravity: f64) -> Self {
        if !self.is_alive() || self.has(status::PAUSED) {
            return self.clone();
        }
        let motion = self.motion(gravity);
        let mut later = self.clone();
        later.stamp = (f64::from(self.stamp) + secs) as f32;
        later.position = motion.position_at(secs);
        if self.has(status::FALLING) {
            later.velocity.z += gravity * secs;
            later.azimuth += self.turn_rate * secs;
            later.land();
        } else if self.is_turning() {
            let (sin, cos) = libm::sincos(self.turn_rate * secs);
            let Vec3 { x, y, z } = self.velocity;
            later.velocity = Vec3::new(x * cos - y * sin, y * cos + x * sin, z);
            later.azimuth += self.turn_rate * secs;
        }
        later
    }

    /// Ends a fall at the ground, as every client does.
    fn land(&mut self) {
        if self.position.z < 0.0 && self.velocity.z <= 0.0 {
            self.position.z = 0.0;
            self.velocity.z = 0.0;
            self.status &= !status::FALLING;
        }
    }

    /// Returns the update without a sound: a repeated copy must not play it again.
    #[must_use]
    pub fn silent(mut self) -> Self {
        if self.has(status::PLAY_SOUND) {
            let at = self.tail_len() - 1;
            self.tail.remove(at);
            self.status &= !status::PLAY_SOUND;
        }
        self
    }

    fn is_turning(&self) -> bool {
        self.turn_rate.abs() > TURN_RATE_MIN
    }

    /// The speed on the ground's plane; negative in reverse.
    fn signed_speed(&self) -> f64 {
        let Vec3 { x, y, .. } = self.velocity;
        let (sin, cos) = libm::sincos(self.azimuth);
        (x * x + y * y).sqrt().copysign(x * cos + y * sin)
    }

    /// The length of what `status` announces.
    fn tail_len(&self) -> usize {
        let parts = [
            (status::JUMP_JETS, 2),
            (status::ON_DRIVER, 4),
            (status::USER_INPUTS, 4),
            (status::PLAY_SOUND, 1),
        ];
        parts.iter().filter(|(bit, _)| self.has(*bit)).map(|(_, length)| length).sum()
    }

    fn numbers(&self) -> [f64; 9] {
        let (p, v) = (self.position, self.velocity);
        [p.x, p.y, p.z, v.x, v.y, v.z, self.azimuth, self.turn_rate, f64::from(self.stamp)]
    }

    fn is_plausible(&self) -> bool {
        // Stamps count seconds since a program or a machine was started.
        self.numbers()[..8].iter().all(|number| number.abs() <= NUMBER_MAX) && self.stamp.abs() <= 1e9
    }

    fn fits_small(&self) -> bool {
        let [px, py, pz, vx, vy, vz, _, turn_rate, _] = self.numbers();
        let fits = |value: f64, step: f64| (value / step).abs() <= SMALL_MAX;
        [px, py, pz].iter().all(|value| fits(*value, SMALL_POSITION))
            && [vx, vy, vz].iter().all(|value| fits(*value, SMALL_VELOCITY))
            && fits(turn_rate, SMALL_TURN_RATE)
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }
}
