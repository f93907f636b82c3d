// Refreshes the content of the kiosk display, and shows it page by page if it is higher than the screen. While the server does not respond, the last content stays with its time.
// When the display is signed out, the content is removed.
"use strict";
const requested = Number(new URLSearchParams(window.location.search).get("every")) * 1000;
const INTERVAL_MS = requested >= 250 ? requested : 30000;
const TIMEOUT_MS = 10000;
const PAGE_MS = 10000;
const offline = document.getElementById("offline");

const shownTime = () => document.querySelector("#content time")?.textContent ?? "";
let lastRefresh = shownTime();

function showStatus(text) {
  if (offline.textContent !== text) offline.textContent = text;
  offline.hidden = text === "";
}

// The clock continues from the time of the server, which each refresh brings: the clock of the screen may be wrong.
const WALL_CHARACTERS = "2026-11-29T09:00:00".length;
let serverMs = 0;
let readMs = 0;

function readTime() {
  serverMs = Date.parse(`${document.getElementById("content").dataset.now.slice(0, WALL_CHARACTERS)}Z`);
  readMs = performance.now();
}

function showClock() {
  const clock = document.getElementById("clock");
  if (clock) clock.textContent = new Date(serverMs + performance.now() - readMs).toISOString().slice(11, 16);
}

let pages = [];
let shownPage = 0;

function overflows() {
  return document.documentElement.scrollHeight > window.innerHeight;
}

function showOnly(rows) {
  for (const each of document.querySelectorAll(".panel, .panel li")) each.hidden = !rows.includes(each);
}

// A page is an array of panels with their rows. A panel that is higher than the screen continues on the next page.
// The number of the page takes its room meanwhile.
function divideIntoPages() {
  const shown = document.getElementById("pages");
  if (shown) shown.textContent = "Page 88 of 88";
  pages = [[]];
  for (const panel of document.querySelectorAll(".panel")) {
    const rows = [...panel.querySelectorAll("li")];
    const fits = (page) => {
      showOnly(page);
      return !overflows();
    };
    if (!fits([...pages.at(-1), panel, ...rows]) && pages.at(-1).length > 0) pages.push([]);
    pages.at(-1).push(panel);
    for (const row of rows) {
      if (!fits([...pages.at(-1), row]) && pages.at(-1).length > 1) pages.push([panel]);
      pages.at(-1).push(row);
    }
  }
  showPage(Math.min(shownPage, pages.length - 1));
}

function showPage(number) {
  shownPage = number;
  showOnly(pages[number]);
  const shown = document.getElementById("pages");
  if (shown) shown.textContent = pages.length > 1 ? `Page ${number + 1} of ${pages.length}` : "";
}

async function refresh() {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  try {
    const response = await fetch("kiosk/board", { signal: controller.signal, cache: "no-store", redirect: "manual" });
    if (response.status === 401 || response.type === "opaqueredirect") {
      document.getElementById("content").replaceChildren();
      showStatus("This kiosk display is signed out.");
      return;
    }
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const content = page.getElementById("content");
    if (!content) throw new Error("no content");
    const old = document.getElementById("content");
    if (old.dataset.version !== content.dataset.version) {
      window.location.reload();
      return;
    }
    old.replaceWith(document.adoptNode(content));
    lastRefresh = shownTime();
    readTime();
    showClock();
    showStatus("");
  } catch (error) {
    showStatus(`The server does not respond. Last refresh: ${lastRefresh}.`);
  } finally {
    clearTimeout(timer);
    divideIntoPages();
  }
}

async function refreshRepeatedly() {
  await refresh();
  setTimeout(refreshRepeatedly, INTERVAL_MS);
}

readTime();
setInterval(showClock, 1000);
divideIntoPages();
window.addEventListener("resize", divideIntoPages);
setInterval(() => showPage((shownPage + 1) % pages.length), PAGE_MS);
setTimeout(refreshRepeatedly, INTERVAL_MS);
