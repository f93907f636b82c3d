-- PostgREST on a copy of Walkthrough's own tables: both servers maintain the same indexes, constraints and audit log.
-- Used for writes; for reads PostgREST has the indexes of schema.pg.sql. The policies use inspections.client_id, which
-- a trigger sets. PostgREST calls rule.begin in each request: it sets what the audit log records.

alter schema public rename to api;
create schema public;
alter table api.inspections alter created_at set default now(), alter updated_at set default now();

\i policies.pg.sql

alter policy visible_to_admin on api.inspections using (
    client_id = (select rule.client_id()) or building_id in (select building_id from rule.admin_buildings)
    or id in (select inspection_id from rule.admin_inspections));
alter policy written on api.inspections with check (client_id = (select rule.client_id()));
alter policy changed on api.inspections using (client_id = (select rule.client_id()));
alter policy removed on api.inspections using (client_id = (select rule.client_id()));

create function rule.set_client() returns trigger language plpgsql as $$
    begin
        new.client_id := (select client_id from api.buildings where id = new.building_id);
        return new;
    end $$;
create trigger set_client before insert on api.inspections for each row execute function rule.set_client();

create function rule.begin() returns void language sql as $$
    select set_config('walkthrough.at', now()::text, true),
        set_config('walkthrough.actor', coalesce(rule.user_id()::text, ''), true) $$;
grant usage on schema rule to public;
grant insert on api.audit_log to super_admin, client_admin;
grant all on all sequences in schema api to super_admin, client_admin;
