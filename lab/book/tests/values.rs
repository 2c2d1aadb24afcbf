//! Goal: the sizes that `concepts/values.md` states are right. Method: encode the values of its
//! table and compare.

use serde::Serialize;

#[derive(Serialize)]
struct Ship {
    name: &'static str,
    colour: [u8; 3],
}
#[derive(Serialize)]
struct Score(u32);
#[derive(Serialize)]
struct Health {
    points: u16,
    shield: bool,
    armour: f32,
}
#[derive(Serialize)]
enum Call {
    Chat(&'static str),
    Hit { target: u32, damage: u16 },
    Ready,
}
#[derive(Serialize)]
struct Inventory {
    items: Vec<(u16, u8)>,
    gold: u64,
    worn: [Option<u16>; 6],
}
#[derive(Serialize)]
struct Input {
    tick: u32,
    keys: u8,
    aim: (f32, f32),
}

/// Returns the bytes of a value with postcard, as sessions send it, and as JSON.
fn sizes(value: &impl Serialize) -> (usize, usize) {
    let compact = postcard::to_allocvec(value).expect("a known length");
    (compact.len(), serde_json::to_vec(value).expect("JSON has all of it").len())
}

#[test]
fn the_table_of_typed_values_is_right() {
    let page = include_str!("../../../docs/src/concepts/values.md");
    let worn = [Some(3), None, None, Some(900), None, None];
    let measured = [
        ("ship", sizes(&Ship { name: "Nautilus", colour: [200, 10, 40] })),
        ("score", sizes(&Score(1234))),
        ("health", sizes(&Health { points: 87, shield: true, armour: 0.75 })),
        ("chat", sizes(&Call::Chat("good game, well played"))),
        ("hit", sizes(&Call::Hit { target: 5120, damage: 30 })),
        ("ready", sizes(&Call::Ready)),
        (
            "inventory",
            sizes(&Inventory { items: (0..12).map(|i| (i * 37, i as u8)).collect(), gold: 90210, worn }),
        ),
        ("input", sizes(&Input { tick: 123_456, keys: 5, aim: (0.3, -0.7) })),
    ];
    for (name, (postcard, json)) in measured {
        let row = page.lines().find(|line| line.starts_with(&format!("| {name}"))).expect("a row");
        let cells: Vec<usize> = row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!((cells.first(), cells.last()), (Some(&postcard), Some(&json)), "{row}");
    }
}
