// Functions, as supabase-js calls them. Max sees building 4 and its inspections 6 and 7.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { CAST, answer, as, refused } from "./service.js";

const { ada: ADA, bob: BOB, max: MAX, moe: MOE, root: ROOT } = CAST;

async function building(columns = {}) {
  const root = await as("root");
  const row = { name: `Test ${randomUUID()}`, client_id: 1, ...columns };
  return answer(await root.from("buildings").insert(row).select("id").single()).id;
}

async function inspection(building_id) {
  const root = await as("root");
  const row = { building_id, inspection_type: "fire" };
  return answer(await root.from("inspections").insert(row).select("id").single()).id;
}

async function bothWays(who, name, args, check) {
  const client = await as(who);
  check(answer(await client.rpc(name, args), 200));
  check(answer(await client.rpc(name, args, { get: true }), 200));
}

test("get_inspections_dashboard_summary_fast", () =>
  bothWays("max", "get_inspections_dashboard_summary_fast", undefined, (summary) => {
    assert.equal(summary.total_inspections, 2);
    assert.equal(summary.total_buildings, 1);
    assert.deepEqual(summary.by_type, { annual: 0, fire: 0, lead: 1, structural: 0, emergency: 1 });
    assert.equal(summary.by_status.completed, 1);
    assert.deepEqual([summary.overdue, summary.upcoming, summary.next_inspection], [0, 0, null]);
  }));

test("get_building_stats_chart_fast", () =>
  bothWays(
    "max",
    "get_building_stats_chart_fast",
    { start_date: "2025-05-06", end_date: "2025-05-08" },
    (chart) => {
      assert.equal(chart.interval, "day");
      const series = chart.series.map((point) => [point.period, point.total]);
      assert.deepEqual(series, [
        ["2025-05-06", 1],
        ["2025-05-07", 1],
        ["2025-05-08", 0],
      ]);
      assert.deepEqual(
        chart.buildings.map(({ building_id, total, completed }) => [building_id, total, completed]),
        [[4, 2, 1]],
      );
    },
  ));

test("get_building_stats_chart_fast with nulls is as without", () =>
  bothWays(
    "max",
    "get_building_stats_chart_fast",
    { start_date: null, end_date: null },
    (chart) => assert.equal(chart.interval, "month"),
  ));

test("get_building_stats", () =>
  bothWays("max", "get_building_stats", { building_id: 4 }, (stats) => {
    assert.equal(stats.name, 'Ash, "The" Lofts (North)');
    assert.deepEqual([stats.total_inspections, stats.by_status.completed], [2, 1]);
    assert.equal(stats.lead.readings, 2);
  }));

test("get_building_stats of a hidden building is a 404", async () => {
  const max = await as("max");
  refused(await max.rpc("get_building_stats", { building_id: 1 }), "PT404", 404);
});

test("assign_buildings_to_client_admin", async () => {
  const root = await as("root");
  const args = { admin_id: ADA.id, building_ids: [await building({ client_id: 2 })] };
  const call = async () => answer(await root.rpc("assign_buildings_to_client_admin", args), 200);
  assert.deepEqual(await call(), { success: true, assigned: 1, already_assigned: 0 });
  assert.deepEqual(await call(), { success: true, assigned: 0, already_assigned: 1 });
});

test("assign_inspections_to_client_admin", async () => {
  const root = await as("root");
  const id = await inspection(await building({ client_id: 2 }));
  const args = { p_admin_id: ADA.id, p_inspection_ids: [id, id] };
  const assigned = answer(await root.rpc("assign_inspections_to_client_admin", args), 200);
  assert.deepEqual([assigned.success, assigned.assigned], [true, 1]);
});

test("assign_to_client_manager", async () => {
  const ada = await as("ada");
  const building_id = await building();
  const args = {
    manager_id: MOE.id,
    building_ids: [building_id],
    inspection_ids: [await inspection(building_id)],
  };
  assert.deepEqual(answer(await ada.rpc("assign_to_client_manager", args), 200), {
    success: true,
    assigned_buildings: 1,
    assigned_inspections: 1,
    already_assigned: 0,
  });
});

test("an assignment out of reach", async () => {
  const ada = await as("ada");
  const args = { manager_id: MOE.id, building_ids: [4], inspection_ids: [] };
  refused(await ada.rpc("assign_to_client_manager", args), "42501", 403);
});

test("an assignment to nobody", async () => {
  const root = await as("root");
  const args = { admin_id: randomUUID(), building_ids: [1] };
  refused(await root.rpc("assign_buildings_to_client_admin", args), "23514", 400);
});

test("an assignment by a manager", async () => {
  const max = await as("max");
  const args = { manager_id: MAX.id, building_ids: [4], inspection_ids: [] };
  refused(await max.rpc("assign_to_client_manager", args), "42501", 403);
});

test("check_building_access_v2", async () => {
  for (const [id, allowed] of [[4, true], [5, false], [999, false]]) {
    const args = { p_building_id: id, p_user_id: MAX.id };
    await bothWays("max", "check_building_access_v2", args, (is) => assert.equal(is, allowed));
  }
});

test("check_inspection_access", async () => {
  for (const [id, allowed] of [[6, true], [8, false]]) {
    const args = { p_inspection_id: id, p_user_id: MAX.id };
    await bothWays("bob", "check_inspection_access", args, (is) => assert.equal(is, allowed));
  }
});

test("explain_building_access", () =>
  bothWays(
    "bob",
    "explain_building_access",
    { p_building_id: 4, p_user_id: MAX.id },
    (explanation) =>
      assert.deepEqual(explanation, {
        allowed: true,
        reasons: [
          {
            rule: "building_grant",
            granted_by: BOB.id,
            granted_at: "2025-02-12T00:00:00+00:00",
          },
        ],
      }),
  ));

test("explain_inspection_access", () =>
  bothWays(
    "root",
    "explain_inspection_access",
    { p_inspection_id: 3, p_user_id: BOB.id },
    (explanation) =>
      assert.deepEqual(explanation, {
        allowed: true,
        reasons: [
          {
            rule: "inspection_grant",
            granted_by: ROOT.id,
            granted_at: "2025-02-14T00:00:00+00:00",
          },
        ],
      }),
  ));

test("a check about somebody else", async () => {
  const max = await as("max");
  const args = { p_building_id: 4, p_user_id: BOB.id };
  refused(await max.rpc("check_building_access_v2", args), "42501", 403);
});

test("an unknown function and unknown parameters", async () => {
  const max = await as("max");
  refused(await max.rpc("nope"), "PGRST202", 404);
  refused(await max.rpc("get_building_stats", { house: 4 }), "PGRST202", 404);
});

test("a wrong type", async () => {
  const max = await as("max");
  refused(await max.rpc("get_building_stats", { building_id: "x" }), "22P02", 400);
});

test("a call without rows", async () => {
  const max = await as("max");
  const result = await max.rpc("get_building_stats", { building_id: 4 }, { head: true });
  assert.equal(answer(result), null);
});
