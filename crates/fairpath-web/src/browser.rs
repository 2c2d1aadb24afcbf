//! What JavaScript sees: one class, strings and flat arrays.

use plotters::drawing::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use wasm_bindgen::prelude::wasm_bindgen;
use web_sys::HtmlCanvasElement;

use crate::chart::Look;
use crate::scene::{self, Scene};

/// A scene on the page.
#[wasm_bindgen]
pub struct Stage {
    scene: Box<dyn Scene>,
}

#[wasm_bindgen]
impl Stage {
    /// The scene of this name, or nothing.
    pub fn of(name: &str, seed: u32) -> Option<Stage> {
        Some(Self { scene: scene::scene(name, seed.into())? })
    }

    /// Its knobs, one a line: name, least, greatest, step, at first.
    pub fn knobs(&self) -> String {
        let line = |knob: &scene::Knob| {
            let scene::Knob { name, low, high, step, usual } = knob;
            format!("{name} {low} {high} {step} {usual}")
        };
        self.scene.knobs().iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// Turns a knob to the nearest value it can have; false if there is none of that name.
    pub fn turn(&mut self, knob: &str, value: f64) -> bool {
        scene::turn(self.scene.as_mut(), knob, value)
    }

    /// What a person's hands do.
    pub fn steer(&mut self, right: f64, ahead: f64, fires: bool) {
        self.scene.steer(right, ahead, fires);
    }

    /// Plays so many ticks.
    pub fn step(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| self.scene.tick());
    }

    /// Everything there is to draw.
    pub fn frame(&self) -> Vec<f64> {
        let mut numbers = Vec::new();
        self.scene.frame(&mut numbers);
        numbers
    }

    /// What never moves, as lines: for each how many points, and their x and y.
    pub fn ground(&self) -> Vec<f64> {
        let line = |line: Vec<fairpath::Vec2>| {
            let points = line.iter().flat_map(|point| [point.x, point.y]);
            std::iter::once(line.len() as f64).chain(points).collect::<Vec<_>>()
        };
        self.scene.ground().into_iter().flat_map(line).collect()
    }

    /// 64 bits that stand for the frame, as sixteen hexadecimal digits.
    pub fn digest(&self) -> String {
        scene::digest(self.scene.as_ref()).to_string()
    }

    /// Something about the scene in words.
    pub fn words(&self, about: &str) -> String {
        self.scene.words(about)
    }

    /// Reads a file; what is wrong with it, or nothing.
    pub fn read(&mut self, name: &str, bytes: &[u8]) -> Option<String> {
        self.scene.read(name, bytes).err()
    }

    /// Draws one of its charts; `scale` is how many of the canvas's pixels one of the page's is. False if there is none.
    pub fn chart(&self, number: u32, canvas: HtmlCanvasElement, is_dark: bool, scale: f64) -> bool {
        let (Some(chart), Some(backend)) =
            (self.scene.chart(number), CanvasBackend::with_canvas_object(canvas))
        else {
            return false;
        };
        chart.draw(&backend.into_drawing_area(), Look { is_dark, scale }).is_ok()
    }
}
