// Shows the document in Swagger UI, which sends requests with the given keys. The keys survive a reload of this tab.
"use strict";

const NAMES = ["apikey", "bearer"];
const form = document.getElementById("keys");
const message = document.getElementById("message");

for (const name of NAMES) form.elements[name].value = stored(name);

const ui = SwaggerUIBundle({
  url: "docs/openapi.json",
  dom_id: "#document",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
  onComplete: authorize,
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  for (const name of NAMES) store(name, form.elements[name].value.trim());
  authorize();
  message.textContent = "Requests now carry the keys.";
});

form.addEventListener("reset", () => {
  for (const name of NAMES) store(name, "");
  authorize();
  message.textContent = "The keys are forgotten.";
});

function authorize() {
  const authorized = ui.authSelectors.authorized();
  for (const name of NAMES) {
    if (authorized && authorized.has(name)) ui.authActions.logout([name]);
    if (stored(name)) ui.preauthorizeApiKey(name, stored(name));
  }
}

// A browser that blocks site data throws on access.
function stored(name) {
  try {
    return sessionStorage.getItem(name) || "";
  } catch {
    return form.elements[name].value.trim();
  }
}

function store(name, value) {
  try {
    sessionStorage.setItem(name, value);
  } catch {
    // The key is used until the next reload.
  }
}
