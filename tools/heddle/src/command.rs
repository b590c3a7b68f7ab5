use crate::Outcome;
use crate::out::Out;
use anyhow::{Context, bail};
use heddle_emulator::{QUERIES, serve};
use serde_json::Value;
use std::io::ErrorKind;

/// Tell a running emulator what to do, or ask it how things are
///
/// A command is an event, which happens now or after a time, or a question.
#[derive(clap::Args)]
#[command(after_help = help())]
pub(crate) struct Arguments {
    /// The emulator, as named in `heddle emulate --name`
    name: String,

    /// Print the answer as the emulator gives it: a line of JSON, {"ok": ...} or {"error": ...}
    #[arg(long)]
    json: bool,

    /// The event or question; its words may be given one by one
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn help() -> String {
    let mut text = "\
Examples:
  heddle fabric site cut leaf-0:5
  heddle fabric site cut spine-1 for 10s
  heddle fabric site 2s reboot leaf-0
  heddle fabric site status
  heddle fabric site traffic all-to-all

Names with blanks are quoted within a word: heddle fabric site mute '\"leaf 1\"'

All questions:
"
    .to_owned();
    for query in QUERIES {
        text += &format!("  {} {}\n      {}\n", query.name, query.arguments, query.meaning);
    }
    text + "\n" + &crate::script::verbs()
}

impl Arguments {
    pub(crate) fn run(self, out: &mut Out) -> anyhow::Result<Outcome> {
        let name = &self.name;
        let line = serde_json::json!({ "command": self.command.join(" ") }).to_string();
        let answer = serve::command(name, &line).map_err(|error| match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::NotFound => {
                anyhow::anyhow!("no emulator \"{name}\" runs on this machine; start one: heddle emulate FABRIC --name {name}")
            }
            _ => anyhow::Error::new(error).context(format!("the emulator \"{name}\" did not answer")),
        })?;
        let value: Value = serde_json::from_str(&answer).with_context(|| format!("the emulator \"{name}\" answers what is no JSON"))?;
        if self.json {
            out.line(&answer)?;
        }
        if let Some(error) = value["error"].as_str() {
            if self.json {
                out.flush()?;
            }
            let similar: Vec<&str> = value["similar"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let similar = if similar.is_empty() { String::new() } else { format!("; similar names: {}", similar.join(", ")) };
            bail!("{error}{similar}");
        }
        if !self.json {
            // Answers with a text of their own have the same in detail beside it.
            let answer = value["ok"].get("text").unwrap_or(&value["ok"]);
            match happenings(answer) {
                Some(lines) => lines.iter().try_for_each(|line| out.line(line))?,
                None => show(out, answer, 0)?,
            }
        }
        Ok(Outcome::Fine)
    }
}

/// The answer to a statement: what happens, and when.
fn happenings(answer: &Value) -> Option<Vec<String>> {
    let one = |happening: &Value| {
        let (after, event) = (happening.get("in")?.as_f64()?, happening.get("event")?.as_str()?);
        Some(if after == 0.0 { format!("now: {event}") } else { format!("in {after} s: {event}") })
    };
    answer.as_array().filter(|all| !all.is_empty())?.iter().map(one).collect()
}

/// JSON for people: a line for each value, indented.
fn show(out: &mut Out, value: &Value, depth: usize) -> anyhow::Result<()> {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match plain(value) {
                    Some(text) => out.line(format_args!("{indent}{key}: {text}"))?,
                    None => {
                        out.line(format_args!("{indent}{key}:"))?;
                        show(out, value, depth + 1)?;
                    }
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                match (plain(value), value.as_object()) {
                    (Some(text), _) => out.line(format_args!("{indent}{text}"))?,
                    (None, Some(map)) if map.values().all(|value| plain(value).is_some()) => {
                        let words: Vec<String> = map.iter().filter_map(|(key, value)| Some(format!("{key} {}", plain(value)?))).collect();
                        out.line(format_args!("{indent}{}", words.join(", ")))?;
                    }
                    _ => show(out, value, depth + 1)?,
                }
            }
        }
        Value::String(text) => text.lines().try_for_each(|line| out.line(format_args!("{indent}{line}")))?,
        _ => out.line(format_args!("{indent}{value}"))?,
    }
    Ok(())
}

/// What fits into a line.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.contains('\n')).then(|| text.clone()),
        Value::Array(values) if values.is_empty() => Some("none".into()),
        Value::Null => Some("none".into()),
        Value::Array(_) | Value::Object(_) => None,
        other => Some(other.to_string()),
    }
}
