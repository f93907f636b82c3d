// Keeps each form that is submitted without network as an entry on this device, and sends the entries in their order
// from any page when the network is back. An entry belongs to the user who submitted it, and is sent in the session of
// that user only. The server takes the id of a submission once, so an entry whose answer was lost is sent again.
// Passwords and imported files are not kept, nor forms whose answer must be read: such a form waits on its page. A form
// with a photograph of its row is kept with it first and sent then, so that a lost network loses no photograph.
"use strict";
const ENTRIES = "entries";
const RETRY_MS = 3000;
const CHECK_TIMEOUT_MS = 5000;
const SEND_TIMEOUT_MS = 30000;
const SEND_FILES_TIMEOUT_MS = 600000;
const REMEMBERED_MS = 24 * 3600 * 1000; // the server knows the id of a submission for a day
const SCRIPT_URL = document.currentScript.src;
const USER = document.querySelector(".who").dataset.user;
const JSON_HEADERS = { Accept: "application/json" };
const OFFLINE = "No network. Nothing is saved yet. ";
const KEPT = `${OFFLINE}This device keeps the form. The form is sent when the network is back.`;
const SENDING = "Sending. This device keeps the form until it is saved.";
const WAITS_HERE = `${OFFLINE}The form is sent when the network is back, if this page stays open.`;
const list = document.getElementById("waiting");
const page = document.getElementById("waiting-page");
const files = new Map(); // by form: the names of its files that the server does not have
const passed = new WeakSet();
const busy = new WeakSet();

const outbox = openDatabase("walkthrough-outbox", { keyPath: "number", autoIncrement: true }, ENTRIES);

function changeEntries(change) {
  return changeStore(outbox, ENTRIES, change);
}

// The entries of this user in their order.
async function readEntries() {
  const [, entries] = await readStore(outbox, ENTRIES);
  return entries.filter((entry) => entry.user === USER);
}

async function request(url, options, milliseconds) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), milliseconds);
  try {
    return await fetch(url, { cache: "no-store", signal: controller.signal, ...options });
  } catch (error) {
    return null;
  } finally {
    clearTimeout(timer);
  }
}

async function isServerInReach() {
  return (await request(SCRIPT_URL, { method: "HEAD" }, CHECK_TIMEOUT_MS)) !== null;
}

function isKeepable(form, submitter) {
  const hasSecret = form.querySelector("input[type=password]") !== null;
  const isRead = "online" in form.dataset || "asks" in form.dataset || Boolean(submitter && submitter.formNoValidate);
  const hasOtherFiles = form.enctype === "multipart/form-data" && !("keepsFiles" in form.dataset);
  return !hasOtherFiles && !hasSecret && !isRead;
}

function filesOf(form) {
  return [...form.querySelectorAll("input[type=file]")].flatMap((each) => [...each.files]);
}

function addressOf(form, submitter) {
  const chosen = submitter && submitter.getAttribute("formaction");
  return new URL(chosen || form.getAttribute("action") || window.location.href, window.location.href).href;
}

function entryOf(form, submitter) {
  const data = new FormData(form);
  if (submitter && submitter.name) data.append(submitter.name, submitter.value);
  const verb = submitter ? submitter.textContent : "Save";
  return {
    user: USER,
    at: Date.now(),
    address: addressOf(form, submitter),
    pairs: [...data].filter(([name, value]) => name !== "csrf" && !(value instanceof File && value.size === 0)),
    page: window.location.pathname + window.location.search,
    label: `${verb.trim()}, ${document.querySelector("h1").textContent.trim()}`.replace(/\s+/g, " "),
    key: keyOf(form),
    draft: draftOf(form),
  };
}

// What follows on the same page is another submission: its id has a number of this device at its end.
function renewSubmission(form) {
  const field = submissionField(form);
  const number = [...crypto.getRandomValues(new Uint8Array(12))].map((each) => each.toString(16).padStart(2, "0")).join("");
  field.value = [...field.value.split(":").slice(0, 3), number].join(":");
}

async function keepEntry(form, submitter, note) {
  const entry = entryOf(form, submitter);
  await changeEntries((store) => store.add(entry));
  await changeDrafts((store) => store.delete(entry.key));
  keepForNext(form);
  form.reset();
  renewSubmission(form);
  showNote(form, note);
}

// The fields that keep their values for the next row keep them when the form is reset and when the page is loaded again.
function keepForNext(form) {
  const names = (form.dataset.keeps || "").split(" ").filter(Boolean);
  if (!names.length) return;
  const url = new URL(window.location.href);
  names.forEach((name) => url.searchParams.delete(name));
  [...form.elements].filter((each) => names.includes(each.name)).forEach((each) => {
    if (isChoice(each)) each.defaultChecked = each.checked;
    else if (each.options) [...each.options].forEach((option) => (option.defaultSelected = option.selected));
    else each.defaultValue = each.value;
    if (!isChoice(each) || each.checked) url.searchParams.set(each.name, each.value);
  });
  window.history.replaceState(null, "", url);
}

function showWaiting(entries) {
  const refused = entries.filter((entry) => entry.problem);
  const count = entries.length - refused.length;
  const texts = [];
  if (count) texts.push(count === 1 ? "1 thing waits" : `${count} things wait`);
  if (refused.length) texts.push(refused.length === 1 ? "1 thing was not saved" : `${refused.length} things were not saved`);
  const photographs = [...files.values()].flat();
  if (photographs.length)
    texts.push(photographs.length === 1 ? "1 file is not stored" : `${photographs.length} files are not stored`);
  const text = texts.join(", ");
  list.hidden = text === "";
  const summary = list.querySelector("summary span");
  if (summary.textContent !== text) summary.textContent = text;
  list.querySelector("ul").replaceChildren(...photographs.map(photographLine), ...entries.map((each) => lineOf(each)));
  if (page) showPage(entries);
  showUnsent(entries);
}

// The page that lists what waits.
function showPage(entries) {
  page.querySelector("ul").replaceChildren(...entries.map((each) => lineOf(each, true)));
  page.querySelector(".empty").hidden = entries.length > 0;
}

// How much of each visit in the list of visits is not sent.
function showUnsent(entries) {
  document.querySelectorAll("[data-unsent] .few li").forEach((row) => {
    const path = new URL(row.querySelector("a").href).pathname;
    const count = entries.filter((each) => pathOf(each.page) === path).length;
    let badge = row.querySelector(".unsent");
    if (!count) return badge && badge.remove();
    if (!badge) {
      badge = document.createElement("span");
      badge.className = "badge s-failed unsent";
      row.append(badge);
    }
    return (badge.textContent = `${count} not sent`);
  });
}

function pathOf(page) {
  return new URL(page, window.location.href).pathname;
}

function photographLine(name) {
  const line = document.createElement("li");
  line.textContent = `${name}: only this page has it. It is lost when you leave the page.`;
  return line;
}

function showPhotographs(form, names) {
  files.set(form, names);
  return readEntries().then(showWaiting);
}

// What was typed, as it is read: without hidden fields and empty ones.
function wordsOf(entry) {
  const names = new Set(entry.draft.fields.map(([name]) => name));
  const texts = entry.pairs.filter(([name, value]) => names.has(name) && value).map(([, value]) => value);
  const files = entry.pairs.filter(([, value]) => value instanceof File).map(([, value]) => `photograph ${value.name}`);
  return [new Date(entry.at).toLocaleString(), ...texts, ...files].join(", ");
}

function lineOf(entry, isWhole = false) {
  const line = document.createElement("li");
  const page = document.createElement("a");
  page.href = entry.page;
  page.textContent = entry.label;
  line.append(page, entry.problem ? `: ${entry.problem} ` : " ");
  if (isWhole) {
    const words = document.createElement("span");
    words.className = "what";
    words.textContent = wordsOf(entry);
    line.append(words);
  }
  const discard = document.createElement("button");
  discard.type = "button";
  discard.className = "quiet";
  discard.textContent = "Discard";
  discard.addEventListener("click", async () => {
    await changeEntries((store) => store.delete(entry.number));
    if (entry.problem) await changeDrafts((store) => store.delete(entry.key));
    showWaiting(await readEntries());
  });
  line.append(discard);
  return line;
}

// Tells why an entry was not saved, and puts its values back as the draft of its form.
async function refuseEntry(entry, problem) {
  await changeDrafts((store) => store.put({ ...entry.draft, at: Date.now() }, entry.key));
  await changeEntries((store) => store.put({ ...entry, problem }));
}

async function problemOf(answer) {
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const found = page.querySelector(".problem, .wrong, main > .note, main p:not(.paper), h1");
  return found ? found.textContent.trim().replace(/\s+/g, " ") : "The server did not save it.";
}

// Sends an entry. Returns whether the next one may follow.
async function sendEntry(entry, session) {
  if (entry.tried && Date.now() - entry.tried > REMEMBERED_MS) {
    await refuseEntry(entry, "It may be saved already. Open its page and look.");
    return true;
  }
  const tried = { ...entry, tried: entry.tried || Date.now() };
  await changeEntries((store) => store.put(tried));
  const pairs = [...entry.pairs, ["csrf", session.csrf]];
  const hasFile = pairs.some(([, value]) => value instanceof File);
  const body = hasFile ? new FormData() : new URLSearchParams(pairs);
  if (hasFile) pairs.forEach(([name, value]) => body.append(name, value));
  const options = { method: "POST", body, headers: JSON_HEADERS };
  const answer = await request(entry.address, options, hasFile ? SEND_FILES_TIMEOUT_MS : SEND_TIMEOUT_MS);
  if (answer === null || answer.status === 401 || answer.status === 429 || answer.status >= 500) return false;
  if (answer.status === 204) {
    await changeEntries((store) => store.delete(entry.number));
  } else {
    await refuseEntry(tried, await problemOf(answer));
  }
  return true;
}

async function sendAll() {
  const sent = [];
  for (;;) {
    const entries = await readEntries();
    showWaiting(entries);
    const [next] = entries.filter((entry) => !entry.problem);
    if (!next) break;
    const answer = await request(new URL("../session", SCRIPT_URL), { headers: JSON_HEADERS }, CHECK_TIMEOUT_MS);
    const session = answer && answer.ok ? await answer.json() : null;
    if (!session || session.user_id !== USER || !(await sendEntry(next, session))) {
      showOffline();
      setTimeout(sendEntries, RETRY_MS);
      break;
    }
    sent.push(next);
  }
  if (sent.length) showSent(sent);
}

function showOffline() {
  document.querySelectorAll(".draft-note").forEach((note) => {
    if (note.textContent === SENDING) note.textContent = KEPT;
  });
}

let sending = null;

function sendEntries() {
  sending = sending || sendAll().finally(() => (sending = null));
  return sending;
}

function isUnchanged() {
  if ([...document.forms].some((form) => filesOf(form).length > 0)) return false;
  const fields = [...document.querySelectorAll("form[method=post]")].flatMap((form) => keptFields(form));
  return fields.every((each) => (isChoice(each) ? each.checked === each.defaultChecked : !isTyped(each)));
}

function isTyped(field) {
  if (!field.options) return field.value !== field.defaultValue;
  const initial = [...field.options].findIndex((each) => each.defaultSelected);
  return field.selectedIndex !== Math.max(initial, 0);
}

// A page with rows that were just saved shows them, unless that loses what is typed.
function showSent(sent) {
  document.querySelectorAll(".draft-note").forEach((note) => {
    if ([KEPT, SENDING].includes(note.textContent)) note.textContent = "Saved. What this device kept was sent.";
  });
  const isHere = sent.some((entry) => pathOf(entry.page) === window.location.pathname);
  if (isHere && isUnchanged()) window.location.reload();
}

function nextAttempt() {
  return new Promise((resolve) => {
    setTimeout(resolve, RETRY_MS);
    window.addEventListener("online", resolve, { once: true });
  });
}

async function submitOrKeep(form, submitter) {
  const waits = (await readEntries()).some((entry) => !entry.problem);
  if (filesOf(form).length && isKeepable(form, submitter)) {
    try {
      await keepEntry(form, submitter, SENDING);
      sendEntries();
      return;
    } catch (error) {
      // Without room on the device, the form is sent from its page.
    }
  }
  if (waits) await sendEntries();
  while (!(await isServerInReach())) {
    if (isKeepable(form, submitter)) {
      try {
        await keepEntry(form, submitter, KEPT);
        sendEntries();
        return;
      } catch (error) {
        // Without room on the device, the form waits on its page.
      }
    }
    showNote(form, WAITS_HERE);
    await nextAttempt();
  }
  passed.add(form);
  form.requestSubmit(submitter);
  // A field that the browser refuses stops the submit.
  setTimeout(() => passed.delete(form), 0);
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!submissionField(form) || passed.has(form)) return;
  event.preventDefault();
  if (busy.has(form)) return;
  busy.add(form);
  if (draftForms().includes(form)) keepDraft(form);
  submitOrKeep(form, event.submitter).finally(() => busy.delete(form));
});

// An entry that was refused, corrected on its page and saved is over.
async function forgetSaved(saved) {
  const over = (await readEntries()).filter((entry) => idOf(entry.draft.submission) === saved);
  if (over.length) await changeEntries((store) => over.forEach((entry) => store.delete(entry.number)));
}

// The browser asks before it leaves a page whose files are not sent. The list of what waits names them.
["change", "reset"].forEach((name) =>
  document.addEventListener(name, (event) => {
    const form = event.target.form || event.target;
    if (!form.dataset || !("keepsFiles" in form.dataset)) return;
    setTimeout(() => showPhotographs(form, filesOf(form).map((each) => each.name)), 0);
  })
);
window.addEventListener("beforeunload", (event) => {
  if (![...files.values()].flat().length || document.querySelector("form[data-is-sent]")) return;
  list.open = true;
  event.preventDefault();
});

window.addEventListener("online", sendEntries);
forgetSaved(savedSubmission()).then(sendEntries);
