// Focuses the search field of a list with the key "/", closes the groups of the menu, filters the rows of a choice, and
// copies the text of a field or an element.
"use strict";
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, select, textarea")) return;
  const search = document.querySelector('input[type="search"]');
  if (!search) return;
  event.preventDefault();
  search.focus();
  search.select();
});
// A group of the menu closes when the user clicks elsewhere or presses Escape.
function closeGroups(except) {
  for (const group of document.querySelectorAll(".top nav details[open]")) if (group !== except) group.open = false;
}
document.addEventListener("click", (event) => closeGroups(event.target.closest(".top nav details")));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const summary = document.activeElement.closest(".top nav details[open]")?.querySelector("summary");
  closeGroups(null);
  if (summary) summary.focus();
});
// Hides the rows, and the groups without rows, that lack a word of the text.
for (const field of document.querySelectorAll("input[data-filter]")) {
  const groups = [...document.getElementById(field.dataset.filter).children];
  field.closest("p").hidden = false;
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") event.preventDefault();
  });
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const group of groups) {
      const rows = [...group.querySelectorAll("li")];
      const heading = group.querySelector("h3")?.textContent ?? "";
      for (const row of rows) {
        const text = `${row.textContent} ${heading}`.toLowerCase();
        row.hidden = !words.every((each) => text.includes(each));
      }
      group.hidden = rows.every((row) => row.hidden);
    }
  });
}
for (const button of document.querySelectorAll("button[data-copy]")) {
  const field = document.getElementById(button.dataset.copy);
  const isInput = field.matches("input");
  button.hidden = (isInput && field.type !== "text") || !navigator.clipboard;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(isInput ? field.value : field.textContent);
    button.textContent = "Copied";
  });
}
