// Puts a new picture in place of the old one. While the server is away the last picture stays, and it is
// said since when; when the board is signed out, the picture goes.
"use strict";
const asked = Number(new URLSearchParams(window.location.search).get("every")) * 1000;
const EVERY_MS = asked >= 250 ? asked : 30000;
const GIVE_UP_MS = 10000;
const away = document.getElementById("away");

function clock(moment) {
  return moment.toLocaleString([], { weekday: "short", hour: "2-digit", minute: "2-digit" });
}

let good = new Date();

function say(text) {
  if (away.textContent !== text) away.textContent = text;
  away.hidden = text === "";
}

async function refresh() {
  const control = new AbortController();
  const timer = setTimeout(() => control.abort(), GIVE_UP_MS);
  try {
    const answer = await fetch("/console/kiosk/board", { signal: control.signal, cache: "no-store", redirect: "manual" });
    if (answer.status === 401 || answer.type === "opaqueredirect") {
      document.getElementById("picture").replaceChildren();
      say("This board is signed out.");
      return;
    }
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const picture = page.getElementById("picture");
    if (!picture) throw new Error("no picture");
    const old = document.getElementById("picture");
    if (old.dataset.version !== picture.dataset.version) {
      window.location.reload();
      return;
    }
    old.replaceWith(document.adoptNode(picture));
    good = new Date();
    say("");
  } catch (error) {
    say("No answer from the server. This is the picture of " + clock(good) + ".");
  } finally {
    clearTimeout(timer);
  }
}

async function forever() {
  await refresh();
  setTimeout(forever, EVERY_MS);
}

setTimeout(forever, EVERY_MS);
