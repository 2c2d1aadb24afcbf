/// A list that mostly holds no or one element. The first element is stored inline, so that a walk
/// over thousands of lists follows no pointers.
#[derive(Clone, Debug)]
pub(super) struct SmallList<T> {
    /// `None` only if `others` is empty too.
    first: Option<T>,
    others: Vec<T>,
}

impl<T> Default for SmallList<T> {
    fn default() -> Self {
        Self { first: None, others: Vec::new() }
    }
}

impl<T> SmallList<T> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.others.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// The elements in insertion order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(&self.others)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.others)
    }

    pub(super) fn push(&mut self, element: T) {
        match self.first {
            None => self.first = Some(element),
            Some(_) => self.others.push(element),
        }
    }

    pub(super) fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }

    /// Keeps the elements for which `is_kept` is true. Calls it once for each, in order.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        self.first = self.first.take().filter(|first| is_kept(first));
        self.others.retain(is_kept);
        if self.first.is_none() && !self.others.is_empty() {
            self.first = Some(self.others.remove(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn it_is_a_list() {
        let mut random = Random::from_seed(1);
        let (mut small, mut list) = (SmallList::default(), Vec::new());
        for step in 0..10_000_u64 {
            match random.below(12) {
                0 => {
                    small.clear();
                    list.clear();
                }
                1..=3 => {
                    let gone = random.below(3);
                    let mut asked = Vec::new();
                    small.retain(|element| {
                        asked.push(*element);
                        element % 3 != gone
                    });
                    assert_eq!(asked, list);
                    list.retain(|element| element % 3 != gone);
                }
                4 => {
                    small.iter_mut().for_each(|element| *element += 1);
                    list.iter_mut().for_each(|element| *element += 1);
                }
                _ => {
                    small.push(step);
                    list.push(step);
                }
            }
            assert!(small.iter().eq(&list), "in step {step}");
            assert_eq!((small.len(), small.is_empty()), (list.len(), list.is_empty()));
        }
    }
}
