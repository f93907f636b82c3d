// Pairs a kiosk display from a link with the code in its fragment, which browsers never send to a server.
// The script submits the form by itself only if the server allows it for this browser, with all of its cookies. A link
// from another site therefore cannot replace a session or a display; the user must press the button.
"use strict";
const code = window.location.hash.slice(1);

async function submitIfAllowed() {
  const response = await fetch(window.location.pathname, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (page.querySelector("#enter[data-auto-submit]")) document.getElementById("enter").submit();
}

if (code) {
  window.history.replaceState(null, "", window.location.pathname);
  document.getElementById("code").value = code;
  if (document.querySelector("#enter[data-auto-submit]")) submitIfAllowed();
}
