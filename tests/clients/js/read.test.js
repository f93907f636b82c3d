// Reads, as supabase-js says them. Bob sees inspections 3, 6, 7 and 8 and buildings 4 and 5, whatever other
// tests write.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ANON_KEY, SERVICE_KEY, SERVICE_URL, answer, as, connect, ids, refused } from "./service.js";

const LOFTS = 'Ash, "The" Lofts (North)';

async function where(narrow, expected, table = "inspections") {
  const bob = await as("bob");
  const rows = answer(await narrow(bob.from(table).select("id")).order("id"), 200);
  assert.deepEqual(ids(rows), expected);
}

async function select(ask, expected) {
  assert.deepEqual(answer(await ask(await as("bob"))), expected);
}

test("eq", () => where((q) => q.eq("status", "completed"), [6]));
test("eq of reserved characters", () => where((q) => q.eq("name", LOFTS), [4], "buildings"));
test("eq of umlauts", () => where((q) => q.eq("name", "Größe Straße"), [5], "buildings"));
test("eq of a star", () => where((q) => q.eq("notes", "*starred*"), [6]));
test("eq of the empty text", () => where((q) => q.eq("notes", ""), [7]));
test("neq leaves nulls out", () => where((q) => q.neq("status", "completed"), [3, 7]));
test("gt", () => where((q) => q.gt("date_visited", "2025-05-06"), [7, 8]));
test("gte", () => where((q) => q.gte("date_visited", "2025-05-06"), [6, 7, 8]));
test("lt", () => where((q) => q.lt("id", 6), [3]));
test("lte", () => where((q) => q.lte("id", 6), [3, 6]));
test("two filters on a column", () => where((q) => q.gte("id", 6).lt("id", 8), [6, 7]));
test("gte of an ISO time", () =>
  where((q) => q.gte("updated_at", new Date(Date.UTC(2025, 4, 7, 10)).toISOString()), [7, 8]));
test("like", () => where((q) => q.like("name", "%Lofts%"), [4], "buildings"));
test("like tells case", () => where((q) => q.like("name", "%lofts%"), [], "buildings"));
test("ilike", () => where((q) => q.ilike("name", "%LOFTS%"), [4], "buildings"));
test("likeAllOf", () => where((q) => q.likeAllOf("name", ["%Ash%", "%North%"]), [4], "buildings"));
test("likeAnyOf", () => where((q) => q.likeAnyOf("name", ["Ash%", "Gr%"]), [4, 5], "buildings"));
test("ilikeAllOf", () => where((q) => q.ilikeAllOf("name", ["%ASH%", "%X%"]), [], "buildings"));
test("ilikeAnyOf", () => where((q) => q.ilikeAnyOf("name", ["ASH%", "GR%"]), [4, 5], "buildings"));
test("is null", () => where((q) => q.is("status", null), [8]));
test("not is null", () => where((q) => q.not("inspector_id", "is", null), [3, 6, 8]));
test("regexMatch", () => where((q) => q.regexMatch("inspection_type", "^(lead|fire)$"), [3, 6]));
test("regexIMatch", () => where((q) => q.regexIMatch("notes", "^null$"), [8]));
test("isDistinct keeps nulls", () => where((q) => q.isDistinct("status", "completed"), [3, 7, 8]));
test("in", () => where((q) => q.in("status", ["completed", "cancelled"]), [6, 7]));
test("in of numbers", () => where((q) => q.in("id", [1, 3, 8, 999]), [3, 8]));
test("in of nothing", () => where((q) => q.in("id", []), []));
test("in of texts with commas", () =>
  where((q) => q.in("name", ["a,b", "Größe Straße"]), [5], "buildings"));
test("notIn", () => where((q) => q.notIn("status", ["completed"]), [3, 7]));
test("not", () => where((q) => q.not("status", "in", "(completed,cancelled)"), [3]));
test("or", () => where((q) => q.or("status.is.null,and(id.gt.5,inspector_id.is.null)"), [7, 8]));
test("or with a quoted text", () =>
  where((q) => q.or('name.eq."Ash, \\"The\\" Lofts (North)",id.eq.5'), [4, 5], "buildings"));
test("match", () => where((q) => q.match({ building_id: 4, status: "completed" }), [6]));
test("filter with any", () => where((q) => q.filter("id", "eq(any)", "{3,7}"), [3, 7]));

test("in of a text that the client cannot quote is refused", async () => {
  const bob = await as("bob");
  refused(await bob.from("buildings").select("id").in("name", [LOFTS]), "PGRST100", 400);
});

test("a Date as it prints itself is refused", async () => {
  const bob = await as("bob");
  const result = await bob.from("inspections").select("id").gte("updated_at", new Date(0));
  refused(result, "22007", 400);
});

test("order, descending, nulls last", async () => {
  const bob = await as("bob");
  const asked = bob.from("inspections").select("id");
  const rows = answer(await asked.order("status", { ascending: false, nullsFirst: false }));
  assert.deepEqual(ids(rows), [3, 6, 7, 8]);
});

test("order by two terms", async () => {
  const bob = await as("bob");
  const asked = bob.from("inspections").select("id").order("building_id", { ascending: false });
  assert.deepEqual(ids(answer(await asked.order("id"))), [8, 6, 7, 3]);
});

test("limit", async () => {
  const bob = await as("bob");
  assert.deepEqual(ids(answer(await bob.from("inspections").select().order("id").limit(2))), [3, 6]);
});

test("range", async () => {
  const bob = await as("bob");
  const rows = answer(await bob.from("inspections").select("id").order("id").range(1, 2), 200);
  assert.deepEqual(ids(rows), [6, 7]);
});

test("a to-one embed", () =>
  select((c) => c.from("inspections").select("id,buildings(city)").eq("id", 8).single(), {
    id: 8,
    buildings: { city: "Troy" },
  }));

test("an embed that cannot be seen is null", () =>
  select((c) => c.from("inspections").select("id,buildings(city)").eq("id", 3).single(), {
    id: 3,
    buildings: null,
  }));

test("a to-many embed, ordered and limited inside", () =>
  select(
    (c) =>
      c
        .from("buildings")
        .select("id,inspections(id)")
        .eq("id", 4)
        .order("id", { referencedTable: "inspections", ascending: false })
        .limit(1, { referencedTable: "inspections" }),
    [{ id: 4, inspections: [{ id: 7 }] }],
  ));

test("nested embeds", () =>
  select(
    (c) =>
      c.from("reports_lead").select("gun_id, inspections(id, buildings(clients(name)))").eq("id", 3),
    [{ gun_id: 77, inspections: { id: 6, buildings: { clients: { name: "Borough Estates" } } } }],
  ));

test("an alias, a hint and inner", () =>
  select(
    (c) =>
      c
        .from("inspections")
        .select("ident:id, b:buildings!building_id!inner(n:name)")
        .eq("b.name", "Größe Straße"),
    [{ ident: 8, b: { n: "Größe Straße" } }],
  ));

test("a hint by constraint", () =>
  select(
    (c) =>
      c
        .from("client_manager_building_access")
        .select("by:users!client_manager_building_access_assigned_by_fkey(name)"),
    [{ by: { name: "Bob" } }],
  ));

test("or inside an embed", () =>
  select(
    (c) =>
      c
        .from("buildings")
        .select("id,inspections(id)")
        .eq("id", 4)
        .or("status.eq.cancelled,status.eq.x", { referencedTable: "inspections" }),
    [{ id: 4, inspections: [{ id: 7 }] }],
  ));

test("a cast", () =>
  select((c) => c.from("buildings").select("floors::text").eq("id", 4), [{ floors: "7" }]));

test("spread", () =>
  select((c) => c.from("inspections").select("id, ...buildings(place:name)").eq("id", 8), [
    { id: 8, place: "Größe Straße" },
  ]));

test("aggregates", () =>
  select(
    (c) => c.from("inspections").select("building_id, n:id.count(), last:id.max()").gt("building_id", 3).order("building_id"),
    [
      { building_id: 4, n: 2, last: 7 },
      { building_id: 5, n: 1, last: 8 },
    ],
  ));

test("count of an embed", () =>
  select((c) => c.from("buildings").select("id, inspections(count)").eq("id", 4), [
    { id: 4, inspections: [{ count: 2 }] },
  ]));

test("counts are exact", async () => {
  const bob = await as("bob");
  for (const count of ["exact", "planned", "estimated"]) {
    const result = await bob.from("inspections").select("id", { count }).limit(1);
    assert.equal(answer(result).length, 1);
    assert.equal(result.count, 4, count);
  }
});

test("a full counted read is 200", async () => {
  const bob = await as("bob");
  const result = await bob.from("inspections").select("id", { count: "exact" });
  answer(result, 200);
  assert.equal(result.count, 4);
});

test("count is null unless asked for", async () => {
  const bob = await as("bob");
  assert.equal((await bob.from("inspections").select("id")).count, null);
});

test("head counts without rows", async () => {
  const bob = await as("bob");
  const result = await bob.from("inspections").select("*", { count: "exact", head: true });
  assert.equal(answer(result), null);
  assert.equal(result.count, 4);
});

test("single", () =>
  select((c) => c.from("inspectors").select("name").eq("id", 1).single(), { name: "Ines Vega" }));

test("single of none and of many", async () => {
  const bob = await as("bob");
  for (const [id, rows] of [[99, 0], [4, 2]]) {
    const result = await bob.from("inspections").select("id").eq("building_id", id).single();
    refused(result, "PGRST116", 406, "Cannot coerce the result to a single JSON object");
    assert.equal(result.error.details, `The result contains ${rows} rows`);
  }
});

test("maybeSingle of one and of none", async () => {
  const bob = await as("bob");
  const inspectors = () => bob.from("inspectors").select("name");
  assert.deepEqual(answer(await inspectors().eq("id", 2).maybeSingle()), { name: "Ivo Kral" });
  assert.equal(answer(await inspectors().eq("id", 99).maybeSingle()), null);
});

test("maybeSingle of many", async () => {
  const bob = await as("bob");
  const result = await bob.from("inspectors").select("name").maybeSingle();
  assert.equal(result.error.code, "PGRST116");
});

test("csv", () =>
  select(
    (c) => c.from("buildings").select("id,name,units").order("id").csv(),
    'id,name,units\n4,"Ash, ""The"" Lofts (North)",40\n5,"Größe Straße",0',
  ));

test("stripNulls", () =>
  select((c) => c.from("inspections").select("id,status,notes").eq("id", 8).stripNulls(), [
    { id: 8, notes: "NULL" },
  ]));

test("plans and geometry are refused", async () => {
  const bob = await as("bob");
  refused(await bob.from("buildings").select("id").explain(), "PGRST107", 406);
  refused(await bob.from("buildings").select("id").geojson(), "PGRST107", 406);
});

test("another schema is refused", async () => {
  const bob = await as("bob");
  refused(await bob.schema("auth").from("users").select(), "PGRST106", 406);
});

test("an unknown table is a 404 with a body", async () => {
  const bob = await as("bob");
  refused(await bob.from("nope").select(), "PGRST205", 404);
});

test("names that are no names", async () => {
  const bob = await as("bob");
  refused(await bob.from("my table").select(), "PGRST205", 404);
  const { error, status } = await bob.rpc("a/b");
  assert.equal(status, 404);
  assert.ok(error.code && error.message);
});

test("count alone in a select", () =>
  select((c) => c.from("inspections").select("count").single(), { count: 4 }));

test("an unknown column", async () => {
  const bob = await as("bob");
  const message = "column buildings.nope does not exist";
  refused(await bob.from("buildings").select("nope"), "42703", 400, message);
});

test("two ways to embed", async () => {
  const bob = await as("bob");
  const result = await bob.from("client_manager_building_access").select("*,users(name)");
  refused(result, "PGRST201", 300);
  assert.ok(Array.isArray(result.error.details));
});

test("operators that no column has", async () => {
  const bob = await as("bob");
  for (const narrow of [
    (q) => q.contains("name", ["x"]),
    (q) => q.overlaps("name", ["x"]),
    (q) => q.rangeGt("floors", "[1,2)"),
    (q) => q.textSearch("name", "x"),
  ]) {
    const { error } = await narrow(bob.from("buildings").select("id"));
    assert.ok(error?.code && error.message, JSON.stringify(error));
  }
});

test("throwOnError throws code and message", async () => {
  const bob = await as("bob");
  await assert.rejects(async () => bob.from("buildings").select().eq("id", "x").throwOnError(), {
    name: "PostgrestError",
    code: "22P02",
    message: 'invalid input syntax for type bigint: "x"',
  });
});

test("a thousand ids in one request", async () => {
  const bob = await as("bob");
  const many = Array.from({ length: 1000 }, (_, n) => 999_000 - n).concat([]);
  many[500] = 7;
  const rows = answer(await bob.from("inspections").select("id").in("id", many));
  assert.deepEqual(ids(rows), [7]);
});

test("without a session nothing is read", async () => {
  const result = await connect().from("inspections").select();
  refused(result, "42501", 401, "permission denied for table inspections");
});

test("a wrong apikey reads nothing", async () => {
  const { error, status } = await connect("guessed").from("inspections").select();
  assert.deepEqual([status, error.message], [401, "Invalid API key"]);
});

test("the service key reads everything", async () => {
  const result = await connect(SERVICE_KEY).from("clients").select("id", { count: "exact" });
  assert.deepEqual(ids(answer(result)).slice(0, 2), [1, 2]);
});

test("a base URL that ends in a slash", async () => {
  const { createClient } = await import("@supabase/supabase-js");
  const client = createClient(`${SERVICE_URL}/`, ANON_KEY, { auth: { persistSession: false } });
  refused(await client.from("inspections").select(), "42501", 401);
});

test("the OpenAPI document", async () => {
  const bob = await as("bob");
  const document = answer(await bob.getOpenApiSpec());
  assert.ok(document.swagger && document.info);
  assert.ok(document.paths["/inspections"]);
  assert.ok(document.paths["/rpc/get_building_stats"]);
});

test("what is not there answers cleanly", async () => {
  const bob = await as("bob");
  const stored = await bob.storage.from("photos").list();
  assert.equal(stored.error.name, "StorageApiError");
  const invoked = await bob.functions.invoke("hello");
  assert.equal(invoked.error.name, "FunctionsHttpError");
});
