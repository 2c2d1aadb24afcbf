use crate::time::Span;

/// The settings of [`ErrorIndex`](super::ErrorIndex).
///
/// Defaults were chosen on tanks and on parts of recorded matches, with 200, 500 and 800 ms to
/// three receivers. The numbers below are changes of that measurement.
/// `docs/src/benchmarks/error-index.md` has all of it, and the data it was judged on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorIndexConfig {
    /// The budget for each trigger of any entity, in DR vectors or bytes: in the
    /// unit in which departures are reported. No default.
    ///
    /// Zero sends every entity to every receiver once and then nothing. From one DR vector for each
    /// receiver on, no choice is needed: every receiver is sent every copy that reduces its error.
    pub budget: f64,
    /// How long after arrival a copy is judged. Default 200 ms, between a turning tank's triggers.
    ///
    /// Shorter favours receivers that are off right now: at 50 ms a tenth less spread and 1 % more
    /// error. Longer favours receivers that will be off, by a forecast that is no longer good: at
    /// 750 ms a quarter more spread.
    pub outlook: Span,
    /// Interval of decisions between triggers. Default 50 ms; zero disables them.
    ///
    /// Shorter costs time and gains nothing, and so does 100 ms. Zero misses that a copy has become
    /// worth its price: 3 to 7 % more error on recordings.
    pub look_again: Span,
    /// How far back the forecast averages the entity's motion. Default 200 ms.
    ///
    /// Shorter takes twitches for turns: at 100 ms 3 % more error on recordings. Longer takes turns
    /// for twitches, and is late with them.
    pub forecast_window: Span,
    /// Initial weight of fairness against mean error: metres of gain for each metre by which other
    /// receivers are farther off on average. No unit. Default 5. At zero only the mean counts.
    ///
    /// From there it is adjusted to reach `mean_max`. A value ten times too low or too high takes a
    /// minute or two to adjust; a match of half a minute is decided by the initial value. See
    /// [`fairer`](Self::fairer).
    pub fairness: f64,
    /// The mean error up to which fairness is increased, as a multiple of the mean error of sending
    /// to all receivers every k-th time at the same cost. Default 0.93.
    ///
    /// This is the setting between accurate and fair. Below what can be reached, 0.7 on tanks,
    /// fairness fades away; above what equal errors cost, 1.25 among dodging players, nothing more
    /// is gained. Example: on recorded QuakeWorld, 0.93 has half of the spread of sending to all
    /// receivers every third time at 4 % more mean error, 1.03 a third of it at 12 % more.
    pub mean_max: f64,
    /// The fairness penalty of the farthest receiver, if it ever has the least error, relative to a
    /// receiver without delay, whose penalty is this value plus one. Default 0.25.
    ///
    /// Near receivers need a larger penalty to have as much error as far ones, which have error
    /// anyway. Large values penalise all alike: a tenth less spread, 1 % more error. Zero never
    /// penalises the farthest.
    pub far_share: f64,
    /// The account that the penalty compares with is the largest one, but at most this many times
    /// the mean. Default 1.25.
    ///
    /// At 1.1 hardly any receiver waits for one that has more error than most: a third more spread.
    /// Large values make all receivers wait for one that no copies can help, or that says so.
    pub leader_max: f64,
    /// How many triggers' worth of budget may be spent ahead. Default 3.
    ///
    /// Zero makes a copy that is needed now wait for the next trigger: a sixth more error on tanks.
    /// More makes bursts larger and is hardly better.
    pub borrow: f64,
    /// How many triggers' worth of budget can be saved, and how many can be owed for copies that
    /// had to be sent. Default 100, a quarter of a minute of a busy tank.
    ///
    /// Ten waste what a quiet stretch leaves for the next turn: a tenth less is sent on recordings.
    /// Far more lets an hour of idling pay for minutes of sending everything to all receivers.
    pub save: f64,
    /// How strongly the price responds to savings: by this power of e for each trigger's worth of
    /// budget. Default 0.1.
    ///
    /// Higher spends budget as it comes and saves nothing for turns; lower lets debts and savings
    /// run to their bounds.
    pub price_response: f64,
    /// How fast the price learns the level at which income and spending agree: like
    /// `price_response`, but permanent, at every trigger. Default 0.002.
    ///
    /// Zero leaves a few percent of the budget unspent, or owed, where the entity moves unlike a
    /// tank; a tenth of `price_response` makes the price swing.
    pub price_learning: f64,
}

impl ErrorIndexConfig {
    /// Returns the defaults, with this budget for each trigger.
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

    /// Multiplies the fairness by `times`; each doubling also allows a tenth more mean error. On a
    /// recording of tanks, half is 40 % more spread for 5 % less error, twice is 40 % less spread
    /// for 8 % more error.
    #[must_use]
    pub fn fairer(mut self, times: f64) -> Self {
        self.fairness *= times;
        self.mean_max += 0.1 * libm::log2(times);
        self
    }

    /// Replaces invalid settings: NaN and negative numbers become zero, infinite ones large.
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

/// More than any setting needs; sums and products of a few such numbers are still finite.
const LARGE: f64 = 1e12;
/// Longer than any useful look ahead or back.
const SPAN_MAX: Span = Span::from_secs(60);
