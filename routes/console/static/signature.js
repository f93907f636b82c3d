// The pad on which a person draws a signature with a finger, a pen or a mouse. A hidden field takes it as PNG at submit.
"use strict";
const WIDTH_MAX = 1200;
const BASE64_MAX = 87380; // 64 KiB
const LINE_WIDTH = 2; // in CSS pixels

const field = document.querySelector('input[name="signature_png"]');
const pad = document.querySelector(".signature");
const canvas = pad.querySelector("canvas");
const context = canvas.getContext("2d");
let isDrawn = field.value !== "";
let pointer = null;

function clear() {
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
}

function place(event) {
  const box = canvas.getBoundingClientRect();
  const scale = canvas.width / box.width; // the page may be wider than when the pad was made
  return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

function draw(event) {
  const events = event.getCoalescedEvents ? event.getCoalescedEvents() : [];
  (events.length ? events : [event]).forEach((each) => context.lineTo(...place(each)));
  context.stroke();
}

function pngOf(source) {
  return source.toDataURL("image/png").split(",")[1];
}

// A drawing that is too large as PNG becomes smaller.
function signature() {
  let png = pngOf(canvas);
  for (let scale = 0.75; png.length > BASE64_MAX && scale > 0.1; scale *= 0.75) {
    const smaller = document.createElement("canvas");
    smaller.width = canvas.width * scale;
    smaller.height = canvas.height * scale;
    smaller.getContext("2d").drawImage(canvas, 0, 0, smaller.width, smaller.height);
    png = pngOf(smaller);
  }
  return png;
}

// Shows the drawing of a form that was refused.
async function restore() {
  const bytes = Uint8Array.from(atob(field.value), (each) => each.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
}

pad.hidden = false;
const ratio = Math.min(window.devicePixelRatio || 1, WIDTH_MAX / canvas.clientWidth);
canvas.width = Math.round(canvas.clientWidth * ratio);
canvas.height = Math.round(canvas.clientHeight * ratio);
context.lineWidth = LINE_WIDTH * ratio;
context.lineCap = context.lineJoin = "round";
context.strokeStyle = "#111";
clear();
if (isDrawn) restore().catch(() => {});

canvas.addEventListener("pointerdown", (event) => {
  if (pointer !== null || !event.isPrimary || event.button) return;
  pointer = event.pointerId;
  canvas.setPointerCapture(pointer);
  context.beginPath();
  context.moveTo(...place(event));
  isDrawn = true;
  draw(event);
});
canvas.addEventListener("pointermove", (event) => {
  if (event.pointerId === pointer) draw(event);
});
["pointerup", "pointercancel"].forEach((name) =>
  canvas.addEventListener(name, (event) => {
    if (event.pointerId === pointer) pointer = null;
  })
);
pad.querySelector("button").addEventListener("click", () => {
  clear();
  isDrawn = false;
});
field.form.addEventListener("submit", () => {
  field.value = isDrawn ? signature() : "";
});
