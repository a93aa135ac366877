//! Prints items as text or JSON.

use protocol::{ItemId, ListItem, ListName};
use serde::Serialize;
use tui::print;

use super::selected_list::SelectedList;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemListOutput<'a> {
    list: &'a ListName,
    items: &'a [ListItem],
}

/// Prints a line for each item.
pub(super) fn print_items(list: &SelectedList, items: &[ListItem], json: bool) {
    if json {
        return print::json(&ItemListOutput { list: &list.name, items });
    }
    if items.is_empty() {
        return print::note(format!("no item on the {} list matches", list.name));
    }
    for item in items {
        let owner = item.owner.as_deref().unwrap_or("-");
        let after =
            if item.blocked_by.is_empty() { String::new() } else { format!("  after {}", join_ids(&item.blocked_by)) };
        let (status, subject) = (item.status.as_str(), print::sanitize(&item.subject));
        let owner = print::fit_cell(&print::sanitize(owner), 16);
        print::row(format!("{:>4}  {status:<11}  {owner}  {subject}{after}", item.id.0));
    }
}

/// Prints all fields of an item.
pub(super) fn print_item(list: &SelectedList, item: &ListItem, json: bool) {
    if json {
        return print::json(item);
    }
    let mut rows = vec![
        ("item", format!("{} of the {} list", item.id, list.name)),
        ("subject", item.subject.clone()),
        ("status", item.status.as_str().to_owned()),
        ("version", item.version.to_string()),
    ];
    let mut add = |name, value: Option<String>| rows.extend(value.map(|value| (name, value)));
    add("owner", item.owner.clone());
    add("doing", item.active_form.clone());
    add("after", (!item.blocked_by.is_empty()).then(|| join_ids(&item.blocked_by)));
    add("before", (!item.blocks.is_empty()).then(|| join_ids(&item.blocks)));
    add("task", item.task.map(|task| task.to_string()));
    add("archived", item.archived.then(|| "yes".into()));
    add("author", Some(item.author.clone()).filter(|author| !author.is_empty()));
    add("created", Some(item.created_at.to_string()));
    add("changed", Some(item.updated_at.to_string()));
    add("metadata", (!item.metadata.is_empty()).then(|| serde_json::Value::Object(item.metadata.clone()).to_string()));
    for (name, value) in rows {
        print::output(format!("{name:<10}{}", print::sanitize(&value)));
    }
    if !item.description.is_empty() {
        print::output(format!("\n{}", print::sanitize(&item.description)));
    }
}

/// Prints the new state of an item.
pub(super) fn print_changed(item: &ListItem, json: bool) {
    if json {
        return print::json(item);
    }
    let subject = print::sanitize(&print::one_line(&item.subject, 80));
    print::output(format!("{} {}, version {}: {subject}", item.id, item.status.as_str(), item.version));
}

fn join_ids(ids: &[ItemId]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
