//! Fetches a model into a folder: `cargo run --example fetch -- minilm FOLDER`. Without arguments it lists what there is.

use tidegate_embed::fetch::{Fetch, Progress, known};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(name), Some(folder)) = (arguments.next(), arguments.next()) else {
        for model in known() {
            println!("{:<48} {}", model.name, model.description);
        }
        return Ok(());
    };
    let fetch = Fetch::new(folder).progress(|progress| match progress {
        Progress::Started { what, .. } => println!("fetching {what}"),
        Progress::Checking { what } => println!("checking {what}"),
        Progress::Again { what, problem } => println!("{what}: {problem}; going on"),
        Progress::Installed { what } => println!("{what} is in place"),
        _ => {}
    });
    let fetched = fetch.named(&name).await?;
    println!("{}", fetched.folder.display());
    Ok(())
}
