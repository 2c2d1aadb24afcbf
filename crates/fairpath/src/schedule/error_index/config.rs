use crate::time::Span;

/// The knobs of [`ErrorIndex`](super::ErrorIndex).
///
/// Defaults were chosen on tanks and on one half of a recorded match, with 200, 500 and 800 ms to three receivers, and
/// checked on the other half: see `docs/error-index.md`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorIndexConfig {
    /// What may be spent for each trigger of any entity, in the unit in which departures are reported: DR vectors or
    /// bytes. No default.
    ///
    /// Zero tells everybody of every entity once and then nobody of anything. From one DR vector for each
    /// receiver on, nothing has to be chosen: everyone is told of all that is worth telling.
    pub budget: f64,
    /// How long a copy is expected to be of use after its arrival; it is judged at the middle of that. Default
    /// 400 ms, about three triggers of a turning tank.
    ///
    /// Too short favours who is far off right now over who will be; too long judges by a forecast that is no longer
    /// any good: 1.5 s makes the spread a quarter larger.
    pub outlook: Span,
    /// How long until it looks again although nothing was generated. Default 50 ms; zero never does.
    ///
    /// Shorter costs time and buys nothing; longer misses that a copy has become worth it: without looking
    /// again the mean error on recordings is 3 to 6 % higher. A tenth of a second is as good.
    pub look_again: Span,
    /// How far back the forecast looks for what the entity does on average. Default 200 ms.
    ///
    /// Too short takes every twitch for a turn, and pays for it; too long takes a turn for a twitch, and is
    /// late with it.
    pub forecast_window: Span,
    /// How hard somebody who has fared well is held back: metres of gain for each metre-second of account by
    /// which others fare worse, so one over seconds. Default 0.15.
    ///
    /// This is the knob between fair and accurate. On recordings, 0.075 gives two thirds more spread for 6 % less
    /// error, 0.6 a quarter of the spread for 9 % more error.
    pub fairness: f64,
    /// How much harder in the beginning: this, over the seconds that accounts have been kept, is added to
    /// `fairness`. No unit. Default 8, and best kept at about fifty times `fairness`.
    ///
    /// Accounts are sums: in the beginning all are small, and so are their differences. Zero takes a minute to become
    /// fair; far more sways to and fro between receivers.
    pub fairness_early: f64,
    /// How hard the farthest receiver is held back, compared with a receiver without delay, who counts one more.
    /// Default 0.25.
    ///
    /// The near must be held back more to be as wrong as the far, who are wrong anyway. A large value holds
    /// all back alike, which needs larger differences to work; zero lets the farthest run away if it ever
    /// fares best.
    pub far_share: f64,
    /// The account that others are held back for is the largest, but at most this many times the mean. Default 1.25.
    ///
    /// One lets nobody wait for a receiver that is worse off than most; large values make everybody wait for one whom
    /// no number of copies can help, or who says so.
    pub leader_max: f64,
    /// How many triggers' worth of budget may be spent ahead. Default 3.
    ///
    /// Zero makes a copy that is needed now wait for the next trigger: a tenth more error on tanks. More makes
    /// bursts larger.
    pub borrow: f64,
    /// How many triggers' worth of budget can be saved, and how many owed: what was sent regardless of the
    /// price may exceed what was earned. Default 100, a quarter of a minute of a busy tank.
    ///
    /// Ten waste budget that a quiet stretch leaves for the next turn: a tenth less is sent on recordings. Far more lets
    /// an hour of idling pay for minutes of telling everyone everything, or be paid back for minutes.
    pub save: f64,
    /// How strongly the price answers to what is saved: by this factor of e for each trigger's worth of budget. Default
    /// 0.1.
    ///
    /// Higher spends as it earns and saves nothing for turns; lower lets debts and savings run to their bounds.
    pub price_response: f64,
    /// How fast the price learns the level at which earning and spending agree: the same, kept for good, at every
    /// trigger. Default 0.002.
    ///
    /// Zero leaves a part of the budget unspent, or owed, where the entity moves unlike a tank; a tenth of
    /// `price_response` makes the price swing.
    pub price_learning: f64,
}

impl ErrorIndexConfig {
    /// The defaults, with this budget for each trigger.
    pub fn new(budget: f64) -> Self {
        Self {
            budget,
            outlook: Span::from_millis(400),
            look_again: Span::from_millis(50),
            forecast_window: Span::from_millis(200),
            fairness: 0.15,
            fairness_early: 8.0,
            far_share: 0.25,
            leader_max: 1.25,
            borrow: 3.0,
            save: 100.0,
            price_response: 0.1,
            price_learning: 0.002,
        }
    }

    /// The same, as far as it makes sense: NaN and negative numbers are zero, infinite ones are large.
    pub(super) fn sensible(mut self) -> Self {
        for number in [
            &mut self.budget,
            &mut self.fairness,
            &mut self.fairness_early,
            &mut self.far_share,
            &mut self.leader_max,
            &mut self.borrow,
            &mut self.save,
            &mut self.price_response,
            &mut self.price_learning,
        ] {
            *number = if *number > 0.0 { number.min(LARGE) } else { 0.0 };
        }
        for span in [&mut self.outlook, &mut self.look_again, &mut self.forecast_window] {
            *span = (*span).clamp(Span::ZERO, SPAN_MAX);
        }
        self
    }
}

/// More than any knob needs, and sums and products of a few of them are still finite.
const LARGE: f64 = 1e12;
/// Longer than anything is worth looking ahead, or back.
const SPAN_MAX: Span = Span::from_secs(60);
