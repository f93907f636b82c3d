// Reads a calendar feed from standard input with ical.js, and prints its events as JSON.
import { text } from "node:stream/consumers";
import ICAL from "ical.js";

const calendar = new ICAL.Component(ICAL.parse(await text(process.stdin)));
const events = calendar.getAllSubcomponents("vevent").map((component) => {
  const event = new ICAL.Event(component);
  const { uid, summary, sequence, startDate, endDate } = event;
  const status = component.getFirstPropertyValue("status");
  return { uid, summary, sequence, status, start: startDate.toString(), end: endDate.toString() };
});
console.log(JSON.stringify(events));
