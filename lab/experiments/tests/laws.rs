//! Laws of what is written: tables come back as they were, and any figure can be drawn.

use fairpath_experiments::figure::{Axis, Bars, Figure, Histogram, Line, Path, Plot};
use fairpath_experiments::plot::draw;
use fairpath_experiments::table::{Column, Table, TableError};
use fairpath_laws::law;
use fairpath_laws::proptest::prelude::*;

/// Columns of every kind, `rows` long.
fn columns(rows: usize) -> impl Strategy<Value = Vec<Column>> {
    use prop::collection::vec;
    (
        vec(any::<i64>(), rows).prop_map(Column::I64),
        vec(any::<u32>(), rows).prop_map(Column::U32),
        vec(any::<u16>(), rows).prop_map(Column::U16),
        vec(any::<u64>(), rows).prop_map(Column::U64),
        vec(any::<Option<u32>>(), rows).prop_map(Column::OptionalU32),
        vec(any::<Option<i64>>(), rows).prop_map(Column::OptionalI64),
        vec(any::<f64>().prop_filter("NaN differs from itself", |x| !x.is_nan()), rows).prop_map(Column::F64),
        vec(any::<bool>(), rows).prop_map(Column::Bool),
        vec("\\PC{0,8}", rows).prop_map(Column::Text),
    )
        .prop_map(|(a, b, c, d, e, f, g, h, i)| vec![a, b, c, d, e, f, g, h, i])
}

fn table_of(columns: Vec<Column>) -> Table {
    let names = ["t_us", "entity", "life", "packet", "viewer", "known_us", "x", "break", "kind"];
    let table = names.into_iter().zip(columns).fold(Table::new(), |table, (name, c)| table.column(name, c));
    table.note("seed", "7").note("units", "m")
}

#[test]
fn a_table_comes_back_as_it_was() {
    law!((0usize..50).prop_flat_map(columns), |columns| {
        let table = table_of(columns);
        let back = Table::from_parquet(table.to_parquet().unwrap()).unwrap();
        prop_assert_eq!(back, table);
        Ok(())
    });
}

#[test]
fn many_rows_cross_row_groups_and_nan_survives() {
    let rows = (1 << 20) + 3;
    let times: Vec<i64> = (0..rows).map(|row| row * 16_667).collect();
    let mut x: Vec<f64> = times.iter().map(|t| (*t as f64).sqrt()).collect();
    x[5] = f64::NAN;
    let table = Table::new().column("t_us", Column::I64(times.clone())).column("x", Column::F64(x));
    let bytes = table.to_parquet().unwrap();
    assert_eq!(bytes, table.to_parquet().unwrap(), "the same table gives the same bytes");
    let back = Table::from_parquet(bytes).unwrap();
    assert_eq!(back.get("t_us"), Some(&Column::I64(times)));
    let Some(Column::F64(x)) = back.get("x") else { panic!("x is lost") };
    assert!(x[5].is_nan() && x[6] == f64::sqrt(6.0 * 16_667.0));
}

#[test]
fn uneven_columns_and_foreign_bytes_are_errors() {
    let uneven = Table::new().column("a", Column::Bool(vec![true])).column("b", Column::Bool(vec![]));
    assert!(matches!(uneven.to_parquet(), Err(TableError::Uneven { column }) if column == "b"));
    assert!(Table::from_parquet(b"t,entity,team,x,y\n".to_vec()).is_err());
    let good = table_of(vec![Column::I64(vec![1, 2, 3])]).to_parquet().unwrap();
    for end in 0..good.len() {
        assert!(Table::from_parquet(good[..end].to_vec()).is_err(), "cut at {end}");
    }
}

/// Numbers as experiments make them when something went wrong.
fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -100.0..100.0, 1 => any::<f64>(), 1 => Just(f64::NAN), 1 => Just(0.0), 1 => -1e-300..1e-300]
}

fn any_plot() -> impl Strategy<Value = Plot> {
    use prop::collection::vec;
    let points = || vec((any_number(), any_number()), 0..20);
    prop_oneof![
        vec((points(), prop::option::of(points())), 0..9).prop_map(|lines| Plot::Lines(
            lines.into_iter().map(|(points, band)| Line { label: "<line>".into(), points, band }).collect()
        )),
        vec(points(), 0..4).prop_map(|paths| Plot::Paths(
            paths.into_iter().map(|points| Path::new("a & b", points)).collect()
        )),
        (0usize..5, vec(vec(any_number(), 0..7), 0..4)).prop_map(|(groups, series)| Plot::Bars(
            series.into_iter().fold(Bars::new(vec!["group of words".into(); groups]), |bars, values| {
                let ranges: Vec<_> = values.iter().map(|v| (v - 1.0, v + 1.0)).collect();
                bars.series_with_ranges("bar", values, ranges)
            })
        )),
        (vec(any_number(), 0..50), 0usize..20)
            .prop_map(|(values, bins)| Plot::Histogram(Histogram::of(&[("values", &values)], bins))),
    ]
}

#[test]
fn any_figure_can_be_drawn() {
    law!((any_plot(), any::<bool>(), any::<bool>()), |(plot, log_x, log_y)| {
        let axis = |log| if log { Axis::new("a", "m").logarithmic() } else { Axis::new("a", "m") };
        let svg = draw(&Figure::new("any", "Anything <at> all", axis(log_x), axis(log_y), plot));
        prop_assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        prop_assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", svg);
        prop_assert!(!svg.contains("<line>") && !svg.contains("a & b"), "text is escaped");
        Ok(())
    });
}
