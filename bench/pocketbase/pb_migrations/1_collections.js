// The tables of the benchmark as PocketBase collections, with their API rules and indexes.
// The rules give a super admin every record, a client admin the records of the own client, and a manager the granted
// buildings and inspections. Back-relations (`…_via_…`) reach the grants: one indexed look-up each.
// The indexes are those of schema.pg.sql.
// Settings: the batch API accepts 1,000 requests, request logs are off, rate limits are off (the default).

migrate((app) => {
  const text = (name, required = false) => ({ name, type: "text", required });
  const number = (name) => ({ name, type: "number" });
  const created = { name: "created_at", type: "autodate", onCreate: true };
  const updated = { name: "updated_at", type: "autodate", onCreate: true, onUpdate: true };
  const choice = (name, values, required = true) => ({ name, type: "select", values, required, maxSelect: 1 });
  const relation = (name, target, required = true) => ({
    name, type: "relation", collectionId: target === "users" ? "_pb_users_auth_" : `pbc_${target}`,
    maxSelect: 1, required, cascadeDelete: false,
  });
  const index = (table, columns, unique = "") =>
    `CREATE ${unique} INDEX ${table}_${columns.replaceAll(", ", "_")} ON ${table} (${columns})`;

  const SUPER_ADMIN = "@request.auth.role = 'super_admin'";
  const ADMIN = "@request.auth.role = 'client_admin'";
  const MANAGER = "@request.auth.role = 'client_manager'";
  const rule = (client, manager) =>
    `${SUPER_ADMIN} || (${ADMIN} && ${client} = @request.auth.client)` + (manager ? ` || (${MANAGER} && (${manager}))` : "");
  const building = "client_manager_building_access_via_building.manager ?= @request.auth.id";
  const inspection = "client_manager_inspection_access_via_inspection.manager ?= @request.auth.id";
  const read = (condition) => ({ listRule: condition, viewRule: condition });
  const write = (condition) => ({ createRule: condition, updateRule: condition, deleteRule: condition });

  const collection = (name, fields, indexes, rules) => ({
    id: `pbc_${name}`, name, type: "base", fields, indexes, ...rules,
  });
  const users = JSON.parse(JSON.stringify(app.findCollectionByNameOrId("users")));
  users.fields.push(choice("role", ["super_admin", "client_admin", "client_manager"]), relation("client", "clients", false));
  Object.assign(users, read(`${rule("client")} || id = @request.auth.id`), write(SUPER_ADMIN));
  users.authToken = { secret: $os.getenv("TOKEN_SECRET"), duration: 86400 };

  app.importCollections([
    users,
    collection("clients", [text("name", true), created, updated], [],
      { ...read(`${SUPER_ADMIN} || id = @request.auth.client`), ...write(SUPER_ADMIN) }),
    collection("inspectors", [text("name", true), text("email")], [],
      { ...read("@request.auth.id != ''"), ...write(SUPER_ADMIN) }),
    collection("buildings", [
      text("name", true), text("address"), text("city"), text("state"), text("zip"), relation("client", "clients"),
      created, updated, number("latitude"), number("longitude"), text("building_type"), number("floors"), number("units"),
    ], [index("buildings", "client, name"), index("buildings", "city, name")],
      { ...read(rule("client", building)), ...write(rule("client")) }),
    collection("inspections", [
      relation("building", "buildings"), choice("inspection_type", ["annual", "fire", "lead", "structural", "emergency"]),
      { name: "date_visited", type: "date" },
      choice("status", ["scheduled", "in_progress", "completed", "failed", "cancelled"], false),
      relation("inspector", "inspectors", false), text("notes"), created, updated,
    ], [
      index("inspections", "building, date_visited"), index("inspections", "building, status, date_visited"),
      index("inspections", "inspector"), index("inspections", "date_visited"), index("inspections", "status, date_visited"),
    ], { ...read(rule("building.client", `building.${building} || ${inspection}`)), ...write(rule("building.client")) }),
    collection("reports_lead", [relation("inspection", "inspections"), number("gun_id"), text("result")],
      [index("reports_lead", "inspection")],
      read(rule("inspection.building.client", `inspection.building.${building} || inspection.${inspection}`))),
    ...["building", "inspection"].map((target) => {
      const name = `client_manager_${target}_access`;
      return collection(name, [relation("manager", "users"), relation(target, `${target}s`), relation("assigned_by", "users", false), created],
        [index(name, `manager, ${target}`, "UNIQUE"), index(name, target)],
        { ...read(`${rule("manager.client")} || manager = @request.auth.id`), ...write(rule("manager.client")) });
    }),
  ], false);

  const settings = app.settings();
  settings.batch.enabled = true;
  settings.batch.maxRequests = 1000;
  settings.batch.timeout = 30;
  settings.logs.maxDays = 0;
  app.save(settings);
});
