// Loads the document with the given apikey and shows it in Swagger UI. Nothing is stored; a reload clears the keys.
"use strict";

const form = document.getElementById("keys");
const message = document.getElementById("message");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const apikey = form.elements.apikey.value.trim();
  const bearer = form.elements.bearer.value.trim();
  message.textContent = "";
  try {
    show(await read(apikey), apikey, bearer);
  } catch (error) {
    message.textContent = error.message;
  }
});

async function read(apikey) {
  const headers = { Accept: "application/json" };
  if (apikey) headers.apikey = apikey;
  const answer = await fetch("./", { headers });
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.message);
  return body;
}

function show(spec, apikey, bearer) {
  const ui = SwaggerUIBundle({
    spec,
    dom_id: "#document",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: 0,
    filter: true,
    validatorUrl: null,
    onComplete() {
      if (apikey) ui.preauthorizeApiKey("apikey", apikey);
      if (bearer) ui.preauthorizeApiKey("bearer", bearer);
    },
  });
}
