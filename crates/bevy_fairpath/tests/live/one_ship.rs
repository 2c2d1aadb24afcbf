//! Goal: the first example works over a bad network: a ship is drawn where it is.
//! Method: its own apps over real sockets, 150 ms away, with 5 % loss; what the client draws is
//! compared with where the server had the ship at that instant.

#[path = "../../examples/one_ship.rs"]
#[allow(dead_code, reason = "the test has a stage of its own")]
mod example;

use crate::common::{Errors, Stage, Truth, Witness, bad, server_plugin};
use bevy_ecs::prelude::*;
use bevy_fairpath::prelude::*;
use bevy_transform::components::Transform;
use example::Ship;

#[test]
fn a_ship_is_drawn_where_it_is() {
    let mut stage = Stage::new(bad(), |app| {
        // The first plugin is the test's, with a certificate that is not stored.
        app.add_plugins(server_plugin(example::game()));
        app.add_plugins((example::shared, example::server));
        Truth::in_ticks(app);
    });
    let ship = crate::common::entities::<With<Ship>>(&mut stage.server)[0];
    stage.server.world_mut().entity_mut(ship).insert(Witness);
    stage.join(|app| {
        app.add_plugins((example::shared, FairpathClientPlugin::new(example::game())));
    });
    stage.until_connected();
    stage.until("the ship appears", |stage| {
        !crate::common::entities::<With<Ship>>(stage.client(0)).is_empty()
    });
    stage.run_for(1.0);

    let mut errors = Errors::default();
    stage.until("enough frames are drawn", |stage| {
        let client = &mut stage.clients[0];
        for ship in crate::common::entities::<(With<Ship>, With<Remote>)>(client) {
            let drawn = crate::common::get::<Transform>(client, ship).expect("it is drawn");
            errors.note(client, drawn.translation);
        }
        errors.compare(&stage.server);
        errors.count() >= 400
    });
    let (median, p90) = (errors.quantile(0.5), errors.quantile(0.9));
    println!("error of a ship at 10 u/s: median {median:.3}, p90 {p90:.3}, mean {:.3}", errors.mean());
    assert!(median < 0.25, "median {median}");
}
