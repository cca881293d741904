//! What is embedded.

/// Texts that are embedded in one call.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) texts: Vec<String>,
    /// How often in one turn.
    pub(crate) runs: usize,
}

const SENTENCES: [&str; 8] = [
    "The ferry to the island leaves at seven in the morning from the northern harbour.",
    "Tide tables are printed every year by the office at the old pier.",
    "Whoever misses the last boat sleeps in the waiting room, which is heated.",
    "Bicycles travel free of charge between October and April.",
    "The lighthouse keeper wrote down the height of the water three times a day.",
    "In strong wind from the west the crossing takes twenty minutes longer.",
    "A ticket that was bought on board costs two euros more than one from the machine.",
    "The moon pulls the sea, and the sea pulls at the chains of the landing stage.",
];

pub(crate) fn cases() -> Vec<Case> {
    vec![
        Case {
            name: "one short text (16 tokens)",
            texts: vec![SENTENCES[0].trim_end_matches('.').to_owned()],
            runs: 60,
        },
        Case {
            name: "one text of 200 tokens",
            texts: vec![words(198)],
            runs: 12,
        },
        Case {
            name: "32 texts of 14 to 90 tokens",
            texts: (0..32).map(mixed).collect(),
            runs: 3,
        },
    ]
}

/// One to five sentences.
fn mixed(place: usize) -> String {
    let sentences = SENTENCES.iter().cycle().skip(place).take(place % 5 + 1);
    sentences.copied().collect::<Vec<_>>().join(" ")
}

/// Words that are one token each.
fn words(count: usize) -> String {
    let words = [
        "the", "ferry", "leaves", "at", "seven", "from", "an", "old", "harbour", "and", "water", "is", "high",
    ];
    words
        .iter()
        .copied()
        .cycle()
        .take(count)
        .collect::<Vec<_>>()
        .join(" ")
}
