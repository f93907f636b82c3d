// Writes, as supabase-js says them. Every test makes the rows it changes.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { CAST, answer, as, ids, refused } from "./service.js";

async function building(columns = {}) {
  const row = { name: `Test ${randomUUID()}`, client_id: 1, ...columns };
  const root = await as("root");
  return answer(await root.from("buildings").insert(row).select().single(), 201).id;
}

async function inspections(building_id, ...statuses) {
  const ada = await as("ada");
  const rows = statuses.map((status) => ({ building_id, inspection_type: "fire", status }));
  return ids(answer(await ada.from("inspections").insert(rows).select("id"), 201));
}

async function statuses(building_id) {
  const ada = await as("ada");
  const asked = ada.from("inspections").select("status").eq("building_id", building_id);
  return answer(await asked.order("id")).map((row) => row.status);
}

test("insert answers nothing", async () => {
  const ada = await as("ada");
  const building_id = await building();
  const row = { building_id, inspection_type: "lead", status: undefined, notes: "🏠 Überprüft" };
  const made = answer(await ada.from("inspections").insert(row), 201);
  assert.equal(made, null);
  const kept = await ada.from("inspections").select("status,notes").eq("building_id", building_id);
  assert.deepEqual(answer(kept), [{ status: null, notes: "🏠 Überprüft" }]);
});

test("insert with select answers the row", async () => {
  const ada = await as("ada");
  const building_id = await building({ name: "Shown" });
  const row = { building_id, inspection_type: "annual", date_visited: "2025-07-01" };
  const made = await ada.from("inspections").insert(row).select("date_visited, buildings(name)");
  assert.deepEqual(answer(made, 201), [
    { date_visited: "2025-07-01", buildings: { name: "Shown" } },
  ]);
});

test("insert single", async () => {
  const ada = await as("ada");
  const row = { name: "One", client_id: 1, latitude: 0.1 + 0.2, floors: 2147483647 };
  const asked = ada.from("buildings").insert(row).select("name,latitude,floors").single();
  assert.deepEqual(answer(await asked, 201), {
    name: "One",
    latitude: 0.30000000000000004,
    floors: 2147483647,
  });
});

test("insert many counts", async () => {
  const ada = await as("ada");
  const building_id = await building();
  const rows = [
    { building_id, inspection_type: "fire" },
    { building_id, inspection_type: "lead", notes: "n" },
  ];
  const result = await ada.from("inspections").insert(rows, { count: "exact" });
  answer(result, 201);
  assert.equal(result.count, 2);
});

test("insert with defaults", async () => {
  const root = await as("root");
  const rows = [
    { name: "With", client_id: 1, created_at: "2025-01-01T00:00:00Z" },
    { name: "Without", client_id: 1 },
  ];
  const asked = root.from("buildings").insert(rows, { defaultToNull: false });
  const made = answer(await asked.select("name,created_at"), 201);
  assert.equal(made[0].created_at, "2025-01-01T00:00:00+00:00");
  assert.ok(Date.parse(made[1].created_at) > Date.now() - 60_000);
});

test("insert of a missing default that counts as null is refused", async () => {
  const root = await as("root");
  const rows = [
    { name: "With", client_id: 1, created_at: "2025-01-01T00:00:00Z" },
    { name: "Without", client_id: 1 },
  ];
  refused(await root.from("buildings").insert(rows), "23502", 400);
});

test("insert of a bigint and of a Date", async () => {
  const root = await as("root");
  const row = { name: "Typed", client_id: 1n, created_at: new Date(Date.UTC(2025, 0, 2, 3, 4, 5)) };
  const made = await root.from("buildings").insert(row).select("client_id,created_at").single();
  assert.deepEqual(answer(made, 201), { client_id: 1, created_at: "2025-01-02T03:04:05+00:00" });
});

test("insert of nothing", async () => {
  const ada = await as("ada");
  assert.deepEqual(answer(await ada.from("buildings").insert([]).select(), 201), []);
});

test("insert out of reach", async () => {
  const ada = await as("ada");
  const message = 'new row violates row-level security policy for table "inspections"';
  for (const building_id of [4, 5, 999]) {
    const row = { building_id, inspection_type: "fire" };
    refused(await ada.from("inspections").insert(row), "42501", 403, message);
  }
});

test("insert by a manager", async () => {
  const moe = await as("moe");
  const message = "permission denied for table inspections";
  const row = { building_id: 1, inspection_type: "fire" };
  refused(await moe.from("inspections").insert(row), "42501", 403, message);
});

test("insert with a chosen id", async () => {
  const ada = await as("ada");
  refused(await ada.from("buildings").insert({ id: 1, name: "X", client_id: 1 }), "428C9", 400);
});

test("insert of a taken key", async () => {
  const root = await as("root");
  const result = await root.from("clients").insert({ id: 1, name: "X" });
  refused(result, "23505", 409, 'duplicate key value violates unique constraint "clients_pkey"');
  assert.equal(result.error.details, "Key (id)=(1) already exists.");
});

test("insert without what is required", async () => {
  const ada = await as("ada");
  refused(await ada.from("inspections").insert({ building_id: 6 }), "23502", 400);
});

test("insert of an unknown column", async () => {
  const ada = await as("ada");
  const row = { name: "X", client_id: 1, nope: 1 };
  refused(await ada.from("buildings").insert(row), "PGRST204", 400);
});

test("upsert merges", async () => {
  const ada = await as("ada");
  const id = await building({ city: "Salem" });
  const row = { id, name: "Merged", client_id: 1 };
  const merged = await ada.from("buildings").upsert(row).select("name,city");
  assert.deepEqual(answer(merged, 200), [{ name: "Merged", city: "Salem" }]);
});

test("upsert inserts and merges", async () => {
  const root = await as("root");
  const id = await building();
  const rows = [
    { id, name: "Old", client_id: 1 },
    { id: id + 5000, name: "New", client_id: 1 },
  ];
  const result = await root.from("buildings").upsert(rows, { count: "exact" }).select("name");
  const names = answer(result, 201).map((row) => row.name);
  assert.deepEqual(names.sort(), ["New", "Old"]);
  assert.equal(result.count, 2);
});

test("upsert ignores duplicates", async () => {
  const root = await as("root");
  const row = { id: 1, name: "Overwritten" };
  const asked = root.from("clients").upsert(row, { ignoreDuplicates: true }).select();
  assert.deepEqual(answer(await asked, 201), []);
  const kept = await root.from("clients").select("name").eq("id", 1).single();
  assert.deepEqual(answer(kept), { name: "Acme Housing" });
});

test("upsert on a compound key", async () => {
  const ada = await as("ada");
  const grant = { manager_id: CAST.mia.id, building_id: await building() };
  const onConflict = "manager_id,building_id";
  for (const expected of [1, 0]) {
    const asked = ada.from("client_manager_building_access");
    const result = await asked.upsert([grant], { onConflict, ignoreDuplicates: true }).select();
    assert.equal(answer(result, 201).length, expected);
  }
});

test("update answers nothing", async () => {
  const ada = await as("ada");
  const building_id = await building();
  const [first] = await inspections(building_id, "a", "b");
  const result = await ada.from("inspections").update({ status: "z" }).eq("id", first);
  assert.equal(answer(result, 204), null);
  assert.deepEqual(await statuses(building_id), ["z", "b"]);
});

test("update with select and count", async () => {
  const ada = await as("ada");
  const building_id = await building();
  await inspections(building_id, "a", "a", "b");
  const asked = ada.from("inspections").update({ status: "c" }, { count: "exact" });
  const result = await asked.match({ building_id, status: "a" }).select("status");
  assert.deepEqual(answer(result, 200), [{ status: "c" }, { status: "c" }]);
  assert.equal(result.count, 2);
});

test("update of no row", async () => {
  const ada = await as("ada");
  const asked = ada.from("inspections").update({ status: "z" }).eq("id", 999_999);
  assert.deepEqual(answer(await asked.select(), 200), []);
});

test("update single of no row", async () => {
  const ada = await as("ada");
  const asked = ada.from("inspections").update({ status: "z" }).eq("id", 999_999);
  refused(await asked.select().single(), "PGRST116", 406);
});

test("update without a filter", async () => {
  const ada = await as("ada");
  const result = await ada.from("buildings").update({ name: "All" });
  refused(result, "21000", 400, "UPDATE requires a WHERE clause");
});

test("update of a hidden row", async () => {
  const ada = await as("ada");
  const result = await ada.from("buildings").update({ name: "Mine" }).in("id", [4, 5]).select();
  assert.deepEqual(answer(result, 200), []);
});

test("update that gives a row away", async () => {
  const ada = await as("ada");
  const id = await building();
  const message = 'new row violates row-level security policy for table "buildings"';
  const result = await ada.from("buildings").update({ client_id: 2 }).eq("id", id);
  refused(result, "42501", 403, message);
});

test("update rolled back", async () => {
  const ada = await as("ada");
  const building_id = await building();
  const [id] = await inspections(building_id, "a");
  const asked = ada.from("inspections").update({ status: "z" }).eq("id", id).select("status");
  assert.deepEqual(answer(await asked.rollback(), 200), [{ status: "z" }]);
  assert.deepEqual(await statuses(building_id), ["a"]);
});

test("delete answers nothing, counted", async () => {
  const ada = await as("ada");
  const building_id = await building();
  await inspections(building_id, "a", "b");
  const asked = ada.from("inspections").delete({ count: "exact" });
  const result = await asked.eq("building_id", building_id);
  assert.equal(answer(result, 204), null);
  assert.equal(result.count, 2);
});

test("delete with select", async () => {
  const ada = await as("ada");
  const id = await building({ name: "Gone" });
  const asked = ada.from("buildings").delete().eq("id", id);
  assert.deepEqual(answer(await asked.select("name"), 200), [{ name: "Gone" }]);
});

test("delete without a filter", async () => {
  const ada = await as("ada");
  const result = await ada.from("reports_lead").delete();
  refused(result, "21000", 400, "DELETE requires a WHERE clause");
});

test("delete of what is in use", async () => {
  const ada = await as("ada");
  refused(await ada.from("buildings").delete().eq("id", 3), "23503", 409);
});

test("delete of a hidden row", async () => {
  const ada = await as("ada");
  assert.deepEqual(answer(await ada.from("inspections").delete().eq("id", 6).select(), 200), []);
  const bob = await as("bob");
  assert.equal(answer(await bob.from("inspections").select("id").eq("id", 6)).length, 1);
});

test("maxAffected", async () => {
  const ada = await as("ada");
  const building_id = await building();
  await inspections(building_id, "a", "b");
  const update = () =>
    ada.from("inspections").update({ status: "z" }).eq("building_id", building_id);
  refused(await update().maxAffected(1), "PGRST124", 400);
  const asked = ada.from("inspections").delete().eq("building_id", building_id);
  refused(await asked.maxAffected(1).select(), "PGRST124", 400);
  assert.deepEqual(await statuses(building_id), ["a", "b"]);
  answer(await update().maxAffected(2), 204);
  assert.deepEqual(await statuses(building_id), ["z", "z"]);
});
