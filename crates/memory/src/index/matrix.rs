//! Dense vectors of one length, one beside the other.

/// Vectors in a block: a block never moves, and what is not filled is little.
const BLOCK: usize = 1_024;

/// Vectors of one length, by number. Numbers of vectors that were taken out are used again.
#[derive(Debug)]
pub(crate) struct Matrix {
    dimension: usize,
    blocks: Vec<Vec<f32>>,
    count: usize,
    free: Vec<u32>,
}

impl Matrix {
    /// Without a vector; each will have `dimension` values.
    pub(crate) fn new(dimension: usize) -> Self {
        Self {
            dimension,
            blocks: Vec::new(),
            count: 0,
            free: Vec::new(),
        }
    }

    /// Takes a vector in; none if it has another length.
    pub(crate) fn put(&mut self, vector: &[f32]) -> Option<u32> {
        if vector.len() != self.dimension || vector.is_empty() {
            return None;
        }
        if let Some(number) = self.free.pop() {
            self.row_mut(number)?.copy_from_slice(vector);
            return Some(number);
        }
        let number = u32::try_from(self.count).ok()?;
        if self.count.is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK * self.dimension));
        }
        self.blocks.last_mut()?.extend_from_slice(vector);
        self.count += 1;
        Some(number)
    }

    /// Lets a vector's place be used again.
    pub(crate) fn take_out(&mut self, number: u32) {
        if let Some(row) = self.row_mut(number) {
            row.fill(0.0);
            self.free.push(number);
        }
        if self.free.len() == self.count {
            *self = Self::new(self.dimension);
        }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == self.free.len()
    }

    /// The vector of that number.
    pub(crate) fn row(&self, number: u32) -> Option<&[f32]> {
        let (block, start) = self.place(number)?;
        self.blocks.get(block)?.get(start..start + self.dimension)
    }

    fn row_mut(&mut self, number: u32) -> Option<&mut [f32]> {
        let (block, start) = self.place(number)?;
        self.blocks.get_mut(block)?.get_mut(start..start + self.dimension)
    }

    fn place(&self, number: u32) -> Option<(usize, usize)> {
        let number = usize::try_from(number).ok()?;
        Some((number / BLOCK, number % BLOCK * self.dimension))
    }
}
