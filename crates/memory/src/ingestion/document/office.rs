//! Text documents and slides: XML in an archive.

use super::LONGEST_TEXT;
use super::unreadable::Unreadable;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::Event;
use quick_xml::{Reader, XmlVersion};
use std::io::{Cursor, Read as _};
use zip::ZipArchive;

type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// The text of a docx, odt, pptx or odp file, paragraph by paragraph.
pub(super) fn text(bytes: &[u8]) -> Result<String, Unreadable> {
    let mut archive = ZipArchive::new(Cursor::new(bytes))
        .map_err(|error| Unreadable::damaged("an Office file")(Box::new(error)))?;
    let names: Vec<String> = archive
        .file_names()
        .filter_map(|name| name.ok().map(|name| name.into_owned()))
        .collect();
    let has = |name: &str| names.iter().any(|found| found == name);
    if has("EncryptedPackage") {
        return Err(Unreadable::Encrypted);
    }
    if has("word/document.xml") {
        let mut text = part(&mut archive, "word/document.xml", is_text_of_word)?;
        for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
            if has(notes) {
                let of_notes = part(&mut archive, notes, is_text_of_word)?;
                text.push_str(&of_notes);
            }
        }
        return checked(text);
    }
    if has("content.xml") {
        return checked(part(&mut archive, "content.xml", |_| true)?);
    }
    let mut slides: Vec<(u32, String)> = names.iter().filter_map(|name| slide(name)).collect();
    slides.sort();
    if slides.is_empty() {
        return Err(Unreadable::Part {
            part: "document or slide",
        });
    }
    let mut text = String::new();
    for (number, name) in slides {
        let of_slide = part(&mut archive, &name, is_text_of_word)?;
        text.push_str(&format!("# Slide {number}\n\n{}\n\n", of_slide.trim()));
        if text.len() > LONGEST_TEXT {
            break;
        }
    }
    checked(text)
}

/// The number and name of a slide's file.
fn slide(name: &str) -> Option<(u32, String)> {
    let number = name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?;
    Some((number.parse().ok()?, name.to_owned()))
}

fn checked(text: String) -> Result<String, Unreadable> {
    if text.len() > LONGEST_TEXT {
        return Err(Unreadable::TooLong);
    }
    Ok(text)
}

/// Whether what stands in such an element is text: in the files of Microsoft only `t` is.
fn is_text_of_word(element: &str) -> bool {
    element == "t"
}

fn part(archive: &mut Archive<'_>, name: &str, is_text: fn(&str) -> bool) -> Result<String, Unreadable> {
    let mut file = archive
        .by_name(name)
        .map_err(|error| Unreadable::damaged("an Office file")(Box::new(error)))?;
    let mut xml = String::new();
    // Tags take more room than the text.
    let most = LONGEST_TEXT as u64 * 4;
    file.by_ref()
        .take(most)
        .read_to_string(&mut xml)
        .map_err(|error| Unreadable::damaged("an Office file")(Box::new(error)))?;
    if xml.len() as u64 >= most {
        return Err(Unreadable::TooLong);
    }
    words(&xml, is_text)
}

/// What is written in the XML of a document, by the local names of its elements, which the formats share.
fn words(xml: &str, is_text: fn(&str) -> bool) -> Result<String, Unreadable> {
    let damaged = |error: quick_xml::Error| Unreadable::damaged("the XML of an Office file")(Box::new(error));
    let mut reader = Reader::from_str(xml);
    let mut text = String::new();
    let mut open: Vec<bool> = Vec::new();
    loop {
        match reader.read_event().map_err(damaged)? {
            Event::Start(tag) => open.push(is_text(tag.local_name().as_ref())),
            Event::End(tag) => {
                open.pop();
                match tag.local_name().as_ref() {
                    "p" | "h" => text.push('\n'),
                    "tc" | "table-cell" => text.push('\t'),
                    _ => {}
                }
            }
            Event::Empty(tag) => match tag.local_name().as_ref() {
                "br" | "cr" | "line-break" | "p" => text.push('\n'),
                "tab" => text.push('\t'),
                "s" => text.push(' '),
                _ => {}
            },
            Event::Text(written) if open.last() == Some(&true) => {
                text.push_str(&written.xml_content(XmlVersion::Implicit1_0));
            }
            Event::CData(written) if open.last() == Some(&true) => {
                text.push_str(&written.xml_content(XmlVersion::Implicit1_0));
            }
            Event::GeneralRef(reference) if open.last() == Some(&true) => {
                let character = reference.resolve_char_ref().map_err(damaged)?;
                match (character, resolve_predefined_entity(&reference)) {
                    (Some(character), _) => text.push(character),
                    (None, Some(known)) => text.push_str(known),
                    // Entities of its own are not resolved: they could unpack to anything.
                    (None, None) => {}
                }
            }
            Event::Eof => break,
            _ => {}
        }
    }
    Ok(text)
}
