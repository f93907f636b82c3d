// Asks for the document with the reader's apikey, and hands it to Swagger UI. Nothing is kept: a reload forgets.
"use strict";

const form = document.getElementById("keys");
const said = document.getElementById("said");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const apikey = form.elements.apikey.value.trim();
  const bearer = form.elements.bearer.value.trim();
  said.textContent = "";
  try {
    show(await read(apikey), apikey, bearer);
  } catch (error) {
    said.textContent = error.message;
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
