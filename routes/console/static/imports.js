// Remembers on this device which field each column of a file filled, for each kind of rows, and offers it again.
"use strict";

function keyOfImport(form) {
  const user = document.querySelector("form.who");
  return `walkthrough-import:${user ? user.dataset.user : ""}:${form.dataset.import}`;
}

function columnsOf(form) {
  return [...form.querySelectorAll('select[name="field"]')].map((select) => ({
    name: select.closest("tr").querySelector('input[name="column"]').value,
    select,
  }));
}

function lastMapping(form) {
  try {
    return JSON.parse(localStorage.getItem(keyOfImport(form))) || {};
  } catch {
    return {};
  }
}

function rememberMapping(form) {
  const chosen = Object.fromEntries(columnsOf(form).map((each) => [each.name, each.select.value]));
  try {
    if (Object.keys(chosen).length > 0) localStorage.setItem(keyOfImport(form), JSON.stringify(chosen));
  } catch {
    // Without storage, nothing is remembered.
  }
}

for (const form of document.querySelectorAll("form[data-import]")) {
  const offer = form.querySelector("[data-last-mapping]");
  const last = lastMapping(form);
  const changed = columnsOf(form).filter(
    ({ name, select }) =>
      Object.hasOwn(last, name) &&
      last[name] !== select.value &&
      [...select.options].some((each) => each.value === last[name])
  );
  if (offer && changed.length > 0) {
    offer.hidden = false;
    offer.querySelector("button").addEventListener("click", () => {
      changed.forEach(({ name, select }) => (select.value = last[name]));
      offer.hidden = true;
      changed[0].select.focus();
    });
  }
  form.addEventListener("submit", () => rememberMapping(form));
}
