// Keeps what a user types in a form on this device until the form is submitted (outbox.js) and the server has taken it.
// Passwords and files are not kept. The drafts are in IndexedDB: a killed browser loses the last seconds of localStorage.
"use strict";
const STORE = "drafts";
const KEPT_MS = 7 * 24 * 3600 * 1000;
const SKIPPED_TYPES = ["hidden", "password", "submit", "button", "reset", "file"];
const typed = new WeakSet();

function submissionField(form) {
  return form.querySelector('input[name="submission"]');
}

function userOf(submission) {
  return submission.split(":")[0];
}

// The id as the server writes it in the cookie of a saved form.
function idOf(submission) {
  const [, id, , number] = submission.split(":");
  return number ? `${id}.${number}` : id;
}

function keyOf(form) {
  const action = new URL(form.getAttribute("action") || window.location.href, window.location.href);
  ["done", "signature", "undo"].forEach((name) => action.searchParams.delete(name));
  return userOf(submissionField(form).value) + ":" + action.pathname + action.search;
}

function keptFields(form) {
  return [...form.elements].filter((each) => each.name && !SKIPPED_TYPES.includes(each.type) && each.type !== undefined);
}

function isChoice(field) {
  return field.type === "checkbox" || field.type === "radio";
}

function draftForms() {
  return [...document.querySelectorAll("form[method=post]")].filter(
    (form) => submissionField(form) && !("noDraft" in form.dataset) && keptFields(form).length > 0
  );
}

function settled(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function openDatabase(name, options, store) {
  const request = indexedDB.open(name, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(store, options);
  return settled(request);
}

const database = openDatabase("walkthrough", {}, STORE);

// Calls `change` with a store and commits. The page may close before the promise is settled.
async function changeStore(database, name, change) {
  const transaction = (await database).transaction(name, "readwrite");
  change(transaction.objectStore(name));
  transaction.commit();
  return new Promise((resolve, reject) => {
    transaction.oncomplete = resolve;
    transaction.onabort = () => reject(transaction.error);
  });
}

// The keys and the values of a store.
async function readStore(database, name) {
  const store = (await database).transaction(name).objectStore(name);
  return Promise.all([settled(store.getAllKeys()), settled(store.getAll())]);
}

function changeDrafts(change) {
  return changeStore(database, STORE, change);
}

async function readDrafts() {
  const [keys, drafts] = await readStore(database, STORE);
  return new Map(keys.map((key, at) => [key, drafts[at]]));
}

function draftOf(form) {
  const fields = keptFields(form).map((each) => [each.name, each.value, isChoice(each) && each.checked]);
  const seen = [...form.querySelectorAll('input[name="seen"]')].map((each) => each.value);
  return { at: Date.now(), submission: submissionField(form).value, fields, seen };
}

function keepDraft(form) {
  const draft = draftOf(form);
  const key = keyOf(form);
  changeDrafts((store) => store.put(draft, key)).catch(() =>
    showNote(form, "This device has no room to keep what you type.")
  );
}

function showNote(form, text) {
  let note = form.querySelector(".draft-note");
  if (!note) {
    note = document.createElement("p");
    note.className = "note draft-note";
    note.setAttribute("role", "status");
    form.prepend(note);
  }
  note.textContent = text;
  return note;
}

// A field of the form that has the name and, for a choice, the value of a kept one. Each field is matched once.
function restoreDraft(form, draft) {
  const rest = keptFields(form);
  let isChanged = false;
  draft.fields.forEach(([name, value, isChecked]) => {
    const at = rest.findIndex((each) => each.name === name && (!isChoice(each) || each.value === value));
    if (at < 0) return;
    const [field] = rest.splice(at, 1);
    if (isChoice(field)) {
      isChanged = isChanged || field.checked !== isChecked;
      field.checked = isChecked;
    } else if (field.value !== value) {
      field.value = value;
      isChanged = true;
    }
  });
  if (!isChanged) return;
  submissionField(form).value = draft.submission;
  // The digests of the row that the user saw: the server compares them with the row of today.
  const seen = form.querySelectorAll('input[name="seen"]');
  if (seen.length === draft.seen.length) seen.forEach((each, at) => (each.value = draft.seen[at]));
  const note = showNote(form, "What you typed earlier is back. It is not saved yet. ");
  const discard = document.createElement("button");
  discard.type = "button";
  discard.className = "quiet";
  discard.textContent = "Discard";
  discard.addEventListener("click", async () => {
    await changeDrafts((store) => store.delete(keyOf(form)));
    window.location.reload();
  });
  note.append(discard);
}

// Removes old drafts and that of the saved submission, and puts the others back in their forms.
async function restoreDrafts(saved) {
  const drafts = await readDrafts();
  const isOver = (draft) => Date.now() - draft.at > KEPT_MS || idOf(draft.submission) === saved;
  const over = [...drafts.keys()].filter((key) => isOver(drafts.get(key)));
  if (over.length) changeDrafts((store) => over.forEach((key) => store.delete(key)));
  over.forEach((key) => drafts.delete(key));
  // The server has filled in a form that it refused, or for a preview.
  if ("filled" in document.getElementById("main").dataset) return;
  draftForms().forEach((form) => {
    const draft = drafts.get(keyOf(form));
    if (draft && !typed.has(form)) restoreDraft(form, draft);
  });
}

function savedSubmission() {
  const cookie = document.cookie.split("; ").find((each) => each.startsWith("walkthrough_saved="));
  return cookie ? cookie.split("=")[1] : "";
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches(".who")) {
    const user = form.dataset.user;
    changeDrafts((store) => store.delete(IDBKeyRange.bound(`${user}:`, `${user};`))); // ";" follows ":"
    return;
  }
  if (form.matches("[data-asks]") || submissionField(form)) form.dataset.isSent = "true";
});

["input", "change"].forEach((name) =>
  document.addEventListener(name, (event) => {
    const form = event.target.form;
    if (!form || !draftForms().includes(form)) return;
    typed.add(form);
    keepDraft(form);
  })
);

// The browser asks before it leaves a page with ticks that are not saved.
window.addEventListener("beforeunload", (event) => {
  const form = document.querySelector("form[data-asks]");
  if (!form || form.dataset.isSent) return;
  if ([...form.elements].some((each) => each.checked !== each.defaultChecked)) event.preventDefault();
});

window.addEventListener("pageshow", () => {
  document.querySelectorAll("form[data-is-sent]").forEach((form) => delete form.dataset.isSent);
});

restoreDrafts(savedSubmission());
