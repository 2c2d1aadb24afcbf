//! Named tracks, drawn by hand.

use fairpath::vector::Vec2;

use super::generate::rounded;
use super::survey::Section;
use super::{Shape, Track};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Two long straights, two wide bends; 1.1 km. Tests speed.
    Oval,
    /// A bean: one long bend, one the other way; 1.2 km. Tests the line.
    Bean,
    /// Narrow, back and forth between tight corners; 1.4 km. Tests braking.
    Harbour,
    /// Up a hill from a start to a finish, bend after bend; 1.7 km. The only stage.
    Ridge,
}

impl Preset {
    pub const ALL: [Self; 4] = [Self::Oval, Self::Bean, Self::Harbour, Self::Ridge];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Oval => "oval",
            Self::Bean => "bean",
            Self::Harbour => "harbour",
            Self::Ridge => "ridge",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    fn plan(self) -> PresetShape {
        match self {
            Self::Oval => PresetShape {
                shape: Shape::Circuit,
                corners: &[(20.0, -75.0), (230.0, -75.0), (230.0, 75.0), (-230.0, 75.0), (-230.0, -75.0)],
                softness: 72.0,
                half_width: 7.0,
            },
            Self::Bean => PresetShape {
                shape: Shape::Circuit,
                corners: &[
                    (-190.0, 10.0),
                    (-190.0, -80.0),
                    (-80.0, -110.0),
                    (30.0, -30.0),
                    (90.0, -90.0),
                    (220.0, -70.0),
                    (220.0, 90.0),
                    (60.0, 160.0),
                    (-100.0, 140.0),
                    (-190.0, 60.0),
                ],
                softness: 48.0,
                half_width: 6.0,
            },
            Self::Harbour => PresetShape {
                shape: Shape::Circuit,
                corners: &[
                    (60.0, -90.0),
                    (250.0, -90.0),
                    (250.0, -30.0),
                    (110.0, -20.0),
                    (80.0, 20.0),
                    (120.0, 50.0),
                    (230.0, 60.0),
                    (240.0, 130.0),
                    (40.0, 130.0),
                    (10.0, 95.0),
                    (-60.0, 95.0),
                    (-110.0, 130.0),
                    (-180.0, 70.0),
                    (-130.0, -90.0),
                ],
                softness: 26.0,
                half_width: 4.6,
            },
            Self::Ridge => PresetShape {
                shape: Shape::Stage,
                corners: &[
                    (-420.0, -160.0),
                    (-200.0, -160.0),
                    (-110.0, -60.0),
                    (-240.0, 10.0),
                    (-230.0, 110.0),
                    (-60.0, 120.0),
                    (10.0, 20.0),
                    (80.0, -110.0),
                    (200.0, -110.0),
                    (210.0, 10.0),
                    (110.0, 80.0),
                    (150.0, 170.0),
                    (400.0, 170.0),
                ],
                softness: 32.0,
                half_width: 5.0,
            },
        }
    }
}

struct PresetShape {
    shape: Shape,
    corners: &'static [(f64, f64)],
    softness: f64,
    half_width: f64,
}

impl Track {
    pub fn preset(preset: Preset) -> Self {
        let PresetShape { shape, corners, softness, half_width } = preset.plan();
        let corners: Vec<Vec2> = corners.iter().map(|(x, y)| Vec2::new(*x, *y)).collect();
        let sections: Vec<Section> = rounded(shape, &corners, softness)
            .into_iter()
            .map(|position| Section { position, left: half_width, right: half_width })
            .collect();
        Self::new(preset.name(), shape, &sections)
            .unwrap_or_else(|error| unreachable!("{} is a sound track: {error}", preset.name()))
    }
}
