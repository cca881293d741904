//! What a run is given, by level: equal up to the observer's level in both runs of a pair, and different above it.

use std::fs;
use std::path::Path;
use tidegate_policy::Classification;

use Classification::{Confidential, Internal, Public, Restricted};

/// Words of which contents are made; one of them is what the custom rules look for.
const WORDS: [&str; 16] = [
    "harbour",
    "lantern",
    "forbidden",
    "copper",
    "plan.md",
    "meadow",
    "public/out.txt",
    "violet",
    "granite",
    "ann",
    "confidential/key.txt",
    "salmon",
    "7741",
    "ember",
    "internal/",
    "quartz",
];

/// Names of files that a folder may have.
const FILES: [&str; 4] = ["plan.md", "notes.txt", "key.txt", "deep/er.txt"];

/// The inputs of one run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inputs {
    /// What both runs of a pair have.
    pub(crate) seed: u64,
    /// Up to which level the inputs of both are equal.
    pub(crate) observer: Classification,
    /// Tells the runs of a pair apart.
    pub(crate) variant: u64,
}

impl Inputs {
    /// Chance for an input of `level` that is called `name`. Above the observer it is another one in each variant.
    pub(crate) fn chance(&self, level: Classification, name: &str) -> fastrand::Rng {
        let variant = if level > self.observer { self.variant } else { 0 };
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in format!("{}/{variant}/{level}/{name}", self.seed).bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        fastrand::Rng::with_seed(hash)
    }

    /// A text of `level`: content and length are chance.
    pub(crate) fn text(&self, level: Classification, name: &str) -> String {
        let mut chance = self.chance(level, name);
        let count = chance.usize(1..14);
        let mut words: Vec<String> = (0..count)
            .map(|_| WORDS[chance.usize(..WORDS.len())].to_owned())
            .collect();
        words.push(format!("{level}-{}", chance.u32(..)));
        let mut text = words.join(if chance.bool() { " " } else { "\n" });
        if chance.u8(..8) == 0 {
            text = text.repeat(12);
        }
        text
    }

    /// Makes the files of the workspace: which are there is chance, too.
    pub(crate) fn make_files(&self, workspace: &Path) {
        let places = [
            ("public", Public),
            ("internal", Internal),
            ("", Internal),
            ("confidential", Confidential),
            ("restricted", Restricted),
        ];
        for (folder, level) in places {
            let folder_path = workspace.join(folder);
            fs::create_dir_all(&folder_path).unwrap();
            for name in FILES {
                let what = format!("file {folder}/{name}");
                if self.chance(level, &what).u8(..4) > 0 {
                    let path = folder_path.join(name);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, self.text(level, &what)).unwrap();
                }
            }
        }
    }
}
