-- Walkthrough's access rule as PostgreSQL row policies, written to be fast:
-- uncorrelated sub-selects read the caller's claims and grants once a query (PostgreSQL runs them as InitPlans or hashes).
-- No function runs once a row. The views in `rule` belong to the owner of the tables, so that a policy does not apply
-- the policies of other tables. Run once after schema.pg.sql, or on Walkthrough's own tables.

create schema rule;

-- The caller, from the token's claims. Policies use (select rule.user_id()), which runs once a query.
create function rule.user_id() returns uuid stable parallel safe language sql as $$
    select nullif(current_setting('request.jwt.claims', true)::json ->> 'sub', '')::uuid $$;
create function rule.client_id() returns bigint stable parallel safe language sql as $$
    select nullif(current_setting('request.jwt.claims', true)::json ->> 'client_id', '')::bigint $$;

-- The caller's own and granted rows.
create view rule.own_buildings as
    select id from api.buildings where client_id = (select rule.client_id());
create view rule.admin_buildings as
    select building_id from api.client_admin_building_access where admin_id = (select rule.user_id());
create view rule.admin_inspections as
    select inspection_id from api.client_admin_inspection_access where admin_id = (select rule.user_id());
create view rule.manager_buildings as
    select building_id from api.client_manager_building_access where manager_id = (select rule.user_id());
create view rule.manager_inspections as
    select inspection_id from api.client_manager_inspection_access where manager_id = (select rule.user_id());

grant usage on schema api, rule to super_admin, client_admin, client_manager;
grant select on all tables in schema rule to client_admin, client_manager;
grant select on all tables in schema api to super_admin, client_admin, client_manager;
grant insert, update, delete on all tables in schema api to super_admin;
grant insert, update, delete on api.buildings, api.inspections, api.reports_lead, api.users,
    api.client_manager_building_access, api.client_manager_inspection_access to client_admin;

do $$
declare name text;
begin
    foreach name in array array['clients', 'users', 'inspectors', 'buildings', 'inspections', 'reports_lead',
        'client_manager_building_access', 'client_manager_inspection_access',
        'client_admin_building_access', 'client_admin_inspection_access'] loop
        execute format('alter table api.%I enable row level security', name);
        execute format('create policy everything on api.%I to super_admin using (true) with check (true)', name);
    end loop;
end $$;

create policy own on api.clients for select to client_admin, client_manager using (id = (select rule.client_id()));
create policy own on api.users for select to client_admin using (client_id = (select rule.client_id()));
create policy oneself on api.users for select to client_manager using (id = (select rule.user_id()));
create policy all_of_them on api.inspectors for select to client_admin using (true);

-- A manager has few grants: `= any (array(select …))` can use an index; `in (select …)` in a policy cannot, because
-- PostgreSQL does not pull it up into a join. An admin has hundreds of buildings: `in` hashes them once, and an array
-- would be searched linearly for every row.
create policy visible_to_admin on api.buildings for select to client_admin using (
    client_id = (select rule.client_id()) or id in (select building_id from rule.admin_buildings));
create policy visible_to_manager on api.buildings for select to client_manager using (
    id = any (array(select building_id from rule.manager_buildings)));
create policy visible_to_admin on api.inspections for select to client_admin using (
    building_id in (select id from rule.own_buildings union all select building_id from rule.admin_buildings)
    or id in (select inspection_id from rule.admin_inspections));
create policy visible_to_manager on api.inspections for select to client_manager using (
    building_id = any (array(select building_id from rule.manager_buildings))
    or id = any (array(select inspection_id from rule.manager_inspections)));
create policy visible on api.reports_lead for select to client_admin, client_manager using (
    exists (select 1 from api.inspections i where i.id = inspection_id));
create policy on_visible on api.inspectors for select to client_manager using (
    id in (select i.inspector_id from api.inspections i));

create policy written on api.buildings for insert to client_admin with check (client_id = (select rule.client_id()));
create policy changed on api.buildings for update to client_admin using (client_id = (select rule.client_id()));
create policy removed on api.buildings for delete to client_admin using (client_id = (select rule.client_id()));
create policy written on api.inspections for insert to client_admin with check (
    exists (select 1 from rule.own_buildings b where b.id = building_id));
create policy changed on api.inspections for update to client_admin using (
    exists (select 1 from rule.own_buildings b where b.id = building_id));
create policy removed on api.inspections for delete to client_admin using (
    exists (select 1 from rule.own_buildings b where b.id = building_id));

-- The dashboard's numbers by one query over the visible rows.
create function api.get_inspections_dashboard_summary_fast() returns json stable language sql as $$
    with tally as materialized (
        select i.status, i.inspection_type, count(*) as counted,
            count(*) filter (where i.status in ('scheduled', 'in_progress') and i.date_visited < current_date) as overdue,
            count(*) filter (where i.status = 'scheduled' and i.date_visited between current_date and current_date + 30)
                as upcoming,
            count(*) filter (where i.status = 'completed' and i.date_visited >= date_trunc('month', current_date)
                and i.date_visited < date_trunc('month', current_date) + interval '1 month') as completed_this_month,
            max(i.date_visited) filter (where i.status in ('completed', 'failed') and i.date_visited <= current_date) as last_inspection,
            min(i.date_visited) filter (where i.status = 'scheduled' and i.date_visited >= current_date) as next_inspection
        from api.inspections i group by i.status, i.inspection_type)
    select json_build_object(
        'total_inspections', (select coalesce(sum(counted), 0) from tally),
        'total_buildings', (select count(*) from api.buildings),
        'by_status', (select json_object_agg(coalesce(status, 'none'), counted)
            from (select status, sum(counted) as counted from tally group by status) s),
        'by_type', (select json_object_agg(inspection_type, counted)
            from (select inspection_type, sum(counted) as counted from tally group by inspection_type) t),
        'overdue', (select coalesce(sum(overdue), 0) from tally),
        'upcoming', (select coalesce(sum(upcoming), 0) from tally),
        'completed_this_month', (select coalesce(sum(completed_this_month), 0) from tally),
        'last_inspection', (select max(last_inspection) from tally),
        'next_inspection', (select min(next_inspection) from tally),
        'generated_at', now()) $$;
revoke execute on all functions in schema api from public;
grant execute on all functions in schema api, rule to super_admin, client_admin, client_manager;
