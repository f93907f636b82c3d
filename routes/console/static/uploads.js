// Sends the files of a form one by one as soon as they are chosen, and shows how much the server has.
"use strict";

function sendFile(form, file, show) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const data = new FormData();
    ["csrf", "submission"].forEach((name) => data.append(name, form.elements[name].value));
    data.append("file", file);
    request.upload.onprogress = (event) => show(event.loaded / event.total);
    request.onload = () => {
      if (request.status === 204) return resolve();
      if (request.status === 401) return reject(new Error("The session has ended. Sign in in another window, and try again."));
      const page = new DOMParser().parseFromString(request.responseText, "text/html");
      const found = page.querySelector(".problem, main p:not(.paper)");
      return reject(new Error(found ? found.textContent.trim() : "The server did not store it."));
    };
    request.onerror = () => reject(new Error("No network. This device does not keep photographs: stay on this page."));
    request.open("POST", form.action);
    request.setRequestHeader("Accept", "application/json");
    request.send(data);
  });
}

function showGallery(path) {
  if (location.pathname !== path) return location.assign(`${path}#photographs`);
  location.hash = "photographs";
  return location.reload();
}

for (const form of document.querySelectorAll("form[data-upload]")) {
  const status = form.querySelector(".sending");
  const bar = form.querySelector("progress");
  const button = form.querySelector("button");
  const fields = [...form.querySelectorAll("input[type=file]")];
  let rest = [];

  const sendRest = async () => {
    const total = rest.length;
    fields.forEach((each) => (each.disabled = true));
    button.hidden = true;
    status.hidden = bar.hidden = false;
    showPhotographs(form, rest.map((each) => each.name));
    let problem = "";
    while (rest.length && !problem) {
      const sent = total - rest.length;
      status.textContent = `Sending ${sent + 1} of ${total}…`;
      try {
        await sendFile(form, rest[0], (part) => (bar.value = (100 * (sent + part)) / total));
        rest.shift();
        showPhotographs(form, rest.map((each) => each.name));
      } catch (error) {
        problem = error.message;
      }
    }
    if (!problem) return showGallery(form.dataset.upload);
    const names = rest.map((each) => each.name).join(", ");
    status.textContent = `${rest[0].name}: ${problem} ${rest.length} of ${total} not stored: ${names}.`;
    status.className = "sending problem";
    button.textContent = "Try again";
    button.hidden = false;
    fields.forEach((each) => ((each.disabled = false), (each.value = "")));
    return undefined;
  };

  form.classList.add("scripted");
  button.hidden = true;
  fields.forEach((field) =>
    field.addEventListener("change", () => {
      rest = [...field.files];
      status.className = "sending";
      if (rest.length) sendRest();
    })
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    event.stopPropagation(); // from outbox.js
    sendRest();
  });
}
