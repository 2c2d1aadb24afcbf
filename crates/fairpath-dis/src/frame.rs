//! The Earth: from geocentric coordinates, which DIS uses, to a local frame, and back.
//!
//! The local frame is a plane that touches the WGS 84 ellipsoid at an origin: +x east, +y north, +z
//! up, in metres. It is a rigid motion of the geocentric frame, not a projection. So velocities,
//! accelerations and whole dead-reckoning curves keep their shape, and nothing is lost but
//! rounding: a nanometre. Far from the origin +z is not up any more: 10 km away it leans by 0.09°.
//!
//! Body axes change too: DIS has +y to the right and +z down, Fairpath +y to the left and +z up.

use fairpath::Vec3;
use fairpath::motion::Dis;
use fairpath::rotation::Quat;

/// Semi-major axis of WGS 84, in metres.
const A: f64 = 6_378_137.0;
/// Flattening of WGS 84.
const F: f64 = 1.0 / 298.257_223_563;
/// Square of the first eccentricity.
const E2: f64 = F * (2.0 - F);

/// A place on the Earth: WGS 84.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Geodetic {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
    /// Metres above the ellipsoid.
    pub height: f64,
}

impl Geodetic {
    /// Returns the geocentric coordinates, in metres.
    pub fn to_geocentric(self) -> Vec3 {
        let (sin_lat, cos_lat) = libm::sincos(self.latitude.to_radians());
        let (sin_lon, cos_lon) = libm::sincos(self.longitude.to_radians());
        let normal = A / (1.0 - E2 * sin_lat * sin_lat).sqrt();
        let across = (normal + self.height) * cos_lat;
        Vec3::new(across * cos_lon, across * sin_lon, (normal * (1.0 - E2) + self.height) * sin_lat)
    }

    /// Returns the place of geocentric coordinates: exact to a nanometre above ground, by Bowring's
    /// formula and two corrections.
    pub fn from_geocentric(at: Vec3) -> Self {
        let across = (at.x * at.x + at.y * at.y).sqrt();
        let longitude = libm::atan2(at.y, at.x).to_degrees();
        let mut latitude = libm::atan2(at.z, across * (1.0 - E2));
        let mut height = 0.0;
        for _ in 0..6 {
            let (sin, cos) = libm::sincos(latitude);
            let normal = A / (1.0 - E2 * sin * sin).sqrt();
            // Stable at the poles and at the equator alike.
            height = across * cos + at.z * sin - A * A / normal;
            latitude = libm::atan2(at.z, across * (1.0 - E2 * normal / (normal + height)));
        }
        Self { latitude: latitude.to_degrees(), longitude, height }
    }
}

impl std::str::FromStr for Geodetic {
    type Err = ParsePlaceError;

    /// Reads `LATITUDE,LONGITUDE` or `LATITUDE,LONGITUDE,HEIGHT`, in degrees and metres.
    fn from_str(text: &str) -> Result<Self, ParsePlaceError> {
        let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse::<f64>()).collect();
        match numbers.map_err(|_| ParsePlaceError)?.as_slice() {
            [latitude, longitude] => {
                Self { latitude: *latitude, longitude: *longitude, height: 0.0 }.checked()
            }
            [latitude, longitude, height] => {
                Self { latitude: *latitude, longitude: *longitude, height: *height }.checked()
            }
            _ => Err(ParsePlaceError),
        }
    }
}

impl Geodetic {
    fn checked(self) -> Result<Self, ParsePlaceError> {
        let is_place =
            self.latitude.abs() <= 90.0 && self.longitude.abs() <= 360.0 && self.height.abs() < 1e9;
        if is_place { Ok(self) } else { Err(ParsePlaceError) }
    }
}

/// Text that is not a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParsePlaceError;

impl std::fmt::Display for ParsePlaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("expected LATITUDE,LONGITUDE[,HEIGHT] in degrees and metres, for example 48.1,11.6,520")
    }
}

impl std::error::Error for ParsePlaceError {}

/// The local frame at an origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalFrame {
    place: Geodetic,
    origin: Vec3,
    /// Rotation from local axes to geocentric axes.
    axes: Quat,
}

/// Rotation from Fairpath's body axes (left, up) to those of DIS (right, down): half a roll.
const HALF_ROLL: Quat = Quat { w: 0.0, v: Vec3::new(1.0, 0.0, 0.0) };

impl LocalFrame {
    /// Returns the frame that touches the ellipsoid at `place`.
    pub fn at(place: Geodetic) -> Self {
        // From geocentric axes: turn to the longitude, tilt to the latitude, so that +x is up; then
        // name the axes east, north and up.
        let up = Quat::about_z(place.longitude.to_radians()) * Quat::about_y(-place.latitude.to_radians());
        let east_north_up = Quat { w: 0.5, v: Vec3::new(0.5, 0.5, 0.5) };
        Self { place, origin: place.to_geocentric(), axes: (up * east_north_up).normalized() }
    }

    /// Returns the origin.
    pub fn place(&self) -> Geodetic {
        self.place
    }

    /// Converts a position from geocentric to local coordinates.
    pub fn to_local(&self, geocentric: Vec3) -> Vec3 {
        self.axes.conjugate().rotate(geocentric - self.origin)
    }

    /// Converts a position from local to geocentric coordinates.
    pub fn to_geocentric(&self, local: Vec3) -> Vec3 {
        self.origin + self.axes.rotate(local)
    }

    /// Converts a motion from geocentric axes, and body axes of DIS, to local axes.
    pub fn motion_to_local(&self, motion: &Dis) -> Dis {
        let to_local = self.axes.conjugate();
        let vector = |v: Vec3| if motion.model.is_body() { flip(v) } else { to_local.rotate(v) };
        Dis {
            model: motion.model,
            position: self.to_local(motion.position),
            velocity: vector(motion.velocity),
            acceleration: vector(motion.acceleration),
            orientation: (to_local * motion.orientation * HALF_ROLL).normalized(),
            angular_velocity: flip(motion.angular_velocity),
        }
    }

    /// Converts a motion from local axes to geocentric axes, and to body axes of DIS.
    pub fn motion_to_geocentric(&self, motion: &Dis) -> Dis {
        let vector = |v: Vec3| if motion.model.is_body() { flip(v) } else { self.axes.rotate(v) };
        Dis {
            model: motion.model,
            position: self.to_geocentric(motion.position),
            velocity: vector(motion.velocity),
            acceleration: vector(motion.acceleration),
            orientation: (self.axes * motion.orientation * HALF_ROLL.conjugate()).normalized(),
            angular_velocity: flip(motion.angular_velocity),
        }
    }
}

/// Converts a vector between the body axes of DIS and of Fairpath.
fn flip(v: Vec3) -> Vec3 {
    Vec3::new(v.x, -v.y, -v.z)
}

#[cfg(test)]
mod tests {
    use fairpath::Vector;
    use fairpath::motion::dis::Model;

    use super::*;

    #[test]
    fn known_places_have_their_published_coordinates() {
        // The defining constants of the ellipsoid, and EPSG's worked example 9602.
        let equator = Geodetic::default().to_geocentric();
        assert_eq!(equator, Vec3::new(A, 0.0, 0.0));
        let pole = Geodetic { latitude: 90.0, longitude: 0.0, height: 0.0 }.to_geocentric();
        assert!((pole.z - 6_356_752.314_245).abs() < 1e-6, "{}", pole.z);
        let example = Geodetic {
            latitude: 53.0 + 48.0 / 60.0 + 33.820 / 3600.0,
            longitude: 2.0 + 7.0 / 60.0 + 46.380 / 3600.0,
            height: 73.0,
        };
        let expected = Vec3::new(3_771_793.968, 140_253.342, 5_124_304.349);
        assert!(example.to_geocentric().distance(expected) < 2e-3, "{:?}", example.to_geocentric());
    }

    #[test]
    fn places_come_back_from_geocentric_coordinates() {
        for latitude in [-90.0, -60.0, -0.1, 0.0, 33.3, 89.999, 90.0] {
            for (longitude, height) in [(0.0, 0.0), (-122.4, 9_000.0), (179.9, -400.0), (11.6, 400_000.0)] {
                let place = Geodetic { latitude, longitude, height };
                let back = Geodetic::from_geocentric(place.to_geocentric());
                assert!(back.to_geocentric().distance(place.to_geocentric()) < 1e-6, "{place:?} {back:?}");
                assert!((back.height - height).abs() < 1e-6 && (back.latitude - latitude).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn the_axes_are_east_north_and_up() {
        let munich = Geodetic { latitude: 48.1, longitude: 11.6, height: 520.0 };
        let frame = LocalFrame::at(munich);
        let moved = |latitude, longitude, height| {
            frame.to_local(Geodetic { latitude, longitude, height }.to_geocentric())
        };
        let (north, east, up) =
            (moved(48.101, 11.6, 520.0), moved(48.1, 11.601, 520.0), moved(48.1, 11.6, 620.0));
        assert!((north.y - 111.2).abs() < 0.1 && north.x.abs() < 1e-6, "{north:?}");
        assert!((east.x - 74.5).abs() < 0.1 && east.y.abs() < 1e-2, "{east:?}");
        assert!(up.distance(Vec3::new(0.0, 0.0, 100.0)) < 1e-6, "{up:?}");
    }

    #[test]
    fn every_model_flies_the_same_curve_in_both_frames() {
        let frame = LocalFrame::at(Geodetic { latitude: -33.9, longitude: 151.2, height: 10.0 });
        for model in Model::ALL {
            let outside = Dis {
                model,
                position: frame.to_geocentric(Vec3::new(12_000.0, -7_000.0, 900.0)),
                velocity: Vec3::new(120.0, -60.0, 33.0),
                acceleration: Vec3::new(3.0, 1.0, -2.0),
                orientation: Quat { w: 0.3, v: Vec3::new(0.5, -0.7, 0.2) }.normalized(),
                angular_velocity: Vec3::new(0.1, 0.3, -0.2),
            };
            let inside = frame.motion_to_local(&outside);
            let [there, here] =
                [outside, inside].map(|it| fairpath::motion::Motion::<Vec3>::Dis(it).state_at(5.0));
            assert!(frame.to_local(there.position).distance(here.position) < 1e-7, "{model:?}");
            let back = frame.motion_to_geocentric(&inside);
            assert!(
                back.position.distance(outside.position) < 1e-8
                    && back.velocity.distance(outside.velocity) < 1e-12
            );
            assert!(back.orientation.angle_to(outside.orientation) < 1e-14, "{model:?}");
        }
    }
}
