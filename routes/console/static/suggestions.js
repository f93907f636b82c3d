// Suggests rows while a user types: fills the datalist of a field from the URL in data-suggest.
"use strict";
const WAIT_MS = 150;
for (const field of document.querySelectorAll("input[data-suggest]")) {
  const list = document.getElementById(field.getAttribute("list"));
  let timer = 0;
  let sent = new AbortController();
  const fetchSuggestions = async () => {
    sent.abort();
    sent = new AbortController();
    const url = new URL(field.dataset.suggest, location.href);
    url.searchParams.set("q", field.value);
    try {
      const answer = await fetch(url, { signal: sent.signal, headers: { Accept: "application/json" } });
      if (!answer.ok || answer.redirected) return;
      const rows = await answer.json();
      list.replaceChildren(...rows.map(({ value, label }) => Object.assign(document.createElement("option"), { value, label })));
    } catch {
      // Aborted by the next one, or no network: the field takes any text.
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    if ([...list.options].some((each) => each.value === field.value)) return;
    timer = setTimeout(fetchSuggestions, WAIT_MS);
  });
}
