// A link with the token behind its # signs a board in without a keyboard; what follows # is never sent.
// It does so where the server, asked once more from here, with all cookies that there are, says that it may:
// another site's link replaces no board, and signs nobody in. Elsewhere the button is pressed by hand.
"use strict";
const token = window.location.hash.slice(1);

async function enter() {
  const answer = await fetch(window.location.pathname, { cache: "no-store" });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (page.querySelector("#enter[data-by-itself]")) document.getElementById("enter").submit();
}

if (token) {
  window.history.replaceState(null, "", window.location.pathname);
  document.getElementById("token").value = token;
  if (document.querySelector("#enter[data-by-itself]")) enter();
}
