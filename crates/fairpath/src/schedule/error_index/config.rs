use crate::time::Span;

/// The knobs of [`ErrorIndex`](super::ErrorIndex).
///
/// Defaults were chosen on tanks and on parts of recorded matches, with 200, 500 and 800 ms to
/// three receivers. Numbers below are changes of that measurement: `docs/error-index.md` has all of
/// it, and what it was judged on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorIndexConfig {
    /// What may be spent for each trigger of any entity, in the unit in which departures are
    /// reported: DR vectors or bytes. No default.
    ///
    /// Zero tells everybody of every entity once and then nobody of anything. From one DR vector
    /// for each receiver on, nothing has to be chosen: everyone is told of all that is worth
    /// telling.
    pub budget: f64,
    /// How long after its arrival a copy is judged. Default 200 ms, between two triggers of a
    /// turning tank.
    ///
    /// Shorter favours who is off right now: at 50 ms a tenth less spread and 1 % more error.
    /// Longer favours who will be, by a forecast that is no longer any good: at 750 ms a
    /// quarter more spread.
    pub outlook: Span,
    /// How long until it looks again although nothing was generated. Default 50 ms; zero never
    /// does.
    ///
    /// Shorter costs time and buys nothing, and so does 100 ms. Never misses that a copy has become
    /// worth it: 3 to 7 % more error on recordings.
    pub look_again: Span,
    /// How far back the forecast looks for what the entity does on average. Default 200 ms.
    ///
    /// Shorter takes twitches for turns: at 100 ms 3 % more error on recordings. Longer takes turns
    /// for twitches, and is late with them.
    pub forecast_window: Span,
    /// How hard somebody who has fared well is held back at first: metres of gain for each metre by
    /// which others are farther off on average. No unit. Default 5; zero never does, and then
    /// only the mean error counts.
    ///
    /// From there it goes where `mean_max` allows. Ten times too low or too high takes a minute or
    /// two to find there; a match of half a minute is decided by this. See
    /// [`fairer`](Self::fairer).
    pub fairness: f64,
    /// Up to which mean error receivers are made alike, as a multiple of what telling all of them
    /// every k-th time would lead to at the same cost. Default 0.93.
    ///
    /// This is the knob between accurate and fair. Below what can be reached, 0.7 on tanks,
    /// fairness fades away; above what equal errors cost, 1.25 among people who dodge, nothing
    /// more is gained. Example: on recorded QuakeWorld, 0.93 has half of the spread of telling
    /// all every third time at 4 % more mean error, 1.03 a third of it at 12 % more.
    pub mean_max: f64,
    /// How hard the farthest receiver is held back, if it ever fares best, compared with a receiver
    /// without delay, for whom this counts one more. Default 0.25.
    ///
    /// The near must be held back harder to be as wrong as the far, who are wrong anyway. Large
    /// values hold all back alike: a tenth less spread, 1 % more error. Zero never holds the
    /// farthest back.
    pub far_share: f64,
    /// The account that others are held back for is the largest, but at most this many times the
    /// mean. Default 1.25.
    ///
    /// At 1.1 hardly anybody waits for a receiver that is worse off than most: a third more spread.
    /// Large values make everybody wait for one whom no number of copies can help, or who says
    /// so.
    pub leader_max: f64,
    /// How many triggers' worth of budget may be spent ahead. Default 3.
    ///
    /// Zero makes a copy that is needed now wait for the next trigger: a sixth more error on tanks.
    /// More makes bursts larger and is hardly better.
    pub borrow: f64,
    /// How many triggers' worth of budget can be saved, and how many owed for what had to be sent.
    /// Default 100, a quarter of a minute of a busy tank.
    ///
    /// Ten waste what a quiet stretch leaves for the next turn: a tenth less is sent on recordings.
    /// Far more lets an hour of idling pay for minutes of telling everyone everything.
    pub save: f64,
    /// How strongly the price answers to what is saved: by this power of e for each trigger's worth
    /// of budget. Default 0.1.
    ///
    /// Higher spends as it earns and saves nothing for turns; lower lets debts and savings run to
    /// their bounds.
    pub price_response: f64,
    /// How fast the price learns the level at which earning and spending agree: the same, kept for
    /// good, at every trigger. Default 0.002.
    ///
    /// Zero leaves a few percent of the budget unspent, or owed, where the entity moves unlike a
    /// tank; a tenth of `price_response` makes the price swing.
    pub price_learning: f64,
}

impl ErrorIndexConfig {
    /// The defaults, with this budget for each trigger.
    pub fn new(budget: f64) -> Self {
        Self {
            budget,
            outlook: Span::from_millis(200),
            look_again: Span::from_millis(50),
            forecast_window: Span::from_millis(200),
            fairness: 5.0,
            mean_max: 0.93,
            far_share: 0.25,
            leader_max: 1.25,
            borrow: 3.0,
            save: 100.0,
            price_response: 0.1,
            price_learning: 0.002,
        }
    }

    /// The same, but this many times as fair: with each doubling it may also cost a tenth more mean
    /// error. On a recording of tanks, half is 40 % more spread for 5 % less error, twice is 40
    /// % less spread for 8 % more.
    #[must_use]
    pub fn fairer(mut self, times: f64) -> Self {
        self.fairness *= times;
        self.mean_max += 0.1 * libm::log2(times);
        self
    }

    /// The same, as far as it makes sense: NaN and negative numbers are zero, infinite ones are
    /// large.
    pub(super) fn sensible(mut self) -> Self {
        for number in [
            &mut self.budget,
            &mut self.fairness,
            &mut self.mean_max,
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
