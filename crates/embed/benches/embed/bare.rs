//! The model with nothing around it.

use crate::texts::{Case, cases};
use ort::session::Session;
use ort::session::builder::{AutoDevicePolicy, GraphOptimizationLevel};
use ort::value::Tensor;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tidegate_embed::LibraryPlaces;
use tokenizers::{PaddingParams, Tokenizer, TruncationParams};

/// A session and a tokenizer.
pub(crate) struct Bare {
    session: Session,
    tokenizer: Tokenizer,
}

impl Bare {
    pub(crate) fn open(models: &Path) -> Self {
        let places = LibraryPlaces {
            models: Some(models.to_owned()),
            ..LibraryPlaces::default()
        };
        let environment = ort::init_from(places.find().unwrap()).unwrap().build().unwrap();
        let session = Session::builder(&environment)
            .unwrap()
            .with_optimization_level(GraphOptimizationLevel::Level3)
            .unwrap()
            .with_intra_threads(std::thread::available_parallelism().unwrap().get())
            .unwrap()
            .with_auto_device(AutoDevicePolicy::PreferCPU)
            .unwrap()
            .commit_from_file(models.join("minilm/model.onnx"))
            .unwrap();
        let mut tokenizer = Tokenizer::from_file(models.join("minilm/tokenizer.json")).unwrap();
        tokenizer.with_padding(Some(PaddingParams::default()));
        tokenizer
            .with_truncation(Some(TruncationParams {
                max_length: 256,
                ..TruncationParams::default()
            }))
            .unwrap();
        Self { session, tokenizer }
    }

    /// Does what it is asked for line by line: a case, `together` or not, and how often.
    pub(crate) fn serve(mut self) {
        let cases = cases();
        for line in std::io::stdin().lines() {
            let line = line.unwrap();
            let parts: Vec<&str> = line.split('\t').collect();
            let case = cases.iter().find(|case| case.name == parts[0]).unwrap();
            let times: Vec<String> = (0..parts[2].parse().unwrap())
                .map(|_| self.time(case, parts[1] == "true").as_nanos().to_string())
                .collect();
            println!("{}", times.join(" "));
        }
    }

    fn time(&mut self, case: &Case, together: bool) -> Duration {
        let start = Instant::now();
        if together {
            self.run(&case.texts);
        } else {
            for text in &case.texts {
                self.run(std::slice::from_ref(text));
            }
        }
        start.elapsed()
    }

    fn run(&mut self, texts: &[String]) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let encoded = self.tokenizer.encode_batch(texts, true).unwrap();
        let shape = [encoded.len(), encoded[0].len()];
        let tensor = |values: fn(&tokenizers::Encoding) -> &[u32]| {
            let values = encoded.iter().flat_map(values).map(|value| i64::from(*value));
            Tensor::from_array((shape, values.collect::<Vec<i64>>())).unwrap()
        };
        let outputs = self
            .session
            .run(ort::inputs![
                "input_ids" => tensor(tokenizers::Encoding::get_ids),
                "attention_mask" => tensor(tokenizers::Encoding::get_attention_mask),
                "token_type_ids" => tensor(tokenizers::Encoding::get_type_ids),
            ])
            .unwrap();
        let (shape, values) = outputs[0].try_extract_tensor::<f32>().unwrap();
        black_box((shape, values));
    }
}

/// The process it computes in. It ends with its input.
pub(crate) struct BareProcess {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    _process: Child,
}

impl BareProcess {
    pub(crate) fn start(models: &Path, variable: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .env(variable, models)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            _process: process,
        }
    }

    /// How long each of so many runs took.
    pub(crate) fn run(&mut self, case: &str, together: bool, runs: usize) -> Vec<Duration> {
        writeln!(self.input, "{case}\t{together}\t{runs}").unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let times: Vec<Duration> = line
            .split_whitespace()
            .map(|nanoseconds| Duration::from_nanos(nanoseconds.parse().unwrap()))
            .collect();
        assert_eq!(times.len(), runs, "the bare model stopped");
        times
    }
}
