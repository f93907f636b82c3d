// How the suites reach the service: where it is, who the cast are, and what an answer has to be.
import assert from "node:assert/strict";
import { createClient } from "@supabase/supabase-js";

export const { URL: SERVICE_URL, ANON_KEY, SERVICE_KEY, CAST } = JSON.parse(process.env.SERVICE);

export function connect(key = ANON_KEY, options = {}) {
  const auth = { persistSession: false, autoRefreshToken: false, ...options.auth };
  return createClient(SERVICE_URL, key, { ...options, ...(options.accessToken ? {} : { auth }) });
}

export async function signIn(email, password) {
  const client = connect();
  answer(await client.auth.signInWithPassword({ email, password }));
  return client;
}

const known = new Map();

// One of the cast, signed in once for the suite.
export function as(name) {
  if (!known.has(name)) known.set(name, signIn(CAST[name].email, CAST[name].password));
  return known.get(name);
}

// What a call that went well returned; `status` may be asserted along the way.
export function answer(result, status) {
  assert.equal(result.error, null, JSON.stringify(result.error));
  if (status !== undefined) assert.equal(result.status, status);
  return result.data;
}

// A data call that is refused carries all four keys; code and status are the test's to name.
export function refused(result, code, status, message) {
  assert.ok(result.error, `not refused: ${JSON.stringify(result.data)}`);
  assert.deepEqual(Object.keys(result.error).sort(), ["code", "details", "hint", "message"]);
  assert.equal(result.error.code, code, result.error.message);
  if (status !== undefined) assert.equal(result.status, status);
  if (message !== undefined) assert.equal(result.error.message, message);
  assert.equal(result.data, null);
}

export function authRefused(result, code, status) {
  assert.ok(result.error, "not refused");
  assert.deepEqual([result.error.code, result.error.status], [code, status], result.error.message);
}

export const ids = (rows) => rows.map((row) => row.id);
