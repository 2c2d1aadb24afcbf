//! The physics of a car.
//!
//! A car has four tyres with limited grip. Along the car they push with the engine or the brakes;
//! across it they turn the velocity to where the car points. If both together exceed the grip, each
//! gets its share and the car slides: wide if it was too fast, sideways if it brakes in a bend.
//! This limit makes a car predictable, so it must be exact: whatever the input, the tyres never
//! push by more than [`CarModel::grip_at`].

use fairpath::State;
use fairpath::rotation::wrap_angle;
use fairpath::vector::{Vec2, Vector};

use super::input::Input;
use crate::shared::{OutOfRange, POSITIVE, PlayerInput, all_within, positive_up_to};

/// The parameters of a car, in metres and seconds. Forces are per mass, as accelerations.
///
/// The defaults are a fast road car with some downforce: 0 to 100 km/h in 4.2 s, 225 km/h at most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CarModel {
    /// The speed at which drag takes all the power, m/s. Default 63, at most [`TOP_SPEED_LIMIT`].
    pub top_speed: f64,
    /// Power per mass, W/kg. Default 230. With half of it cars hardly brake on a twisty track; with
    /// far more only the tyres limit the speed between bends.
    pub power: f64,
    /// The largest acceleration of the driven wheels, m/s². Default 8.
    pub traction: f64,
    /// The largest deceleration of the brakes, m/s². Default 11.
    pub braking: f64,
    /// The grip of the tyres at low speed, m/s². Default 11, a little over 1 g. Half is like rain.
    pub grip: f64,
    /// The grip that speed adds, m/s² per (m/s)². Default 0.0015: 2.4 at 40 m/s. Zero: no wings.
    pub downforce: f64,
    /// The distance between the axles, m. Default 2.6.
    pub wheelbase: f64,
    /// The largest angle of the front wheels, rad. Default 0.55: a turning circle of 8.5 m.
    pub steer_angle: f64,
    /// The time from straight to full lock, s. Default 0.3. Below 0.1 paths have corners; above 0.6
    /// no driver catches a slide.
    pub steer_secs: f64,
    /// The top speed in reverse, m/s. Default 6.
    pub reverse_speed: f64,
}

/// The fastest car allowed, m/s: less than its width per tick, so it cannot pass through another.
pub const TOP_SPEED_LIMIT: f64 = 100.0;
/// The radius of a car in collisions, in metres: a little more than half its width.
pub const CAR_RADIUS: f64 = 1.1;
const _: () = assert!(TOP_SPEED_LIMIT / 60.0 < 2.0 * CAR_RADIUS);
const _: () = assert!(CAR_RADIUS < super::WIDTH_MIN);

/// Rolling resistance, m/s²: a coasting car comes to rest.
const ROLLING: f64 = 0.2;
/// Full lock asks for this multiple of the curvature that the tyres can hold at this speed. Above 1
/// a driver can overdo it; much above, small inputs at speed cause a spin.
const STEER_REACH: f64 = 1.15;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CarMotion {
    pub position: Vec2,
    /// The velocity, m/s.
    pub velocity: Vec2,
    /// The acceleration in the last tick, m/s².
    pub acceleration: Vec2,
    /// The heading, in radians from +x towards +y.
    pub heading: f64,
    /// The turn rate, rad/s.
    pub turn_rate: f64,
    /// The angle of the wheels, −1 full right to 1 full left. It follows the input.
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
    /// Returns the grip in any direction at this speed, m/s².
    pub fn grip_at(&self, speed: f64) -> f64 {
        self.grip + self.downforce * speed * speed
    }

    /// Returns the curvature of full lock at this speed, 1/m.
    pub fn curvature_max(&self, speed: f64) -> f64 {
        let by_wheels = libm::tan(self.steer_angle) / self.wheelbase;
        by_wheels.min(STEER_REACH * self.grip_at(speed) / (speed * speed).max(1e-6))
    }

    /// Returns the deceleration by drag at this speed, m/s²: all the power at top speed.
    pub fn drag_at(&self, speed: f64) -> f64 {
        let share = speed / self.top_speed;
        self.power / self.top_speed * share * share
    }

    /// Returns the motion after `secs` of `input`, without collisions.
    ///
    /// This is all of a car's physics. Clients and predictors that extrapolate inputs call it too.
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

        // Resistance only slows the car down.
        let resistance = (self.drag_at(speed) + ROLLING).min(speed / secs);
        let slowed = car.velocity - car.velocity.normalize_or_zero() * (resistance * secs);
        let along = self.pedals(input, slowed.dot(ahead), secs);
        // The acceleration that would turn the velocity to the heading.
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

    /// Returns the acceleration of engine and brakes along the car, m/s².
    fn pedals(&self, input: Input, rolling: f64, secs: f64) -> f64 {
        // Brakes stop the car and do not reverse it.
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
    pub fn at_rest(position: Vec2, heading: f64) -> Self {
        Self { position, heading, ..Self::default() }
    }

    pub fn state(&self) -> State<Vec2> {
        State::moving(self.position, self.velocity)
            .with_acceleration(self.acceleration)
            .with_heading(self.heading, self.turn_rate)
    }
}
