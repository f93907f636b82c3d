// Sign-in, sessions and the admin API, as supabase-js says them.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { createClient } from "@supabase/supabase-js";
import { ANON_KEY, CAST, SERVICE_KEY, SERVICE_URL } from "./service.js";
import { answer, as, authRefused, connect, ids, refused, signIn } from "./service.js";

const { ada: ADA, bob: BOB, max: MAX, mia: MIA, moe: MOE } = CAST;
const admin = connect(SERVICE_KEY).auth.admin;

// A manager of client 1 that no other test knows.
async function newcomer() {
  const email = `${randomUUID()}@acme.example`;
  const password = "first words to remember";
  const made = await admin.createUser({
    email,
    password,
    email_confirm: true,
    app_metadata: { role: "client_manager", client_id: 1 },
    user_metadata: { name: "Nell", theme: "dark" },
  });
  return { id: answer(made).user.id, email, password };
}

async function alive(client) {
  const { error } = await client.from("clients").select("id");
  if (error) assert.equal(error.code, "PGRST303");
  return !error;
}

test("signInWithPassword", async () => {
  const client = connect();
  const given = { email: MOE.email, password: MOE.password };
  const { session, user } = answer(await client.auth.signInWithPassword(given));
  assert.deepEqual([user.id, user.email, user.aud], [MOE.id, MOE.email, "authenticated"]);
  assert.deepEqual([session.token_type, session.expires_in], ["bearer", 3600]);
  assert.equal(user.app_metadata.role, "client_manager");
  assert.deepEqual(answer(await client.from("users").select("id")), [{ id: MOE.id }]);
});

test("a wrong password and an unknown user", async () => {
  for (const email of [MIA.email, "nobody@acme.example"]) {
    const result = await connect().auth.signInWithPassword({ email, password: "wrong" });
    authRefused(result, "invalid_credentials", 400);
    assert.equal(result.error.message, "Invalid login credentials");
    assert.equal(result.error.name, "AuthApiError");
  }
});

test("getUser and getSession", async () => {
  const max = await as("max");
  assert.equal(answer(await max.auth.getUser()).user.id, MAX.id);
  assert.ok(answer(await max.auth.getSession()).session.access_token);
});

test("getUser of bad tokens", async () => {
  authRefused(await connect().auth.getUser("a.b.c"), "bad_jwt", 403);
  const { session } = answer(await (await as("max")).auth.getSession());
  const forged = `${session.access_token.slice(0, -4)}AAAA`;
  const result = await connect().auth.getUser(forged);
  authRefused(result, "bad_jwt", 403);
  assert.match(result.error.message, /^invalid JWT/);
});

test("getClaims verifies at the server", async () => {
  const max = await as("max");
  const { claims, header } = answer(await max.auth.getClaims());
  assert.equal(header.alg, "HS256");
  assert.deepEqual([claims.sub, claims.role, claims.client_id], [MAX.id, "client_manager", 2]);
});

test("setSession in a second client", async () => {
  const { session } = answer(await (await as("max")).auth.getSession());
  const second = connect();
  answer(await second.auth.setSession(session));
  assert.deepEqual(ids(answer(await second.from("buildings").select("id"))), [4]);
});

test("getAuthenticatorAssuranceLevel reads the token", async () => {
  const max = await as("max");
  const level = answer(await max.auth.mfa.getAuthenticatorAssuranceLevel());
  assert.equal(level.currentLevel, "aal1");
});

test("refreshSession rotates", async () => {
  const mia = await signIn(MIA.email, MIA.password);
  const before = answer(await mia.auth.getSession()).session;
  const after = answer(await mia.auth.refreshSession()).session;
  assert.notEqual(after.refresh_token, before.refresh_token);
  assert.equal(after.user.id, MIA.id);
  assert.ok(await alive(mia));
});

test("a used refresh token is answered with the newest", async () => {
  const mia = await signIn(MIA.email, MIA.password);
  const { refresh_token } = answer(await mia.auth.getSession()).session;
  const [first, second] = await Promise.all(
    [connect(), connect()].map((client) => client.auth.refreshSession({ refresh_token })),
  );
  assert.equal(
    answer(first).session.refresh_token,
    answer(second).session.refresh_token,
  );
});

test("an unknown refresh token", async () => {
  const result = await connect().auth.refreshSession({ refresh_token: "never-given-out" });
  authRefused(result, "refresh_token_not_found", 400);
});

test("an expired session is refreshed before a data call", async () => {
  const mia = await signIn(MIA.email, MIA.password);
  const kept = new Map();
  const storage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => kept.set(key, value),
    removeItem: (key) => kept.delete(key),
  };
  const { session } = answer(await mia.auth.getSession());
  const stale = { ...session, expires_at: Math.floor(Date.now() / 1000) - 10 };
  kept.set("session", JSON.stringify(stale));
  const auth = { storage, storageKey: "session", persistSession: true };
  const client = connect(ANON_KEY, { auth });
  assert.deepEqual(ids(answer(await client.from("clients").select("id"))), [1]);
  assert.notEqual(JSON.parse(kept.get("session")).refresh_token, session.refresh_token);
});

test("updateUser merges metadata", async () => {
  const { id, email, password } = await newcomer();
  const nell = await signIn(email, password);
  const data = { name: "Nelly", role: "super_admin", client_id: 2 };
  const { user } = answer(await nell.auth.updateUser({ data }));
  assert.deepEqual([user.user_metadata.name, user.user_metadata.theme], ["Nelly", "dark"]);
  const row = answer(await nell.from("users").select("id,name,role,client_id").single());
  assert.deepEqual(row, { id, name: "Nelly", role: "client_manager", client_id: 1 });
});

test("a new password ends the other sessions", async () => {
  const { email, password } = await newcomer();
  const [here, there] = [await signIn(email, password), await signIn(email, password)];
  answer(await here.auth.updateUser({ password: "second words to remember" }));
  assert.deepEqual([await alive(here), await alive(there)], [true, false]);
  const old = await connect().auth.signInWithPassword({ email, password });
  authRefused(old, "invalid_credentials", 400);
  assert.ok(await alive(await signIn(email, "second words to remember")));
});

test("the same password and a weak one", async () => {
  const { email, password } = await newcomer();
  const nell = await signIn(email, password);
  authRefused(await nell.auth.updateUser({ password }), "same_password", 422);
  const { error } = await nell.auth.updateUser({ password: "abc" });
  assert.deepEqual([error.name, error.status], ["AuthWeakPasswordError", 422]);
  assert.ok(error.reasons.length);
});

test("signOut of others", async () => {
  const { email, password } = await newcomer();
  const [here, there] = [await signIn(email, password), await signIn(email, password)];
  assert.equal((await here.auth.signOut({ scope: "others" })).error, null);
  assert.deepEqual([await alive(here), await alive(there)], [true, false]);
  assert.equal((await there.auth.refreshSession()).error.status, 400);
});

test("signOut here only", async () => {
  const { email, password } = await newcomer();
  const [here, there] = [await signIn(email, password), await signIn(email, password)];
  const { access_token } = answer(await here.auth.getSession()).session;
  assert.equal((await here.auth.signOut({ scope: "local" })).error, null);
  assert.equal(answer(await here.auth.getSession()).session, null);
  assert.equal((await connect().auth.getUser(access_token)).error.name, "AuthSessionMissingError");
  assert.ok(await alive(there));
});

test("signOut everywhere", async () => {
  const { email, password } = await newcomer();
  const [here, there] = [await signIn(email, password), await signIn(email, password)];
  assert.equal((await here.auth.signOut()).error, null);
  assert.equal(await alive(there), false);
  refused(await here.from("clients").select("id"), "42501", 401);
});

test("events of a visit", async () => {
  const { email, password } = await newcomer();
  const client = connect();
  const events = [];
  client.auth.onAuthStateChange((event) => events.push(event));
  answer(await client.auth.signInWithPassword({ email, password }));
  answer(await client.auth.updateUser({ data: { theme: "light" } }));
  answer(await client.auth.refreshSession());
  await client.auth.signOut();
  const told = events.filter((event) => event !== "INITIAL_SESSION");
  assert.deepEqual(told, ["SIGNED_IN", "USER_UPDATED", "TOKEN_REFRESHED", "SIGNED_OUT"]);
});

test("nobody signs themself up", async () => {
  const result = await connect().auth.signUp({ email: "eve@x.org", password: "let me in, please" });
  authRefused(result, "signup_disabled", 422);
});

test("accessToken hands over a token of one's own", async () => {
  const { session } = answer(await (await as("max")).auth.getSession());
  const client = connect(ANON_KEY, { accessToken: async () => session.access_token });
  assert.deepEqual(ids(answer(await client.from("buildings").select("id"))), [4]);
  const nobody = connect(ANON_KEY, { accessToken: async () => null });
  refused(await nobody.from("buildings").select("id"), "42501", 401);
});

test("admin: create, get, update, delete", async () => {
  const { id, email } = await newcomer();
  const found = answer(await admin.getUserById(id)).user;
  assert.deepEqual([found.email, found.user_metadata.name], [email, "Nell"]);
  const changes = { app_metadata: { plan: "gold" }, user_metadata: { lang: "de" } };
  const changed = answer(await admin.updateUserById(id, changes)).user;
  assert.deepEqual([changed.app_metadata.plan, changed.app_metadata.client_id], ["gold", 1]);
  assert.deepEqual([changed.user_metadata.lang, changed.user_metadata.theme], ["de", "dark"]);
  answer(await admin.deleteUser(id));
  authRefused(await admin.getUserById(id), "user_not_found", 404);
});

test("admin: pages", async () => {
  await newcomer();
  const { users, total, nextPage, lastPage } = answer(
    await admin.listUsers({ page: 1, perPage: 2 }),
  );
  assert.equal(users.length, 2);
  assert.ok(total >= 7);
  assert.equal(nextPage, 2);
  assert.equal(lastPage, Math.min(9, Math.ceil(total / 2)));
});

test("admin: an e-mail taken, and creates without a role", async () => {
  const app_metadata = { role: "client_manager", client_id: 1 };
  const taken = await admin.createUser({ email: MOE.email, app_metadata });
  authRefused(taken, "email_exists", 422);
  const roleless = await admin.createUser({ email: "a@x.org", password: "long enough words" });
  authRefused(roleless, "validation_failed", 422);
});

test("admin: GoTrue's own role counts", async () => {
  const email = `${randomUUID()}@example.org`;
  const made = await admin.createUser({ email, password: "long enough words", role: "super_admin" });
  assert.equal(answer(made).user.app_metadata.role, "super_admin");
});

test("admin: GoTrue's usual role is no role here", async () => {
  const email = `${randomUUID()}@acme.example`;
  const app_metadata = { role: "client_manager", client_id: 1 };
  const made = await admin.createUser({ email, role: "authenticated", app_metadata });
  assert.equal(answer(made).user.app_metadata.role, "client_manager");
});

test("admin: not with the anon key, not for a manager", async () => {
  const { error } = await connect().auth.admin.listUsers();
  assert.ok([401, 403].includes(error.status), error.message);
  const { session } = answer(await (await as("max")).auth.getSession());
  const headers = { Authorization: `Bearer ${session.access_token}` };
  authRefused(await connect(ANON_KEY, { global: { headers } }).auth.admin.listUsers(), "not_admin", 403);
});

test("admin: a client admin's own people", async () => {
  const { session } = answer(await (await as("bob")).auth.getSession());
  const headers = { Authorization: `Bearer ${session.access_token}` };
  const people = connect(ANON_KEY, { global: { headers } }).auth.admin;
  const email = `${randomUUID()}@borough.example`;
  const { user } = answer(await people.createUser({ email, password: "long enough words" }));
  assert.deepEqual([user.app_metadata.role, user.app_metadata.client_id], ["client_manager", 2]);
  const listed = ids(answer(await people.listUsers({ perPage: 1000 })).users);
  assert.ok(listed.includes(BOB.id) && listed.includes(user.id));
  assert.ok(!listed.includes(ADA.id) && !listed.includes(MOE.id));
  authRefused(await people.getUserById(MOE.id), "user_not_found", 404);
});

test("admin: a ban holds at once", async () => {
  const { id, email, password } = await newcomer();
  const nell = await signIn(email, password);
  answer(await admin.updateUserById(id, { ban_duration: "24h" }));
  assert.equal(await alive(nell), false);
  authRefused(await nell.auth.getUser(), "user_banned", 403);
  authRefused(await connect().auth.signInWithPassword({ email, password }), "user_banned", 400);
  answer(await admin.updateUserById(id, { ban_duration: "none" }));
  assert.ok(await alive(await signIn(email, password)));
});

test("admin: signOut by token", async () => {
  const { email, password } = await newcomer();
  const nell = await signIn(email, password);
  const { access_token } = answer(await nell.auth.getSession()).session;
  assert.equal((await admin.signOut(access_token)).error, null);
  assert.equal(await alive(nell), false);
});

test("the keys of another project are not taken", async () => {
  const stranger = createClient(SERVICE_URL, "sb_publishable_stranger", {
    auth: { persistSession: false, autoRefreshToken: false },
  });
  const { email, password } = MOE;
  const { error } = await stranger.auth.signInWithPassword({ email, password });
  assert.equal(error.status, 401);
});
