// Requests over idle connections: each connection belongs to one client and is kept until the service closes it.
// Prints what came back, by client: the number of answers with status 200, and each error.
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "@supabase/supabase-js";

const { URL: SERVICE_URL, KEY, IDLE_SECONDS } = JSON.parse(process.env.SERVICE);
const PATH = "/rpc/get_building_stats";
const BODY = { building_id: 1 };

await fetch(`${SERVICE_URL}/live`); // creates the dispatcher
const Dispatcher = globalThis[Symbol.for("undici.globalDispatcher.1")].constructor;

function supabaseCall() {
  const dispatcher = new Dispatcher({ keepAliveTimeout: 600_000, connections: 1 });
  const kept = (address, options) => fetch(address, { ...options, dispatcher });
  const client = createClient(SERVICE_URL, KEY, { auth: { persistSession: false }, global: { fetch: kept } });
  return async () => {
    const result = await client.rpc("get_building_stats", BODY);
    return result.status || result.error.message;
  };
}

function agentCall() {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { apikey: KEY, "Content-Type": "application/json" };
  return () =>
    new Promise((resolve) => {
      const request = http.request(SERVICE_URL + PATH, { agent, headers, method: "POST" }, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode));
      });
      request.on("error", (error) => resolve(error.code));
      request.end(JSON.stringify(BODY));
    });
}

async function follow(call, pauses, found) {
  for (const seconds of [0, ...pauses]) {
    await sleep(seconds * 1_000);
    const outcome = await call();
    found[outcome] = (found[outcome] ?? 0) + 1;
  }
}

const make = { "supabase-js": supabaseCall, Agent: agentCall }[process.argv[2]];
const found = {};
await Promise.all(IDLE_SECONDS.map((pauses) => follow(make(), pauses, found)));
console.log(JSON.stringify(found));
process.exit();
