//! What a car can do, and how it moves within a tick.
//!
//! Seen from above, a car is four tyres that can push by so much and no more. Along the car they
//! push with the engine or the brakes, across it they make the car go where it points. Where both
//! together ask for more than there is, each gets its share, and the car slides: wide if it came
//! too fast, sideways if it brakes in a bend. That limit is what makes a car predictable for a
//! moment and a bend predictable for longer, so it is the part that has to be right: whatever the
//! driver does, the tyres never push by more than [`CarModel::grip_at`].

use fairpath::State;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};

use super::input::Input;
use crate::shared::{OutOfRange, POSITIVE, PlayerInput, all_within, positive_up_to};

/// What a car can do. Metres and seconds; forces are given per mass, as accelerations.
///
/// The defaults are those of a quick road car with some downforce: 0 to 100 km/h in 4.2 s, 225 km/h
/// at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarModel {
    /// Where drag takes all the power, m/s. Default 63, at most [`TOP_SPEED_LIMIT`].
    pub top_speed: f64,
    /// Power per mass, W/kg. Default 230. Half of it and cars hardly brake on a twisty track; far
    /// more and speed between bends is limited by the tyres alone.
    pub power: f64,
    /// How hard the driven wheels can push, m/s². Default 8.
    pub traction: f64,
    /// How hard the brakes can, m/s². Default 11.
    pub braking: f64,
    /// How hard the tyres can push in any direction at walking pace, m/s². Default 11, a little
    /// over 1 g. Half of it is rain.
    pub grip: f64,
    /// What speed adds to the grip, m/s² per (m/s)². Default 0.0015: 2.4 m/s² at 40 m/s. Zero is no
    /// wings.
    pub downforce: f64,
    /// From axle to axle, m. Default 2.6.
    pub wheelbase: f64,
    /// How far the front wheels turn, rad. Default 0.55: a turning circle of 8.5 m.
    pub steer_angle: f64,
    /// How long the wheels take from straight to full lock, s. Default 0.3. Below 0.1 the path has
    /// corners; above 0.6 nobody catches a slide.
    pub steer_secs: f64,
    /// How fast it goes in reverse, m/s. Default 6.
    pub reverse_speed: f64,
}

/// The fastest car allowed, in m/s: it moves less than its own width per tick, so it meets
/// everything on its way.
pub const TOP_SPEED_LIMIT: f64 = 100.0;
/// Towards walls and other cars a car is a disc of this radius, in metres: a little more than half
/// its width.
pub const CAR_RADIUS: f64 = 1.1;
const _: () = assert!(TOP_SPEED_LIMIT / 60.0 < 2.0 * CAR_RADIUS);
const _: () = assert!(CAR_RADIUS < super::WIDTH_MIN);

/// Resistance of rolling wheels, m/s²: a car out of gear comes to rest some day.
const ROLLING: f64 = 0.2;
/// Full lock asks for this many times the bend that the tyres can hold at this speed. A little more
/// than they can, so that a driver can overdo it; much more, and at speed a finger's width on the
/// wheel is a spin.
const STEER_REACH: f64 = 1.15;

/// A car in motion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CarMotion {
    /// The middle of the car.
    pub position: Vec2,
    /// Where it really goes.
    pub velocity: Vec2,
    /// How that changed in the last tick, m/s².
    pub acceleration: Vec2,
    /// Where it points, in radians from +x towards +y.
    pub heading: f64,
    /// How fast that turns, rad/s.
    pub turn_rate: f64,
    /// How far the wheels have followed the driver's hands, −1 full right to 1 full left.
    pub steer: f64,
}

impl Default for CarModel {
    fn default() -> Self {
        Self {
            top_speed: 63.0,
            power: 230.0,
            traction: 8.0,
            braking: 11.0,
            grip: 11.0,
            downforce: 0.0015,
            wheelbase: 2.6,
            steer_angle: 0.55,
            steer_secs: 0.3,
            reverse_speed: 6.0,
        }
    }
}

impl CarModel {
    /// Returns how hard the tyres can push in any direction at this speed, m/s².
    pub fn grip_at(&self, speed: f64) -> f64 {
        self.grip + self.downforce * speed * speed
    }

    /// Returns the bend that full lock asks for at this speed, 1/m.
    pub fn curvature_max(&self, speed: f64) -> f64 {
        let by_wheels = libm::tan(self.steer_angle) / self.wheelbase;
        by_wheels.min(STEER_REACH * self.grip_at(speed) / (speed * speed).max(1e-6))
    }

    /// Returns what drag takes at this speed, m/s²: all the power at top speed.
    pub fn drag_at(&self, speed: f64) -> f64 {
        let share = speed / self.top_speed;
        self.power / self.top_speed * share * share
    }

    /// Returns where a car is after `secs` in which its driver does `input`, if nothing is in the
    /// way.
    ///
    /// This is the whole of the car's physics. A client that predicts its own car, and a predictor
    /// that extrapolates inputs, call it too.
    #[must_use]
    pub fn drive(&self, car: &CarMotion, input: Input, secs: f64) -> CarMotion {
        let input = input.limited();
        let speed = car.velocity.length();

        let steer_step = secs / self.steer_secs;
        let steer = car.steer + (input.steer - car.steer).clamp(-steer_step, steer_step);
        let rolling = car.velocity.dot(Vec2::from_heading(car.heading));
        let turn_rate = steer * self.curvature_max(speed) * rolling;
        let heading = wrap_angle(car.heading + turn_rate * secs);
        let ahead = Vec2::from_heading(heading);

        // Air and bearings only ever slow it down.
        let resistance = (self.drag_at(speed) + ROLLING).min(speed / secs);
        let slowed = car.velocity - car.velocity.normalize_or_zero() * (resistance * secs);
        let along = self.pedals(input, slowed.dot(ahead), secs);
        // What would make the car go exactly where it now points.
        let across = -slowed.dot(ahead.perpendicular()) / secs;
        let tyres = (ahead * along + ahead.perpendicular() * across).clamp_length(self.grip_at(speed));
        let velocity = (slowed + tyres * secs).clamp_length(self.top_speed);

        CarMotion {
            position: car.position + (car.velocity + velocity) * (0.5 * secs),
            velocity,
            acceleration: (velocity - car.velocity) * (1.0 / secs),
            heading,
            turn_rate,
            steer,
        }
    }

    /// Returns how hard engine and brakes push along the car, m/s².
    fn pedals(&self, input: Input, rolling: f64, secs: f64) -> f64 {
        // Brakes stop the car and do not push it the other way.
        let brake = (input.brake * self.braking).min(rolling.abs() / secs);
        let engine = if input.throttle >= 0.0 {
            let full = self.traction.min(self.power / rolling.max(1.0));
            input.throttle * full
        } else if rolling > -self.reverse_speed {
            0.5 * input.throttle * self.traction
        } else {
            0.0
        };
        engine - brake * rolling.signum()
    }

    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        all_within(&[
            ("top_speed", self.top_speed, positive_up_to(TOP_SPEED_LIMIT)),
            ("power", self.power, POSITIVE),
            ("traction", self.traction, POSITIVE),
            ("braking", self.braking, POSITIVE),
            ("grip", self.grip, POSITIVE),
            ("wheelbase", self.wheelbase, POSITIVE),
            ("steer_angle", self.steer_angle, POSITIVE),
            ("steer_secs", self.steer_secs, POSITIVE),
            ("reverse_speed", self.reverse_speed, POSITIVE),
            ("downforce", self.downforce, 0.0..=f64::MAX),
        ])
    }
}

impl CarMotion {
    /// Returns a car at rest.
    pub fn at_rest(position: Vec2, heading: f64) -> Self {
        Self { position, heading, ..Self::default() }
    }

    /// Returns the same in the library's words.
    pub fn state(&self) -> State<Vec2> {
        State::moving(self.position, self.velocity)
            .with_acceleration(self.acceleration)
            .with_heading(self.heading, self.turn_rate)
    }
}
