//! What hangs together.

/// Members in pieces that are joined one after another. A piece has the number of its first member.
pub(crate) struct Pieces(Vec<usize>);

impl Pieces {
    /// Each member is a piece of its own.
    pub(crate) fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    /// The first member of the piece that a member is in.
    pub(crate) fn first(&mut self, mut member: usize) -> usize {
        while self.0[member] != member {
            self.0[member] = self.0[self.0[member]];
            member = self.0[member];
        }
        member
    }

    /// Joins the pieces of two members. Whether these were two.
    pub(crate) fn join(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
        a != b
    }
}
