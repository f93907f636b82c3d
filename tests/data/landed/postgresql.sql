SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE FUNCTION public.audit_actor() RETURNS uuid
    LANGUAGE sql STABLE
    RETURN (NULLIF(current_setting('walkthrough.actor'::text, true), ''::text))::uuid;
CREATE FUNCTION public.audit_moment() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    RETURN COALESCE((NULLIF(current_setting('walkthrough.at'::text, true), ''::text))::timestamp with time zone, now());
CREATE FUNCTION public.building_details_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'building_details', concat_ws(',', OLD.building_id), OLD.client_id,
            json_build_object(
                'building_id', OLD.building_id, 'year_built', OLD.year_built, 'parcel', OLD.parcel,
                'owner_name', OLD.owner_name, 'owner_address', OLD.owner_address, 'owner_phone', OLD.owner_phone,
                'child_occupied', OLD.child_occupied, 'hazard_class', OLD.hazard_class,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.building_details_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'building_details', concat_ws(',', made.building_id), made.client_id,
                NULL, json_build_object(
                'building_id', made.building_id, 'year_built', made.year_built, 'parcel', made.parcel,
                'owner_name', made.owner_name, 'owner_address', made.owner_address, 'owner_phone', made.owner_phone,
                'child_occupied', made.child_occupied, 'hazard_class', made.hazard_class,
                'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.building_details_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'building_details', concat_ws(',', OLD.building_id), OLD.client_id,
            json_build_object(
                'building_id', OLD.building_id, 'year_built', OLD.year_built, 'parcel', OLD.parcel,
                'owner_name', OLD.owner_name, 'owner_address', OLD.owner_address, 'owner_phone', OLD.owner_phone,
                'child_occupied', OLD.child_occupied, 'hazard_class', OLD.hazard_class,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'building_details', concat_ws(',', NEW.building_id), NEW.client_id,
            NULL, json_build_object(
                'building_id', NEW.building_id, 'year_built', NEW.year_built, 'parcel', NEW.parcel,
                'owner_name', NEW.owner_name, 'owner_address', NEW.owner_address, 'owner_phone', NEW.owner_phone,
                'child_occupied', NEW.child_occupied, 'hazard_class', NEW.hazard_class,
                'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'building_details', concat_ws(',', NEW.building_id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('building_id', to_json(OLD.building_id), to_json(NEW.building_id)),
            ('year_built', to_json(OLD.year_built), to_json(NEW.year_built)),
            ('parcel', to_json(OLD.parcel), to_json(NEW.parcel)),
            ('owner_name', to_json(OLD.owner_name), to_json(NEW.owner_name)),
            ('owner_address', to_json(OLD.owner_address), to_json(NEW.owner_address)),
            ('owner_phone', to_json(OLD.owner_phone), to_json(NEW.owner_phone)),
            ('child_occupied', to_json(OLD.child_occupied), to_json(NEW.child_occupied)),
            ('hazard_class', to_json(OLD.hazard_class), to_json(NEW.hazard_class)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.building_details_follow_building_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM building_details WHERE building_id = gone ORDER BY building_id LOOP
        DELETE FROM building_details WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.buildings_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'buildings', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'name', OLD.name, 'address', OLD.address, 'city', OLD.city, 'state', OLD.state,
                'zip', OLD.zip, 'client_id', OLD.client_id, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at, 'latitude', OLD.latitude, 'longitude', OLD.longitude,
                'building_type', OLD.building_type, 'floors', OLD.floors, 'units', OLD.units), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.buildings_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'buildings', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'name', made.name, 'address', made.address, 'city', made.city, 'state', made.state,
                'zip', made.zip, 'client_id', made.client_id, 'created_at', made.created_at,
                'updated_at', made.updated_at, 'latitude', made.latitude, 'longitude', made.longitude,
                'building_type', made.building_type, 'floors', made.floors, 'units', made.units)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.buildings_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'buildings', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'name', OLD.name, 'address', OLD.address, 'city', OLD.city, 'state', OLD.state,
                'zip', OLD.zip, 'client_id', OLD.client_id, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at, 'latitude', OLD.latitude, 'longitude', OLD.longitude,
                'building_type', OLD.building_type, 'floors', OLD.floors, 'units', OLD.units), NULL);
        PERFORM write_audit_entry('insert', 'buildings', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'name', NEW.name, 'address', NEW.address, 'city', NEW.city, 'state', NEW.state,
                'zip', NEW.zip, 'client_id', NEW.client_id, 'created_at', NEW.created_at,
                'updated_at', NEW.updated_at, 'latitude', NEW.latitude, 'longitude', NEW.longitude,
                'building_type', NEW.building_type, 'floors', NEW.floors, 'units', NEW.units));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'buildings', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)), ('name', to_json(OLD.name), to_json(NEW.name)),
            ('address', to_json(OLD.address), to_json(NEW.address)), ('city', to_json(OLD.city), to_json(NEW.city)),
            ('state', to_json(OLD.state), to_json(NEW.state)), ('zip', to_json(OLD.zip), to_json(NEW.zip)),
            ('client_id', to_json(OLD.client_id), to_json(NEW.client_id)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at)),
            ('latitude', to_json(OLD.latitude), to_json(NEW.latitude)),
            ('longitude', to_json(OLD.longitude), to_json(NEW.longitude)),
            ('building_type', to_json(OLD.building_type), to_json(NEW.building_type)),
            ('floors', to_json(OLD.floors), to_json(NEW.floors)), ('units', to_json(OLD.units), to_json(NEW.units))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.buildings_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM building_details_follow_building_id(OLD.id);
    PERFORM schedules_follow_building_id(OLD.id);
    PERFORM files_follow_building_id(OLD.id);
    PERFORM client_admin_building_access_follow_building_id(OLD.id);
    PERFORM client_manager_building_access_follow_building_id(OLD.id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.buildings_moved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM client_admin_building_access_follow_building_id(NEW.id, OLD.client_id);
    PERFORM client_manager_building_access_follow_building_id(NEW.id, OLD.client_id);
    RETURN NULL;
END $$;
CREATE FUNCTION public.calibration_checks_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'calibration_checks', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'taken_at', OLD.taken_at,
                'first', OLD.first, 'second', OLD.second, 'third', OLD.third, 'mean', OLD.mean,
                'result', OLD.result, 'check_low', OLD.check_low, 'check_high', OLD.check_high, 'ref', OLD.ref,
                'note', OLD.note, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.calibration_checks_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'calibration_checks', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'inspection_id', made.inspection_id, 'gun_id', made.gun_id,
                'taken_at', made.taken_at, 'first', made.first, 'second', made.second, 'third', made.third,
                'mean', made.mean, 'result', made.result, 'check_low', made.check_low,
                'check_high', made.check_high, 'ref', made.ref, 'note', made.note, 'created_at', made.created_at,
                'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.calibration_checks_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'calibration_checks', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'taken_at', OLD.taken_at,
                'first', OLD.first, 'second', OLD.second, 'third', OLD.third, 'mean', OLD.mean,
                'result', OLD.result, 'check_low', OLD.check_low, 'check_high', OLD.check_high, 'ref', OLD.ref,
                'note', OLD.note, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'calibration_checks', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'inspection_id', NEW.inspection_id, 'gun_id', NEW.gun_id, 'taken_at', NEW.taken_at,
                'first', NEW.first, 'second', NEW.second, 'third', NEW.third, 'mean', NEW.mean,
                'result', NEW.result, 'check_low', NEW.check_low, 'check_high', NEW.check_high, 'ref', NEW.ref,
                'note', NEW.note, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'calibration_checks', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('gun_id', to_json(OLD.gun_id), to_json(NEW.gun_id)),
            ('taken_at', to_json(OLD.taken_at), to_json(NEW.taken_at)),
            ('first', to_json(OLD.first), to_json(NEW.first)), ('second', to_json(OLD.second), to_json(NEW.second)),
            ('third', to_json(OLD.third), to_json(NEW.third)), ('mean', to_json(OLD.mean), to_json(NEW.mean)),
            ('result', to_json(OLD.result), to_json(NEW.result)),
            ('check_low', to_json(OLD.check_low), to_json(NEW.check_low)),
            ('check_high', to_json(OLD.check_high), to_json(NEW.check_high)),
            ('ref', to_json(OLD.ref), to_json(NEW.ref)), ('note', to_json(OLD.note), to_json(NEW.note)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.calibration_checks_follow_inspection_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM calibration_checks WHERE inspection_id = gone ORDER BY id LOOP
        DELETE FROM calibration_checks WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_building_access_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'client_admin_building_access', concat_ws(',', OLD.admin_id, OLD.building_id), grantees_client(OLD.admin_id),
            json_build_object(
                'admin_id', OLD.admin_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.client_admin_building_access_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'client_admin_building_access', concat_ws(',', made.admin_id, made.building_id), grantees_client(made.admin_id),
                NULL, json_build_object(
                'admin_id', made.admin_id, 'building_id', made.building_id, 'assigned_by', made.assigned_by,
                'assigned_at', made.assigned_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_admin_building_access_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.admin_id IS DISTINCT FROM NEW.admin_id THEN
        PERFORM write_audit_entry('delete', 'client_admin_building_access', concat_ws(',', OLD.admin_id, OLD.building_id), grantees_client(OLD.admin_id),
            json_build_object(
                'admin_id', OLD.admin_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
        PERFORM write_audit_entry('insert', 'client_admin_building_access', concat_ws(',', NEW.admin_id, NEW.building_id), grantees_client(NEW.admin_id),
            NULL, json_build_object(
                'admin_id', NEW.admin_id, 'building_id', NEW.building_id, 'assigned_by', NEW.assigned_by,
                'assigned_at', NEW.assigned_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'client_admin_building_access', concat_ws(',', NEW.admin_id, NEW.building_id), grantees_client(NEW.admin_id),
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('admin_id', to_json(OLD.admin_id), to_json(NEW.admin_id)),
            ('building_id', to_json(OLD.building_id), to_json(NEW.building_id)),
            ('assigned_by', to_json(OLD.assigned_by), to_json(NEW.assigned_by)),
            ('assigned_at', to_json(OLD.assigned_at), to_json(NEW.assigned_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_admin_building_access_follow_admin_id(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_admin_building_access WHERE admin_id = gone
        AND (of_client IS NULL OR admin_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY admin_id, building_id LOOP
        DELETE FROM client_admin_building_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_building_access_follow_assigned_by(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_admin_building_access WHERE assigned_by = gone
        AND (of_client IS NULL OR admin_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY admin_id, building_id LOOP
        UPDATE client_admin_building_access SET assigned_by = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_building_access_follow_building_id(gone bigint, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_admin_building_access WHERE building_id = gone
        AND (of_client IS NULL OR admin_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY admin_id, building_id LOOP
        DELETE FROM client_admin_building_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_building_access_role() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin') THEN
        PERFORM refuse('client_admin_building_access_admin_id_check', 'client_admin_building_access');
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'client_admin_inspection_access', concat_ws(',', OLD.admin_id, OLD.inspection_id), grantees_client(OLD.admin_id),
            json_build_object(
                'admin_id', OLD.admin_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'client_admin_inspection_access', concat_ws(',', made.admin_id, made.inspection_id), grantees_client(made.admin_id),
                NULL, json_build_object(
                'admin_id', made.admin_id, 'inspection_id', made.inspection_id, 'assigned_by', made.assigned_by,
                'assigned_at', made.assigned_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.admin_id IS DISTINCT FROM NEW.admin_id THEN
        PERFORM write_audit_entry('delete', 'client_admin_inspection_access', concat_ws(',', OLD.admin_id, OLD.inspection_id), grantees_client(OLD.admin_id),
            json_build_object(
                'admin_id', OLD.admin_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
        PERFORM write_audit_entry('insert', 'client_admin_inspection_access', concat_ws(',', NEW.admin_id, NEW.inspection_id), grantees_client(NEW.admin_id),
            NULL, json_build_object(
                'admin_id', NEW.admin_id, 'inspection_id', NEW.inspection_id, 'assigned_by', NEW.assigned_by,
                'assigned_at', NEW.assigned_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'client_admin_inspection_access', concat_ws(',', NEW.admin_id, NEW.inspection_id), grantees_client(NEW.admin_id),
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('admin_id', to_json(OLD.admin_id), to_json(NEW.admin_id)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('assigned_by', to_json(OLD.assigned_by), to_json(NEW.assigned_by)),
            ('assigned_at', to_json(OLD.assigned_at), to_json(NEW.assigned_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_follow_admin_id(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_admin_inspection_access WHERE admin_id = gone
        AND (of_client IS NULL OR admin_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY admin_id, inspection_id LOOP
        DELETE FROM client_admin_inspection_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_follow_assigned_by(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_admin_inspection_access WHERE assigned_by = gone
        AND (of_client IS NULL OR admin_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY admin_id, inspection_id LOOP
        UPDATE client_admin_inspection_access SET assigned_by = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_follow_inspection_id(gone bigint, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_admin_inspection_access WHERE inspection_id = gone
        AND (of_client IS NULL OR admin_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY admin_id, inspection_id LOOP
        DELETE FROM client_admin_inspection_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_admin_inspection_access_role() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.admin_id AND role = 'client_admin') THEN
        PERFORM refuse('client_admin_inspection_access_admin_id_check', 'client_admin_inspection_access');
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.client_manager_building_access_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'client_manager_building_access', concat_ws(',', OLD.manager_id, OLD.building_id), grantees_client(OLD.manager_id),
            json_build_object(
                'manager_id', OLD.manager_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.client_manager_building_access_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'client_manager_building_access', concat_ws(',', made.manager_id, made.building_id), grantees_client(made.manager_id),
                NULL, json_build_object(
                'manager_id', made.manager_id, 'building_id', made.building_id, 'assigned_by', made.assigned_by,
                'assigned_at', made.assigned_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_manager_building_access_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.manager_id IS DISTINCT FROM NEW.manager_id THEN
        PERFORM write_audit_entry('delete', 'client_manager_building_access', concat_ws(',', OLD.manager_id, OLD.building_id), grantees_client(OLD.manager_id),
            json_build_object(
                'manager_id', OLD.manager_id, 'building_id', OLD.building_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
        PERFORM write_audit_entry('insert', 'client_manager_building_access', concat_ws(',', NEW.manager_id, NEW.building_id), grantees_client(NEW.manager_id),
            NULL, json_build_object(
                'manager_id', NEW.manager_id, 'building_id', NEW.building_id, 'assigned_by', NEW.assigned_by,
                'assigned_at', NEW.assigned_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'client_manager_building_access', concat_ws(',', NEW.manager_id, NEW.building_id), grantees_client(NEW.manager_id),
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('manager_id', to_json(OLD.manager_id), to_json(NEW.manager_id)),
            ('building_id', to_json(OLD.building_id), to_json(NEW.building_id)),
            ('assigned_by', to_json(OLD.assigned_by), to_json(NEW.assigned_by)),
            ('assigned_at', to_json(OLD.assigned_at), to_json(NEW.assigned_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_manager_building_access_follow_assigned_by(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_manager_building_access WHERE assigned_by = gone
        AND (of_client IS NULL OR manager_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY manager_id, building_id LOOP
        UPDATE client_manager_building_access SET assigned_by = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_manager_building_access_follow_building_id(gone bigint, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_manager_building_access WHERE building_id = gone
        AND (of_client IS NULL OR manager_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY manager_id, building_id LOOP
        DELETE FROM client_manager_building_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_manager_building_access_follow_manager_id(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_manager_building_access WHERE manager_id = gone
        AND (of_client IS NULL OR manager_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY manager_id, building_id LOOP
        DELETE FROM client_manager_building_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_manager_building_access_role() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager') THEN
        PERFORM refuse('client_manager_building_access_manager_id_check', 'client_manager_building_access');
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'client_manager_inspection_access', concat_ws(',', OLD.manager_id, OLD.inspection_id), grantees_client(OLD.manager_id),
            json_build_object(
                'manager_id', OLD.manager_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'client_manager_inspection_access', concat_ws(',', made.manager_id, made.inspection_id), grantees_client(made.manager_id),
                NULL, json_build_object(
                'manager_id', made.manager_id, 'inspection_id', made.inspection_id, 'assigned_by', made.assigned_by,
                'assigned_at', made.assigned_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.manager_id IS DISTINCT FROM NEW.manager_id THEN
        PERFORM write_audit_entry('delete', 'client_manager_inspection_access', concat_ws(',', OLD.manager_id, OLD.inspection_id), grantees_client(OLD.manager_id),
            json_build_object(
                'manager_id', OLD.manager_id, 'inspection_id', OLD.inspection_id, 'assigned_by', OLD.assigned_by,
                'assigned_at', OLD.assigned_at), NULL);
        PERFORM write_audit_entry('insert', 'client_manager_inspection_access', concat_ws(',', NEW.manager_id, NEW.inspection_id), grantees_client(NEW.manager_id),
            NULL, json_build_object(
                'manager_id', NEW.manager_id, 'inspection_id', NEW.inspection_id, 'assigned_by', NEW.assigned_by,
                'assigned_at', NEW.assigned_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'client_manager_inspection_access', concat_ws(',', NEW.manager_id, NEW.inspection_id), grantees_client(NEW.manager_id),
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('manager_id', to_json(OLD.manager_id), to_json(NEW.manager_id)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('assigned_by', to_json(OLD.assigned_by), to_json(NEW.assigned_by)),
            ('assigned_at', to_json(OLD.assigned_at), to_json(NEW.assigned_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_follow_assigned_by(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_manager_inspection_access WHERE assigned_by = gone
        AND (of_client IS NULL OR manager_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY manager_id, inspection_id LOOP
        UPDATE client_manager_inspection_access SET assigned_by = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_follow_inspection_id(gone bigint, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_manager_inspection_access WHERE inspection_id = gone
        AND (of_client IS NULL OR manager_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY manager_id, inspection_id LOOP
        DELETE FROM client_manager_inspection_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_follow_manager_id(gone uuid, of_client bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM client_manager_inspection_access WHERE manager_id = gone
        AND (of_client IS NULL OR manager_id IN (SELECT id FROM users WHERE client_id = of_client))
        ORDER BY manager_id, inspection_id LOOP
        DELETE FROM client_manager_inspection_access WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.client_manager_inspection_access_role() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.manager_id AND role = 'client_manager') THEN
        PERFORM refuse('client_manager_inspection_access_manager_id_check', 'client_manager_inspection_access');
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.clients_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'clients', concat_ws(',', OLD.id), OLD.id,
            json_build_object(
                'id', OLD.id, 'name', OLD.name, 'address', OLD.address, 'phone', OLD.phone,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.clients_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'clients', concat_ws(',', made.id), made.id,
                NULL, json_build_object(
                'id', made.id, 'name', made.name, 'address', made.address, 'phone', made.phone,
                'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.clients_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'clients', concat_ws(',', NEW.id), NEW.id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)), ('name', to_json(OLD.name), to_json(NEW.name)),
            ('address', to_json(OLD.address), to_json(NEW.address)),
            ('phone', to_json(OLD.phone), to_json(NEW.phone)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.credentials_unlinked() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.disabled_until > this_second() THEN
        UPDATE inspectors SET user_id = NULL WHERE user_id = NEW.user_id;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.decides_rights(action text, relation text, before json, after json) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE COST 1000
    AS $$
BEGIN
    IF action IN ('sign_in', 'sign_out', 'refused') THEN
        RETURN false;
    ELSIF relation NOT IN ('clients', 'inspectors', 'buildings', 'building_details', 'inspections', 'reports_lead', 'calibration_checks', 'xrf_instruments', 'xrf_limits', 'schedules', 'inspection_plans', 'findings', 'finding_events', 'files') THEN
        RETURN true;
    ELSIF action = 'update' THEN
        RETURN coalesce(
            before ->> 'id', before ->> 'user_id', before ->> 'client_id', before ->> 'building_id',
            before ->> 'inspector_id', before ->> 'inspection_id', before ->> 'gun_id', before ->> 'substrate',
            before ->> 'schedule_id', before ->> 'finding_id', before ->> 'created_by', after ->> 'user_id',
            after ->> 'client_id', after ->> 'building_id', after ->> 'inspector_id', after ->> 'inspection_id',
            after ->> 'gun_id', after ->> 'schedule_id', after ->> 'finding_id', after ->> 'created_by') IS NOT NULL;
    END IF;
    RETURN action <> 'insert';
END $$;
CREATE FUNCTION public.delete_grants_of_user() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM client_admin_building_access_follow_admin_id(OLD.id);
    PERFORM client_manager_building_access_follow_manager_id(OLD.id);
    PERFORM client_admin_inspection_access_follow_admin_id(OLD.id);
    PERFORM client_manager_inspection_access_follow_manager_id(OLD.id);
    RETURN NEW;
END $$;
CREATE FUNCTION public.files_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'files', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'bucket', OLD.bucket, 'name', OLD.name, 'inspection_id', OLD.inspection_id,
                'finding_id', OLD.finding_id, 'building_id', OLD.building_id, 'sha256', OLD.sha256,
                'size', OLD.size, 'mimetype', OLD.mimetype, 'width', OLD.width, 'height', OLD.height,
                'taken_at', OLD.taken_at, 'caption', OLD.caption, 'cache_control', OLD.cache_control,
                'user_metadata', OLD.user_metadata, 'created_by', OLD.created_by, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.files_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'files', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'bucket', made.bucket, 'name', made.name, 'inspection_id', made.inspection_id,
                'finding_id', made.finding_id, 'building_id', made.building_id, 'sha256', made.sha256,
                'size', made.size, 'mimetype', made.mimetype, 'width', made.width, 'height', made.height,
                'taken_at', made.taken_at, 'caption', made.caption, 'cache_control', made.cache_control,
                'user_metadata', made.user_metadata, 'created_by', made.created_by, 'created_at', made.created_at,
                'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.files_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'files', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'bucket', OLD.bucket, 'name', OLD.name, 'inspection_id', OLD.inspection_id,
                'finding_id', OLD.finding_id, 'building_id', OLD.building_id, 'sha256', OLD.sha256,
                'size', OLD.size, 'mimetype', OLD.mimetype, 'width', OLD.width, 'height', OLD.height,
                'taken_at', OLD.taken_at, 'caption', OLD.caption, 'cache_control', OLD.cache_control,
                'user_metadata', OLD.user_metadata, 'created_by', OLD.created_by, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'files', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'bucket', NEW.bucket, 'name', NEW.name, 'inspection_id', NEW.inspection_id,
                'finding_id', NEW.finding_id, 'building_id', NEW.building_id, 'sha256', NEW.sha256,
                'size', NEW.size, 'mimetype', NEW.mimetype, 'width', NEW.width, 'height', NEW.height,
                'taken_at', NEW.taken_at, 'caption', NEW.caption, 'cache_control', NEW.cache_control,
                'user_metadata', NEW.user_metadata, 'created_by', NEW.created_by, 'created_at', NEW.created_at,
                'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'files', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)), ('bucket', to_json(OLD.bucket), to_json(NEW.bucket)),
            ('name', to_json(OLD.name), to_json(NEW.name)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('finding_id', to_json(OLD.finding_id), to_json(NEW.finding_id)),
            ('building_id', to_json(OLD.building_id), to_json(NEW.building_id)),
            ('sha256', to_json(OLD.sha256), to_json(NEW.sha256)), ('size', to_json(OLD.size), to_json(NEW.size)),
            ('mimetype', to_json(OLD.mimetype), to_json(NEW.mimetype)),
            ('width', to_json(OLD.width), to_json(NEW.width)), ('height', to_json(OLD.height), to_json(NEW.height)),
            ('taken_at', to_json(OLD.taken_at), to_json(NEW.taken_at)),
            ('caption', to_json(OLD.caption), to_json(NEW.caption)),
            ('cache_control', to_json(OLD.cache_control), to_json(NEW.cache_control)),
            ('user_metadata', to_json(OLD.user_metadata), to_json(NEW.user_metadata)),
            ('created_by', to_json(OLD.created_by), to_json(NEW.created_by)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.files_follow_building_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM files WHERE building_id = gone ORDER BY id LOOP
        DELETE FROM files WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.files_follow_created_by(gone uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM files WHERE created_by = gone ORDER BY id LOOP
        UPDATE files SET created_by = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.files_follow_finding_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM files WHERE finding_id = gone ORDER BY id LOOP
        DELETE FROM files WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.files_follow_inspection_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM files WHERE inspection_id = gone ORDER BY id LOOP
        DELETE FROM files WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.finding_events_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'finding_events', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'finding_id', OLD.finding_id, 'at', OLD.at, 'user_id', OLD.user_id, 'kind', OLD.kind,
                'inspection_id', OLD.inspection_id, 'note', OLD.note, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.finding_events_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'finding_events', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'finding_id', made.finding_id, 'at', made.at, 'user_id', made.user_id,
                'kind', made.kind, 'inspection_id', made.inspection_id, 'note', made.note,
                'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.finding_events_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'finding_events', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'finding_id', OLD.finding_id, 'at', OLD.at, 'user_id', OLD.user_id, 'kind', OLD.kind,
                'inspection_id', OLD.inspection_id, 'note', OLD.note, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'finding_events', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'finding_id', NEW.finding_id, 'at', NEW.at, 'user_id', NEW.user_id, 'kind', NEW.kind,
                'inspection_id', NEW.inspection_id, 'note', NEW.note, 'created_at', NEW.created_at,
                'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'finding_events', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)),
            ('finding_id', to_json(OLD.finding_id), to_json(NEW.finding_id)),
            ('at', to_json(OLD.at), to_json(NEW.at)), ('user_id', to_json(OLD.user_id), to_json(NEW.user_id)),
            ('kind', to_json(OLD.kind), to_json(NEW.kind)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('note', to_json(OLD.note), to_json(NEW.note)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.finding_events_follow_finding_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM finding_events WHERE finding_id = gone ORDER BY id LOOP
        DELETE FROM finding_events WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.finding_events_follow_user_id(gone uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM finding_events WHERE user_id = gone ORDER BY id LOOP
        UPDATE finding_events SET user_id = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.findings_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'findings', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'inspection_id', OLD.inspection_id, 'case_id', OLD.case_id, 'ref', OLD.ref,
                'place', OLD.place, 'item', OLD.item, 'code', OLD.code, 'description', OLD.description,
                'severity', OLD.severity, 'status', OLD.status, 'due_at', OLD.due_at, 'closed_at', OLD.closed_at,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.findings_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'findings', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'inspection_id', made.inspection_id, 'case_id', made.case_id, 'ref', made.ref,
                'place', made.place, 'item', made.item, 'code', made.code, 'description', made.description,
                'severity', made.severity, 'status', made.status, 'due_at', made.due_at,
                'closed_at', made.closed_at, 'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.findings_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'findings', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'inspection_id', OLD.inspection_id, 'case_id', OLD.case_id, 'ref', OLD.ref,
                'place', OLD.place, 'item', OLD.item, 'code', OLD.code, 'description', OLD.description,
                'severity', OLD.severity, 'status', OLD.status, 'due_at', OLD.due_at, 'closed_at', OLD.closed_at,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'findings', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'inspection_id', NEW.inspection_id, 'case_id', NEW.case_id, 'ref', NEW.ref,
                'place', NEW.place, 'item', NEW.item, 'code', NEW.code, 'description', NEW.description,
                'severity', NEW.severity, 'status', NEW.status, 'due_at', NEW.due_at, 'closed_at', NEW.closed_at,
                'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'findings', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('case_id', to_json(OLD.case_id), to_json(NEW.case_id)), ('ref', to_json(OLD.ref), to_json(NEW.ref)),
            ('place', to_json(OLD.place), to_json(NEW.place)), ('item', to_json(OLD.item), to_json(NEW.item)),
            ('code', to_json(OLD.code), to_json(NEW.code)),
            ('description', to_json(OLD.description), to_json(NEW.description)),
            ('severity', to_json(OLD.severity), to_json(NEW.severity)),
            ('status', to_json(OLD.status), to_json(NEW.status)),
            ('due_at', to_json(OLD.due_at), to_json(NEW.due_at)),
            ('closed_at', to_json(OLD.closed_at), to_json(NEW.closed_at)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.findings_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM finding_events_follow_finding_id(OLD.id);
    PERFORM files_follow_finding_id(OLD.id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.findings_follow_inspection_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM findings WHERE inspection_id = gone ORDER BY id LOOP
        DELETE FROM findings WHERE ctid = row_ctid;
    END LOOP;
END $$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.users (
    id uuid NOT NULL,
    email text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    role text NOT NULL COLLATE pg_catalog."C",
    client_id bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT users_check CHECK (((role = 'super_admin'::text) = (client_id IS NULL))),
    CONSTRAINT users_email_check CHECK ((octet_length(email) <= 65536)),
    CONSTRAINT users_name_check CHECK ((octet_length(name) <= 65536)),
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY['super_admin'::text, 'client_admin'::text, 'client_manager'::text])))
);
CREATE FUNCTION public.grantees_client(grantee uuid) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN (SELECT u.client_id FROM (public.users u LEFT JOIN public.users actor ON ((actor.id = public.audit_actor()))) WHERE ((u.id = grantees_client.grantee) AND (COALESCE(actor.client_id, u.client_id) = u.client_id)));
CREATE FUNCTION public.has_writer_lock() RETURNS boolean
    LANGUAGE sql
    RETURN ((COALESCE(current_setting('walkthrough.client'::text, true), ''::text) <> ''::text) OR (pg_advisory_xact_lock((1463897163)::bigint) IS NOT NULL));
CREATE FUNCTION public.in_timezone(moment timestamp with time zone, zone text) RETURNS text
    LANGUAGE plpgsql STABLE STRICT
    AS $$
DECLARE
    here timestamp := moment AT TIME ZONE zone;
    ahead interval := here - (moment AT TIME ZONE 'UTC');
BEGIN
    IF extract(year FROM here) NOT BETWEEN 1 AND 9999 THEN -- the year does not have four digits: use UTC
        here := here - ahead;
        ahead := interval '0';
    END IF;
    RETURN (to_json(here) #>> '{}') || CASE WHEN ahead < interval '0' THEN '-' ELSE '+' END
        || to_char(greatest(ahead, -ahead), CASE WHEN extract(second FROM ahead) = 0 THEN 'HH24:MI' ELSE 'HH24:MI:SS' END);
END $$;
CREATE FUNCTION public.inspection_plans_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'inspection_plans', concat_ws(',', OLD.inspection_id), OLD.client_id,
            json_build_object(
                'inspection_id', OLD.inspection_id, 'schedule_id', OLD.schedule_id, 'occurrence', OLD.occurrence,
                'due_on', OLD.due_on, 'case_id', OLD.case_id, 'round', OLD.round, 'outcome', OLD.outcome,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.inspection_plans_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'inspection_plans', concat_ws(',', made.inspection_id), made.client_id,
                NULL, json_build_object(
                'inspection_id', made.inspection_id, 'schedule_id', made.schedule_id, 'occurrence', made.occurrence,
                'due_on', made.due_on, 'case_id', made.case_id, 'round', made.round, 'outcome', made.outcome,
                'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspection_plans_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'inspection_plans', concat_ws(',', OLD.inspection_id), OLD.client_id,
            json_build_object(
                'inspection_id', OLD.inspection_id, 'schedule_id', OLD.schedule_id, 'occurrence', OLD.occurrence,
                'due_on', OLD.due_on, 'case_id', OLD.case_id, 'round', OLD.round, 'outcome', OLD.outcome,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'inspection_plans', concat_ws(',', NEW.inspection_id), NEW.client_id,
            NULL, json_build_object(
                'inspection_id', NEW.inspection_id, 'schedule_id', NEW.schedule_id, 'occurrence', NEW.occurrence,
                'due_on', NEW.due_on, 'case_id', NEW.case_id, 'round', NEW.round, 'outcome', NEW.outcome,
                'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'inspection_plans', concat_ws(',', NEW.inspection_id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('schedule_id', to_json(OLD.schedule_id), to_json(NEW.schedule_id)),
            ('occurrence', to_json(OLD.occurrence), to_json(NEW.occurrence)),
            ('due_on', to_json(OLD.due_on), to_json(NEW.due_on)),
            ('case_id', to_json(OLD.case_id), to_json(NEW.case_id)),
            ('round', to_json(OLD.round), to_json(NEW.round)),
            ('outcome', to_json(OLD.outcome), to_json(NEW.outcome)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspection_plans_follow_inspection_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM inspection_plans WHERE inspection_id = gone ORDER BY inspection_id LOOP
        DELETE FROM inspection_plans WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.inspection_plans_follow_schedule_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM inspection_plans WHERE schedule_id = gone ORDER BY inspection_id LOOP
        UPDATE inspection_plans SET schedule_id = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.inspections_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'inspections', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type,
                'date_visited', OLD.date_visited, 'status', OLD.status, 'inspector_id', OLD.inspector_id,
                'notes', OLD.notes, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.inspections_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'inspections', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'building_id', made.building_id, 'inspection_type', made.inspection_type,
                'date_visited', made.date_visited, 'status', made.status, 'inspector_id', made.inspector_id,
                'notes', made.notes, 'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspections_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'inspections', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type,
                'date_visited', OLD.date_visited, 'status', OLD.status, 'inspector_id', OLD.inspector_id,
                'notes', OLD.notes, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'inspections', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'building_id', NEW.building_id, 'inspection_type', NEW.inspection_type,
                'date_visited', NEW.date_visited, 'status', NEW.status, 'inspector_id', NEW.inspector_id,
                'notes', NEW.notes, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'inspections', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)),
            ('building_id', to_json(OLD.building_id), to_json(NEW.building_id)),
            ('inspection_type', to_json(OLD.inspection_type), to_json(NEW.inspection_type)),
            ('date_visited', to_json(OLD.date_visited), to_json(NEW.date_visited)),
            ('status', to_json(OLD.status), to_json(NEW.status)),
            ('inspector_id', to_json(OLD.inspector_id), to_json(NEW.inspector_id)),
            ('notes', to_json(OLD.notes), to_json(NEW.notes)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspections_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM reports_lead_follow_inspection_id(OLD.id);
    PERFORM calibration_checks_follow_inspection_id(OLD.id);
    PERFORM inspection_plans_follow_inspection_id(OLD.id);
    PERFORM findings_follow_inspection_id(OLD.id);
    PERFORM files_follow_inspection_id(OLD.id);
    PERFORM client_admin_inspection_access_follow_inspection_id(OLD.id);
    PERFORM client_manager_inspection_access_follow_inspection_id(OLD.id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.inspections_follow_inspector_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM inspections WHERE inspector_id = gone ORDER BY id LOOP
        UPDATE inspections SET inspector_id = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.inspections_moved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM client_admin_inspection_access_follow_inspection_id(NEW.id, OLD.client_id);
    PERFORM client_manager_inspection_access_follow_inspection_id(NEW.id, OLD.client_id);
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspectors_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'inspectors', concat_ws(',', OLD.id), NULL,
            json_build_object(
                'id', OLD.id, 'name', OLD.name, 'email', OLD.email, 'user_id', OLD.user_id, 'license', OLD.license,
                'license_state', OLD.license_state, 'license_expires_on', OLD.license_expires_on, 'firm', OLD.firm,
                'firm_address', OLD.firm_address, 'firm_phone', OLD.firm_phone,
                'firm_certificate', OLD.firm_certificate), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.inspectors_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'inspectors', concat_ws(',', made.id), NULL,
                NULL, json_build_object(
                'id', made.id, 'name', made.name, 'email', made.email, 'user_id', made.user_id,
                'license', made.license, 'license_state', made.license_state,
                'license_expires_on', made.license_expires_on, 'firm', made.firm, 'firm_address', made.firm_address,
                'firm_phone', made.firm_phone, 'firm_certificate', made.firm_certificate)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspectors_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'inspectors', concat_ws(',', NEW.id), NULL,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)), ('name', to_json(OLD.name), to_json(NEW.name)),
            ('email', to_json(OLD.email), to_json(NEW.email)),
            ('user_id', to_json(OLD.user_id), to_json(NEW.user_id)),
            ('license', to_json(OLD.license), to_json(NEW.license)),
            ('license_state', to_json(OLD.license_state), to_json(NEW.license_state)),
            ('license_expires_on', to_json(OLD.license_expires_on), to_json(NEW.license_expires_on)),
            ('firm', to_json(OLD.firm), to_json(NEW.firm)),
            ('firm_address', to_json(OLD.firm_address), to_json(NEW.firm_address)),
            ('firm_phone', to_json(OLD.firm_phone), to_json(NEW.firm_phone)),
            ('firm_certificate', to_json(OLD.firm_certificate), to_json(NEW.firm_certificate))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.inspectors_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM inspections_follow_inspector_id(OLD.id);
    PERFORM schedules_follow_inspector_id(OLD.id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.inspectors_follow_user_id(gone uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM inspectors WHERE user_id = gone ORDER BY id LOOP
        UPDATE inspectors SET user_id = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.keep_ids() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.id > coalesce(pg_sequence_last_value(TG_ARGV[0]::regclass), 0) THEN
        PERFORM setval(TG_ARGV[0]::regclass, NEW.id);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.keep_last_super_admin() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM require_another_super_admin(OLD.id);
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.last_rights() RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN (SELECT concat(id, '@', extract(epoch FROM at)) FROM audit_log
        WHERE (action <> 'insert' OR relation <> ALL ('{clients,inspectors,buildings,building_details,inspections,reports_lead,calibration_checks,xrf_instruments,xrf_limits,schedules,inspection_plans,findings,finding_events,files}'))
        AND decides_rights(action, relation, before, after) ORDER BY id DESC LIMIT 1);
END $$;
CREATE FUNCTION public.refuse(constraint_name text, relation text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'new row for relation "%" violates check constraint "%"', relation, constraint_name
        USING ERRCODE = '23514', CONSTRAINT = constraint_name, TABLE = relation;
END $$;
CREATE FUNCTION public.refuse_audit_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM refuse('audit_log_append_only_check', 'audit_log');
    RETURN NULL;
END $$;
CREATE FUNCTION public.refuse_beyond_client() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'the write decides rights or concerns another client' USING ERRCODE = 'WLK01';
END $$;
CREATE FUNCTION public.refuse_client_id_reuse() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM audit_log WHERE client_id = NEW.id) AND NOT EXISTS (SELECT 1 FROM clients WHERE id = NEW.id) THEN
        PERFORM refuse('clients_id_once_check', 'clients');
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.refuse_user_id_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM refuse('users_id_stays_check', 'users');
    RETURN NULL;
END $$;
CREATE FUNCTION public.reports_lead_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'reports_lead', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'result', OLD.result,
                'reading_no', OLD.reading_no, 'taken_at', OLD.taken_at, 'dwelling', OLD.dwelling, 'room', OLD.room,
                'wall', OLD.wall, 'component', OLD.component, 'substrate', OLD.substrate, 'color', OLD.color,
                'condition', OLD.condition, 'lead_mg_cm2', OLD.lead_mg_cm2, 'qualifier', OLD.qualifier,
                'method', OLD.method, 'classification', OLD.classification, 'voided', OLD.voided, 'ref', OLD.ref,
                'note', OLD.note), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.reports_lead_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'reports_lead', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'inspection_id', made.inspection_id, 'gun_id', made.gun_id, 'result', made.result,
                'reading_no', made.reading_no, 'taken_at', made.taken_at, 'dwelling', made.dwelling,
                'room', made.room, 'wall', made.wall, 'component', made.component, 'substrate', made.substrate,
                'color', made.color, 'condition', made.condition, 'lead_mg_cm2', made.lead_mg_cm2,
                'qualifier', made.qualifier, 'method', made.method, 'classification', made.classification,
                'voided', made.voided, 'ref', made.ref, 'note', made.note)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.reports_lead_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'reports_lead', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'inspection_id', OLD.inspection_id, 'gun_id', OLD.gun_id, 'result', OLD.result,
                'reading_no', OLD.reading_no, 'taken_at', OLD.taken_at, 'dwelling', OLD.dwelling, 'room', OLD.room,
                'wall', OLD.wall, 'component', OLD.component, 'substrate', OLD.substrate, 'color', OLD.color,
                'condition', OLD.condition, 'lead_mg_cm2', OLD.lead_mg_cm2, 'qualifier', OLD.qualifier,
                'method', OLD.method, 'classification', OLD.classification, 'voided', OLD.voided, 'ref', OLD.ref,
                'note', OLD.note), NULL);
        PERFORM write_audit_entry('insert', 'reports_lead', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'inspection_id', NEW.inspection_id, 'gun_id', NEW.gun_id, 'result', NEW.result,
                'reading_no', NEW.reading_no, 'taken_at', NEW.taken_at, 'dwelling', NEW.dwelling, 'room', NEW.room,
                'wall', NEW.wall, 'component', NEW.component, 'substrate', NEW.substrate, 'color', NEW.color,
                'condition', NEW.condition, 'lead_mg_cm2', NEW.lead_mg_cm2, 'qualifier', NEW.qualifier,
                'method', NEW.method, 'classification', NEW.classification, 'voided', NEW.voided, 'ref', NEW.ref,
                'note', NEW.note));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'reports_lead', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)),
            ('inspection_id', to_json(OLD.inspection_id), to_json(NEW.inspection_id)),
            ('gun_id', to_json(OLD.gun_id), to_json(NEW.gun_id)),
            ('result', to_json(OLD.result), to_json(NEW.result)),
            ('reading_no', to_json(OLD.reading_no), to_json(NEW.reading_no)),
            ('taken_at', to_json(OLD.taken_at), to_json(NEW.taken_at)),
            ('dwelling', to_json(OLD.dwelling), to_json(NEW.dwelling)),
            ('room', to_json(OLD.room), to_json(NEW.room)), ('wall', to_json(OLD.wall), to_json(NEW.wall)),
            ('component', to_json(OLD.component), to_json(NEW.component)),
            ('substrate', to_json(OLD.substrate), to_json(NEW.substrate)),
            ('color', to_json(OLD.color), to_json(NEW.color)),
            ('condition', to_json(OLD.condition), to_json(NEW.condition)),
            ('lead_mg_cm2', to_json(OLD.lead_mg_cm2), to_json(NEW.lead_mg_cm2)),
            ('qualifier', to_json(OLD.qualifier), to_json(NEW.qualifier)),
            ('method', to_json(OLD.method), to_json(NEW.method)),
            ('classification', to_json(OLD.classification), to_json(NEW.classification)),
            ('voided', to_json(OLD.voided), to_json(NEW.voided)), ('ref', to_json(OLD.ref), to_json(NEW.ref)),
            ('note', to_json(OLD.note), to_json(NEW.note))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.reports_lead_follow_inspection_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM reports_lead WHERE inspection_id = gone ORDER BY id LOOP
        DELETE FROM reports_lead WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.require_another_super_admin(other_than uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT EXISTS (
        SELECT 1 FROM users u LEFT JOIN credentials c ON c.user_id = u.id
        WHERE u.role = 'super_admin' AND u.id <> other_than AND coalesce(c.disabled_until, 0) <= this_second()) THEN
        PERFORM refuse('users_last_super_admin_check', 'users');
    END IF;
END $$;
CREATE FUNCTION public.schedules_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'schedules', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type,
                'title', OLD.title, 'every', OLD.every, 'unit', OLD.unit, 'counted_from', OLD.counted_from,
                'first_due', OLD.first_due, 'grace_days', OLD.grace_days, 'inspector_id', OLD.inspector_id,
                'basis', OLD.basis, 'ended_on', OLD.ended_on, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.schedules_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'schedules', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'building_id', made.building_id, 'inspection_type', made.inspection_type,
                'title', made.title, 'every', made.every, 'unit', made.unit, 'counted_from', made.counted_from,
                'first_due', made.first_due, 'grace_days', made.grace_days, 'inspector_id', made.inspector_id,
                'basis', made.basis, 'ended_on', made.ended_on, 'created_at', made.created_at,
                'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.schedules_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'schedules', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'building_id', OLD.building_id, 'inspection_type', OLD.inspection_type,
                'title', OLD.title, 'every', OLD.every, 'unit', OLD.unit, 'counted_from', OLD.counted_from,
                'first_due', OLD.first_due, 'grace_days', OLD.grace_days, 'inspector_id', OLD.inspector_id,
                'basis', OLD.basis, 'ended_on', OLD.ended_on, 'created_at', OLD.created_at,
                'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'schedules', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'building_id', NEW.building_id, 'inspection_type', NEW.inspection_type,
                'title', NEW.title, 'every', NEW.every, 'unit', NEW.unit, 'counted_from', NEW.counted_from,
                'first_due', NEW.first_due, 'grace_days', NEW.grace_days, 'inspector_id', NEW.inspector_id,
                'basis', NEW.basis, 'ended_on', NEW.ended_on, 'created_at', NEW.created_at,
                'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'schedules', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)),
            ('building_id', to_json(OLD.building_id), to_json(NEW.building_id)),
            ('inspection_type', to_json(OLD.inspection_type), to_json(NEW.inspection_type)),
            ('title', to_json(OLD.title), to_json(NEW.title)), ('every', to_json(OLD.every), to_json(NEW.every)),
            ('unit', to_json(OLD.unit), to_json(NEW.unit)),
            ('counted_from', to_json(OLD.counted_from), to_json(NEW.counted_from)),
            ('first_due', to_json(OLD.first_due), to_json(NEW.first_due)),
            ('grace_days', to_json(OLD.grace_days), to_json(NEW.grace_days)),
            ('inspector_id', to_json(OLD.inspector_id), to_json(NEW.inspector_id)),
            ('basis', to_json(OLD.basis), to_json(NEW.basis)),
            ('ended_on', to_json(OLD.ended_on), to_json(NEW.ended_on)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.schedules_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM inspection_plans_follow_schedule_id(OLD.id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.schedules_follow_building_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM schedules WHERE building_id = gone ORDER BY id LOOP
        DELETE FROM schedules WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.schedules_follow_inspector_id(gone bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM schedules WHERE inspector_id = gone ORDER BY id LOOP
        UPDATE schedules SET inspector_id = NULL WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE FUNCTION public.snapshot_positions(OUT is_standby boolean, OUT last bigint, OUT rights text) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    is_standby := pg_is_in_recovery();
    last := (SELECT max(id) FROM audit_log);
    rights := last_rights();
END $$;
CREATE FUNCTION public.super_admin_disabled() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.disabled_until > this_second()
        AND EXISTS (SELECT 1 FROM users WHERE id = NEW.user_id AND role = 'super_admin') THEN
        PERFORM require_another_super_admin(NEW.user_id);
    END IF;
    RETURN NEW;
END $$;
CREATE FUNCTION public.this_second() RETURNS bigint
    LANGUAGE sql
    RETURN (floor(EXTRACT(epoch FROM GREATEST(clock_timestamp(), (NULLIF(current_setting('walkthrough.at'::text, true), ''::text))::timestamp with time zone))))::bigint;
CREATE FUNCTION public.user_moved() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM sessions WHERE user_id = NEW.id;
    DELETE FROM devices WHERE user_id = NEW.id;
    DELETE FROM api_keys WHERE user_id = NEW.id OR created_by = NEW.id;
    INSERT INTO credentials AS existing (user_id, tokens_since) VALUES (NEW.id, this_second() + 1)
        ON CONFLICT (user_id) DO UPDATE SET tokens_since = greatest(existing.tokens_since, excluded.tokens_since);
    RETURN NULL;
END $$;
CREATE FUNCTION public.user_unlinked() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE inspectors SET user_id = NULL WHERE user_id = NEW.id;
    RETURN NULL;
END $$;
CREATE FUNCTION public.users_after_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM audit_log
        WHERE relation = 'users' AND substr(row_key, 1, 200) = NEW.id::text AND action = 'delete') THEN
        INSERT INTO credentials AS existing (user_id, tokens_since) VALUES (NEW.id, this_second() + 1)
            ON CONFLICT (user_id) DO UPDATE SET tokens_since = greatest(existing.tokens_since, excluded.tokens_since);
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.users_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'users', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'email', OLD.email, 'name', OLD.name, 'role', OLD.role, 'client_id', OLD.client_id,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.users_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'users', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'email', made.email, 'name', made.name, 'role', made.role,
                'client_id', made.client_id, 'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.users_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'users', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'email', OLD.email, 'name', OLD.name, 'role', OLD.role, 'client_id', OLD.client_id,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'users', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'email', NEW.email, 'name', NEW.name, 'role', NEW.role, 'client_id', NEW.client_id,
                'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'users', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)), ('email', to_json(OLD.email), to_json(NEW.email)),
            ('name', to_json(OLD.name), to_json(NEW.name)), ('role', to_json(OLD.role), to_json(NEW.role)),
            ('client_id', to_json(OLD.client_id), to_json(NEW.client_id)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.users_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM client_admin_building_access_follow_admin_id(OLD.id);
    PERFORM client_manager_building_access_follow_manager_id(OLD.id);
    PERFORM client_admin_inspection_access_follow_admin_id(OLD.id);
    PERFORM client_manager_inspection_access_follow_manager_id(OLD.id);
    PERFORM inspectors_follow_user_id(OLD.id);
    PERFORM finding_events_follow_user_id(OLD.id);
    PERFORM files_follow_created_by(OLD.id);
    PERFORM client_admin_building_access_follow_assigned_by(OLD.id);
    PERFORM client_manager_building_access_follow_assigned_by(OLD.id);
    PERFORM client_admin_inspection_access_follow_assigned_by(OLD.id);
    PERFORM client_manager_inspection_access_follow_assigned_by(OLD.id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.write_audit_entry(action text, relation text, row_key text, client_id bigint, before json, after json) RETURNS void
    LANGUAGE sql
    AS $_$
    SELECT has_writer_lock();
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        VALUES (audit_moment(), audit_actor(), $1, $2, $3, $4, $5, $6)
$_$;
CREATE FUNCTION public.xrf_instruments_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'xrf_instruments', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'gun_id', OLD.gun_id, 'client_id', OLD.client_id, 'make', OLD.make,
                'model', OLD.model, 'serial', OLD.serial, 'mode', OLD.mode, 'sheet', OLD.sheet,
                'sheet_on', OLD.sheet_on, 'standard', OLD.standard, 'check_low', OLD.check_low,
                'check_high', OLD.check_high, 'check_minutes', OLD.check_minutes,
                'negative_below', OLD.negative_below, 'positive_from', OLD.positive_from,
                'serviced_on', OLD.serviced_on, 'service_due_on', OLD.service_due_on,
                'leak_test_due_on', OLD.leak_test_due_on, 'retired_on', OLD.retired_on,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.xrf_instruments_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'xrf_instruments', concat_ws(',', made.id), made.client_id,
                NULL, json_build_object(
                'id', made.id, 'gun_id', made.gun_id, 'client_id', made.client_id, 'make', made.make,
                'model', made.model, 'serial', made.serial, 'mode', made.mode, 'sheet', made.sheet,
                'sheet_on', made.sheet_on, 'standard', made.standard, 'check_low', made.check_low,
                'check_high', made.check_high, 'check_minutes', made.check_minutes,
                'negative_below', made.negative_below, 'positive_from', made.positive_from,
                'serviced_on', made.serviced_on, 'service_due_on', made.service_due_on,
                'leak_test_due_on', made.leak_test_due_on, 'retired_on', made.retired_on,
                'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.xrf_instruments_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.client_id IS DISTINCT FROM NEW.client_id THEN
        PERFORM write_audit_entry('delete', 'xrf_instruments', concat_ws(',', OLD.id), OLD.client_id,
            json_build_object(
                'id', OLD.id, 'gun_id', OLD.gun_id, 'client_id', OLD.client_id, 'make', OLD.make,
                'model', OLD.model, 'serial', OLD.serial, 'mode', OLD.mode, 'sheet', OLD.sheet,
                'sheet_on', OLD.sheet_on, 'standard', OLD.standard, 'check_low', OLD.check_low,
                'check_high', OLD.check_high, 'check_minutes', OLD.check_minutes,
                'negative_below', OLD.negative_below, 'positive_from', OLD.positive_from,
                'serviced_on', OLD.serviced_on, 'service_due_on', OLD.service_due_on,
                'leak_test_due_on', OLD.leak_test_due_on, 'retired_on', OLD.retired_on,
                'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'xrf_instruments', concat_ws(',', NEW.id), NEW.client_id,
            NULL, json_build_object(
                'id', NEW.id, 'gun_id', NEW.gun_id, 'client_id', NEW.client_id, 'make', NEW.make,
                'model', NEW.model, 'serial', NEW.serial, 'mode', NEW.mode, 'sheet', NEW.sheet,
                'sheet_on', NEW.sheet_on, 'standard', NEW.standard, 'check_low', NEW.check_low,
                'check_high', NEW.check_high, 'check_minutes', NEW.check_minutes,
                'negative_below', NEW.negative_below, 'positive_from', NEW.positive_from,
                'serviced_on', NEW.serviced_on, 'service_due_on', NEW.service_due_on,
                'leak_test_due_on', NEW.leak_test_due_on, 'retired_on', NEW.retired_on,
                'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'xrf_instruments', concat_ws(',', NEW.id), NEW.client_id,
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('id', to_json(OLD.id), to_json(NEW.id)), ('gun_id', to_json(OLD.gun_id), to_json(NEW.gun_id)),
            ('client_id', to_json(OLD.client_id), to_json(NEW.client_id)),
            ('make', to_json(OLD.make), to_json(NEW.make)), ('model', to_json(OLD.model), to_json(NEW.model)),
            ('serial', to_json(OLD.serial), to_json(NEW.serial)), ('mode', to_json(OLD.mode), to_json(NEW.mode)),
            ('sheet', to_json(OLD.sheet), to_json(NEW.sheet)),
            ('sheet_on', to_json(OLD.sheet_on), to_json(NEW.sheet_on)),
            ('standard', to_json(OLD.standard), to_json(NEW.standard)),
            ('check_low', to_json(OLD.check_low), to_json(NEW.check_low)),
            ('check_high', to_json(OLD.check_high), to_json(NEW.check_high)),
            ('check_minutes', to_json(OLD.check_minutes), to_json(NEW.check_minutes)),
            ('negative_below', to_json(OLD.negative_below), to_json(NEW.negative_below)),
            ('positive_from', to_json(OLD.positive_from), to_json(NEW.positive_from)),
            ('serviced_on', to_json(OLD.serviced_on), to_json(NEW.serviced_on)),
            ('service_due_on', to_json(OLD.service_due_on), to_json(NEW.service_due_on)),
            ('leak_test_due_on', to_json(OLD.leak_test_due_on), to_json(NEW.leak_test_due_on)),
            ('retired_on', to_json(OLD.retired_on), to_json(NEW.retired_on)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.xrf_instruments_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM xrf_limits_follow_gun_id(OLD.gun_id);
    RETURN OLD;
END $$;
CREATE FUNCTION public.xrf_limits_audit_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off' THEN
        PERFORM write_audit_entry('delete', 'xrf_limits', concat_ws(',', OLD.gun_id, OLD.substrate), (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = OLD.gun_id),
            json_build_object(
                'gun_id', OLD.gun_id, 'substrate', OLD.substrate, 'negative_below', OLD.negative_below,
                'positive_from', OLD.positive_from, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
    END IF;
    RETURN OLD;
END $$;
CREATE FUNCTION public.xrf_limits_audit_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    moment timestamptz := audit_moment();
    actor uuid := audit_actor();
BEGIN
    -- The condition takes the writer lock, which saves a statement.
    IF coalesce(current_setting('walkthrough.audit', true), '') <> 'off'
        AND has_writer_lock() THEN
        INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
            SELECT moment, actor, 'insert', 'xrf_limits', concat_ws(',', made.gun_id, made.substrate), (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = made.gun_id),
                NULL, json_build_object(
                'gun_id', made.gun_id, 'substrate', made.substrate, 'negative_below', made.negative_below,
                'positive_from', made.positive_from, 'created_at', made.created_at, 'updated_at', made.updated_at)
            FROM made;
    END IF;
    RETURN NULL;
END $$;
CREATE FUNCTION public.xrf_limits_audit_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF coalesce(current_setting('walkthrough.audit', true), '') = 'off'
        OR NOT has_writer_lock() THEN
        RETURN NULL;
    END IF;
    IF OLD.gun_id IS DISTINCT FROM NEW.gun_id THEN
        PERFORM write_audit_entry('delete', 'xrf_limits', concat_ws(',', OLD.gun_id, OLD.substrate), (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = OLD.gun_id),
            json_build_object(
                'gun_id', OLD.gun_id, 'substrate', OLD.substrate, 'negative_below', OLD.negative_below,
                'positive_from', OLD.positive_from, 'created_at', OLD.created_at, 'updated_at', OLD.updated_at), NULL);
        PERFORM write_audit_entry('insert', 'xrf_limits', concat_ws(',', NEW.gun_id, NEW.substrate), (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = NEW.gun_id),
            NULL, json_build_object(
                'gun_id', NEW.gun_id, 'substrate', NEW.substrate, 'negative_below', NEW.negative_below,
                'positive_from', NEW.positive_from, 'created_at', NEW.created_at, 'updated_at', NEW.updated_at));
        RETURN NULL;
    END IF;
    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
        SELECT audit_moment(), audit_actor(), 'update', 'xrf_limits', concat_ws(',', NEW.gun_id, NEW.substrate), (SELECT owner.client_id FROM xrf_instruments AS owner WHERE owner.gun_id = NEW.gun_id),
            json_object_agg(name, was), json_object_agg(name, becomes)
        FROM (VALUES
            ('gun_id', to_json(OLD.gun_id), to_json(NEW.gun_id)),
            ('substrate', to_json(OLD.substrate), to_json(NEW.substrate)),
            ('negative_below', to_json(OLD.negative_below), to_json(NEW.negative_below)),
            ('positive_from', to_json(OLD.positive_from), to_json(NEW.positive_from)),
            ('created_at', to_json(OLD.created_at), to_json(NEW.created_at)),
            ('updated_at', to_json(OLD.updated_at), to_json(NEW.updated_at))
        ) AS changes (name, was, becomes)
        WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION public.xrf_limits_follow_gun_id(gone integer) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    row_ctid tid;
BEGIN
    FOR row_ctid IN SELECT ctid FROM xrf_limits WHERE gun_id = gone ORDER BY gun_id, substrate LOOP
        DELETE FROM xrf_limits WHERE ctid = row_ctid;
    END LOOP;
END $$;
CREATE TABLE public.api_keys (
    id text NOT NULL COLLATE pg_catalog."C",
    user_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    digest text NOT NULL COLLATE pg_catalog."C",
    read_only bigint NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint,
    expires_at bigint,
    created_by uuid,
    CONSTRAINT api_keys_name_check CHECK ((octet_length(name) <= 256)),
    CONSTRAINT api_keys_read_only_check CHECK (((read_only >= 0) AND (read_only <= 1)))
);
CREATE TABLE public.attempts (
    id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL COLLATE pg_catalog."C",
    origin text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);
ALTER TABLE public.attempts ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.attempts_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.audit_log (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor_id uuid,
    action text NOT NULL COLLATE pg_catalog."C",
    relation text NOT NULL COLLATE pg_catalog."C",
    row_key text COLLATE pg_catalog."C",
    client_id bigint,
    before json,
    after json
);
ALTER TABLE public.audit_log ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.audit_log_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.building_details (
    building_id bigint NOT NULL,
    year_built integer,
    parcel text COLLATE pg_catalog."C",
    owner_name text COLLATE pg_catalog."C",
    owner_address text COLLATE pg_catalog."C",
    owner_phone text COLLATE pg_catalog."C",
    child_occupied text COLLATE pg_catalog."C",
    hazard_class text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT building_details_child_occupied_check CHECK ((child_occupied = ANY (ARRAY['yes'::text, 'no'::text, 'unknown'::text]))),
    CONSTRAINT building_details_hazard_class_check CHECK ((hazard_class = ANY (ARRAY['high'::text, 'moderate'::text, 'low'::text]))),
    CONSTRAINT building_details_owner_address_check CHECK ((octet_length(owner_address) <= 65536)),
    CONSTRAINT building_details_owner_name_check CHECK ((octet_length(owner_name) <= 65536)),
    CONSTRAINT building_details_owner_phone_check CHECK ((octet_length(owner_phone) <= 65536)),
    CONSTRAINT building_details_parcel_check CHECK ((octet_length(parcel) <= 65536)),
    CONSTRAINT building_details_year_built_check CHECK (((year_built >= 1600) AND (year_built <= 2100)))
);
ALTER TABLE public.building_details ALTER COLUMN building_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.building_details_building_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.buildings (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    address text COLLATE pg_catalog."C",
    city text COLLATE pg_catalog."C",
    state text COLLATE pg_catalog."C",
    zip text COLLATE pg_catalog."C",
    client_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    latitude double precision,
    longitude double precision,
    building_type text COLLATE pg_catalog."C",
    floors integer,
    units integer,
    CONSTRAINT buildings_address_check CHECK ((octet_length(address) <= 65536)),
    CONSTRAINT buildings_building_type_check CHECK ((octet_length(building_type) <= 65536)),
    CONSTRAINT buildings_city_check CHECK ((octet_length(city) <= 65536)),
    CONSTRAINT buildings_floors_check CHECK ((floors >= 0)),
    CONSTRAINT buildings_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT buildings_latitude_check CHECK (((latitude >= ('-90'::integer)::double precision) AND (latitude <= (90)::double precision))),
    CONSTRAINT buildings_longitude_check CHECK (((longitude >= ('-180'::integer)::double precision) AND (longitude <= (180)::double precision))),
    CONSTRAINT buildings_name_check CHECK ((octet_length(name) <= 65536)),
    CONSTRAINT buildings_state_check CHECK ((octet_length(state) <= 65536)),
    CONSTRAINT buildings_units_check CHECK ((units >= 0)),
    CONSTRAINT buildings_zip_check CHECK ((octet_length(zip) <= 65536))
);
ALTER TABLE public.buildings ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.buildings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.calibration_checks (
    id bigint NOT NULL,
    inspection_id bigint NOT NULL,
    gun_id integer NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    first double precision NOT NULL,
    second double precision NOT NULL,
    third double precision NOT NULL,
    mean double precision,
    result text COLLATE pg_catalog."C",
    check_low double precision,
    check_high double precision,
    ref uuid,
    note text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT calibration_checks_first_check CHECK (((first >= (0)::double precision) AND (first <= (50)::double precision))),
    CONSTRAINT calibration_checks_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT calibration_checks_note_check CHECK ((octet_length(note) <= 65536)),
    CONSTRAINT calibration_checks_result_check CHECK ((result = ANY (ARRAY['pass'::text, 'fail'::text]))),
    CONSTRAINT calibration_checks_second_check CHECK (((second >= (0)::double precision) AND (second <= (50)::double precision))),
    CONSTRAINT calibration_checks_third_check CHECK (((third >= (0)::double precision) AND (third <= (50)::double precision)))
);
ALTER TABLE public.calibration_checks ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.calibration_checks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.client_admin_building_access (
    admin_id uuid NOT NULL,
    building_id bigint NOT NULL,
    assigned_by uuid,
    assigned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.client_admin_inspection_access (
    admin_id uuid NOT NULL,
    inspection_id bigint NOT NULL,
    assigned_by uuid,
    assigned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.client_manager_building_access (
    manager_id uuid NOT NULL,
    building_id bigint NOT NULL,
    assigned_by uuid,
    assigned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.client_manager_inspection_access (
    manager_id uuid NOT NULL,
    inspection_id bigint NOT NULL,
    assigned_by uuid,
    assigned_at timestamp with time zone NOT NULL
);
CREATE TABLE public.clients (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    address text COLLATE pg_catalog."C",
    phone text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT clients_address_check CHECK ((octet_length(address) <= 65536)),
    CONSTRAINT clients_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT clients_name_check CHECK ((octet_length(name) <= 65536)),
    CONSTRAINT clients_phone_check CHECK ((octet_length(phone) <= 65536))
);
ALTER TABLE public.clients ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.clients_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.credentials (
    user_id uuid NOT NULL,
    password_hash text COLLATE pg_catalog."C",
    app_metadata text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C",
    user_metadata text DEFAULT '{}'::text NOT NULL COLLATE pg_catalog."C",
    disabled_until bigint DEFAULT 0 NOT NULL,
    tokens_since bigint DEFAULT 0 NOT NULL,
    last_sign_in_at text COLLATE pg_catalog."C"
);
CREATE TABLE public.devices (
    id text NOT NULL COLLATE pg_catalog."C",
    user_id uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    token_digest text NOT NULL COLLATE pg_catalog."C",
    created_at bigint NOT NULL,
    last_seen_at bigint,
    expires_at bigint NOT NULL,
    code_digest text COLLATE pg_catalog."C",
    code_expires_at bigint,
    CONSTRAINT devices_name_check CHECK ((octet_length(name) <= 256))
);
CREATE TABLE public.facts (
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.files (
    id uuid NOT NULL,
    bucket text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    inspection_id bigint,
    finding_id bigint,
    building_id bigint,
    sha256 text NOT NULL COLLATE pg_catalog."C",
    size integer NOT NULL,
    mimetype text NOT NULL COLLATE pg_catalog."C",
    width integer,
    height integer,
    taken_at text COLLATE pg_catalog."C",
    caption text COLLATE pg_catalog."C",
    cache_control text COLLATE pg_catalog."C",
    user_metadata text COLLATE pg_catalog."C",
    created_by uuid,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT files_bucket_check CHECK ((bucket = ANY (ARRAY['inspections'::text, 'findings'::text, 'buildings'::text]))),
    CONSTRAINT files_building_check CHECK (((building_id IS NOT NULL) = (bucket = 'buildings'::text))),
    CONSTRAINT files_cache_control_check CHECK ((octet_length(cache_control) <= 256)),
    CONSTRAINT files_caption_check CHECK ((octet_length(caption) <= 65536)),
    CONSTRAINT files_finding_check CHECK (((finding_id IS NOT NULL) = (bucket = 'findings'::text))),
    CONSTRAINT files_height_check CHECK ((height >= 1)),
    CONSTRAINT files_inspection_check CHECK (((inspection_id IS NOT NULL) = (bucket = 'inspections'::text))),
    CONSTRAINT files_mimetype_check CHECK ((mimetype = ANY (ARRAY['image/jpeg'::text, 'image/png'::text, 'image/webp'::text, 'image/heic'::text, 'application/pdf'::text]))),
    CONSTRAINT files_name_check CHECK ((octet_length(name) <= 1024)),
    CONSTRAINT files_name_of_row_check CHECK ((name ~~ ((COALESCE(inspection_id, finding_id, building_id))::text || '/%'::text))),
    CONSTRAINT files_sha256_check CHECK ((octet_length(sha256) <= 64)),
    CONSTRAINT files_size_check CHECK ((size >= 1)),
    CONSTRAINT files_taken_at_check CHECK ((octet_length(taken_at) <= 32)),
    CONSTRAINT files_user_metadata_check CHECK ((octet_length(user_metadata) <= 65536)),
    CONSTRAINT files_width_check CHECK ((width >= 1))
);
CREATE TABLE public.finding_events (
    id bigint NOT NULL,
    finding_id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    user_id uuid,
    kind text NOT NULL COLLATE pg_catalog."C",
    inspection_id bigint,
    note text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT finding_events_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT finding_events_kind_check CHECK ((kind = ANY (ARRAY['made'::text, 'fixed'::text, 'verified'::text, 'waived'::text, 'reopened'::text, 'extended'::text, 'remark'::text]))),
    CONSTRAINT finding_events_note_check CHECK ((octet_length(note) <= 65536))
);
ALTER TABLE public.finding_events ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.finding_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.findings (
    id bigint NOT NULL,
    inspection_id bigint NOT NULL,
    case_id bigint NOT NULL,
    ref uuid,
    place text COLLATE pg_catalog."C",
    item text COLLATE pg_catalog."C",
    code text COLLATE pg_catalog."C",
    description text NOT NULL COLLATE pg_catalog."C",
    severity text NOT NULL COLLATE pg_catalog."C",
    status text DEFAULT 'open'::text NOT NULL COLLATE pg_catalog."C",
    due_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT findings_code_check CHECK ((octet_length(code) <= 65536)),
    CONSTRAINT findings_description_check CHECK ((octet_length(description) <= 65536)),
    CONSTRAINT findings_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT findings_item_check CHECK ((octet_length(item) <= 65536)),
    CONSTRAINT findings_place_check CHECK ((octet_length(place) <= 65536)),
    CONSTRAINT findings_severity_check CHECK ((severity = ANY (ARRAY['life_threatening'::text, 'severe'::text, 'moderate'::text, 'low'::text]))),
    CONSTRAINT findings_status_check CHECK ((status = ANY (ARRAY['open'::text, 'fixed'::text, 'verified'::text, 'waived'::text])))
);
ALTER TABLE public.findings ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.findings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inspection_plans (
    inspection_id bigint NOT NULL,
    schedule_id bigint,
    occurrence integer,
    due_on date,
    case_id bigint NOT NULL,
    round integer DEFAULT 1 NOT NULL,
    outcome text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT inspection_plans_occurrence_check CHECK ((occurrence >= 0)),
    CONSTRAINT inspection_plans_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'skipped'::text, 'cancelled'::text]))),
    CONSTRAINT inspection_plans_round_check CHECK (((round >= 1) AND (round <= 99)))
);
ALTER TABLE public.inspection_plans ALTER COLUMN inspection_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inspection_plans_inspection_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inspections (
    id bigint NOT NULL,
    building_id bigint NOT NULL,
    inspection_type text NOT NULL COLLATE pg_catalog."C",
    date_visited date,
    status text COLLATE pg_catalog."C",
    inspector_id bigint,
    notes text COLLATE pg_catalog."C",
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT inspections_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT inspections_inspection_type_check CHECK ((octet_length(inspection_type) <= 65536)),
    CONSTRAINT inspections_notes_check CHECK ((octet_length(notes) <= 65536)),
    CONSTRAINT inspections_status_check CHECK ((octet_length(status) <= 65536))
);
ALTER TABLE public.inspections ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inspections_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.inspectors (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    email text COLLATE pg_catalog."C",
    user_id uuid,
    license text COLLATE pg_catalog."C",
    license_state text COLLATE pg_catalog."C",
    license_expires_on date,
    firm text COLLATE pg_catalog."C",
    firm_address text COLLATE pg_catalog."C",
    firm_phone text COLLATE pg_catalog."C",
    firm_certificate text COLLATE pg_catalog."C",
    CONSTRAINT inspectors_email_check CHECK ((octet_length(email) <= 65536)),
    CONSTRAINT inspectors_firm_address_check CHECK ((octet_length(firm_address) <= 65536)),
    CONSTRAINT inspectors_firm_certificate_check CHECK ((octet_length(firm_certificate) <= 65536)),
    CONSTRAINT inspectors_firm_check CHECK ((octet_length(firm) <= 65536)),
    CONSTRAINT inspectors_firm_phone_check CHECK ((octet_length(firm_phone) <= 65536)),
    CONSTRAINT inspectors_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT inspectors_license_check CHECK ((octet_length(license) <= 65536)),
    CONSTRAINT inspectors_license_state_check CHECK ((octet_length(license_state) <= 65536)),
    CONSTRAINT inspectors_name_check CHECK ((octet_length(name) <= 65536))
);
ALTER TABLE public.inspectors ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.inspectors_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.origins (
    user_id uuid NOT NULL,
    origin text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL
);
CREATE TABLE public.reports_lead (
    id bigint NOT NULL,
    inspection_id bigint NOT NULL,
    gun_id integer,
    result text COLLATE pg_catalog."C",
    reading_no integer,
    taken_at timestamp with time zone,
    dwelling text COLLATE pg_catalog."C",
    room text COLLATE pg_catalog."C",
    wall text COLLATE pg_catalog."C",
    component text COLLATE pg_catalog."C",
    substrate text COLLATE pg_catalog."C",
    color text COLLATE pg_catalog."C",
    condition text COLLATE pg_catalog."C",
    lead_mg_cm2 double precision,
    qualifier text COLLATE pg_catalog."C",
    method text DEFAULT 'xrf'::text NOT NULL COLLATE pg_catalog."C",
    classification text COLLATE pg_catalog."C",
    voided text COLLATE pg_catalog."C",
    ref uuid,
    note text COLLATE pg_catalog."C",
    client_id bigint NOT NULL,
    CONSTRAINT reports_lead_classification_check CHECK ((classification = ANY (ARRAY['positive'::text, 'negative'::text, 'inconclusive'::text]))),
    CONSTRAINT reports_lead_color_check CHECK ((octet_length(color) <= 65536)),
    CONSTRAINT reports_lead_component_check CHECK ((octet_length(component) <= 65536)),
    CONSTRAINT reports_lead_condition_check CHECK ((octet_length(condition) <= 65536)),
    CONSTRAINT reports_lead_dwelling_check CHECK ((octet_length(dwelling) <= 65536)),
    CONSTRAINT reports_lead_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT reports_lead_lead_mg_cm2_check CHECK (((lead_mg_cm2 >= (0)::double precision) AND (lead_mg_cm2 <= (100)::double precision))),
    CONSTRAINT reports_lead_method_check CHECK ((method = ANY (ARRAY['xrf'::text, 'paint_chip'::text, 'assumed'::text]))),
    CONSTRAINT reports_lead_note_check CHECK ((octet_length(note) <= 65536)),
    CONSTRAINT reports_lead_qualifier_check CHECK ((qualifier = ANY (ARRAY['<'::text, '>'::text]))),
    CONSTRAINT reports_lead_result_check CHECK ((octet_length(result) <= 65536)),
    CONSTRAINT reports_lead_room_check CHECK ((octet_length(room) <= 65536)),
    CONSTRAINT reports_lead_substrate_check CHECK ((octet_length(substrate) <= 65536)),
    CONSTRAINT reports_lead_voided_check CHECK ((octet_length(voided) <= 65536)),
    CONSTRAINT reports_lead_wall_check CHECK ((octet_length(wall) <= 65536))
);
ALTER TABLE public.reports_lead ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.reports_lead_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.schedules (
    id bigint NOT NULL,
    building_id bigint NOT NULL,
    inspection_type text NOT NULL COLLATE pg_catalog."C",
    title text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    every integer NOT NULL,
    unit text NOT NULL COLLATE pg_catalog."C",
    counted_from text DEFAULT 'planned'::text NOT NULL COLLATE pg_catalog."C",
    first_due date NOT NULL,
    grace_days integer DEFAULT 0 NOT NULL,
    inspector_id bigint,
    basis text COLLATE pg_catalog."C",
    ended_on date,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    client_id bigint NOT NULL,
    CONSTRAINT schedules_basis_check CHECK ((octet_length(basis) <= 65536)),
    CONSTRAINT schedules_counted_from_check CHECK ((counted_from = ANY (ARRAY['planned'::text, 'done'::text]))),
    CONSTRAINT schedules_every_check CHECK (((every >= 1) AND (every <= 1200))),
    CONSTRAINT schedules_grace_days_check CHECK (((grace_days >= 0) AND (grace_days <= 366))),
    CONSTRAINT schedules_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT schedules_inspection_type_check CHECK ((octet_length(inspection_type) <= 65536)),
    CONSTRAINT schedules_title_check CHECK ((octet_length(title) <= 65536)),
    CONSTRAINT schedules_unit_check CHECK ((unit = ANY (ARRAY['day'::text, 'week'::text, 'month'::text, 'year'::text])))
);
ALTER TABLE public.schedules ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.schedules_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sessions (
    id text NOT NULL COLLATE pg_catalog."C",
    user_id uuid NOT NULL,
    salt text NOT NULL COLLATE pg_catalog."C",
    counter bigint DEFAULT 0 NOT NULL,
    created_at bigint NOT NULL,
    last_used_at bigint NOT NULL,
    rotations text DEFAULT '[]'::text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE public.spent_links (
    id text NOT NULL COLLATE pg_catalog."C",
    expires_at bigint NOT NULL
);
CREATE TABLE public.xrf_instruments (
    id bigint NOT NULL,
    gun_id integer NOT NULL,
    client_id bigint,
    make text NOT NULL COLLATE pg_catalog."C",
    model text NOT NULL COLLATE pg_catalog."C",
    serial text NOT NULL COLLATE pg_catalog."C",
    mode text COLLATE pg_catalog."C",
    sheet text COLLATE pg_catalog."C",
    sheet_on date,
    standard double precision DEFAULT 1.02 NOT NULL,
    check_low double precision DEFAULT 0.8 NOT NULL,
    check_high double precision DEFAULT 1.2 NOT NULL,
    check_minutes integer DEFAULT 240 NOT NULL,
    negative_below double precision DEFAULT 1 NOT NULL,
    positive_from double precision DEFAULT 1 NOT NULL,
    serviced_on date,
    service_due_on date,
    leak_test_due_on date,
    retired_on date,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT xrf_instruments_check_high_check CHECK (((check_high >= (0)::double precision) AND (check_high <= (50)::double precision))),
    CONSTRAINT xrf_instruments_check_low_check CHECK (((check_low >= (0)::double precision) AND (check_low <= (50)::double precision))),
    CONSTRAINT xrf_instruments_check_minutes_check CHECK (((check_minutes >= 15) AND (check_minutes <= 1440))),
    CONSTRAINT xrf_instruments_id_check CHECK (((id >= 1) AND (id <= '9007199254740991'::bigint))),
    CONSTRAINT xrf_instruments_make_check CHECK ((octet_length(make) <= 65536)),
    CONSTRAINT xrf_instruments_mode_check CHECK ((octet_length(mode) <= 65536)),
    CONSTRAINT xrf_instruments_model_check CHECK ((octet_length(model) <= 65536)),
    CONSTRAINT xrf_instruments_negative_below_check CHECK (((negative_below >= (0)::double precision) AND (negative_below <= (100)::double precision))),
    CONSTRAINT xrf_instruments_positive_from_check CHECK (((positive_from >= (0)::double precision) AND (positive_from <= (100)::double precision))),
    CONSTRAINT xrf_instruments_serial_check CHECK ((octet_length(serial) <= 65536)),
    CONSTRAINT xrf_instruments_sheet_check CHECK ((octet_length(sheet) <= 65536)),
    CONSTRAINT xrf_instruments_standard_check CHECK (((standard >= (0)::double precision) AND (standard <= (50)::double precision)))
);
ALTER TABLE public.xrf_instruments ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.xrf_instruments_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.xrf_limits (
    gun_id integer NOT NULL,
    substrate text NOT NULL COLLATE pg_catalog."C",
    negative_below double precision NOT NULL,
    positive_from double precision NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT xrf_limits_negative_below_check CHECK (((negative_below >= (0)::double precision) AND (negative_below <= (100)::double precision))),
    CONSTRAINT xrf_limits_positive_from_check CHECK (((positive_from >= (0)::double precision) AND (positive_from <= (100)::double precision))),
    CONSTRAINT xrf_limits_substrate_check CHECK ((octet_length(substrate) <= 65536))
);
INSERT INTO public.api_keys VALUES ('23afeb12-8bce-42fc-ac1a-f09fa372f443', '00000000-0000-4000-8000-000000000011', 'Export', '4fb470ffd2b1d585b5abf90da687252f902444264dbd9602aea929feb7d2a082', 0, 1767614520, NULL, NULL, '00000000-0000-4000-8000-000000000011');
INSERT INTO public.api_keys VALUES ('ea932db8-6977-4798-88ad-6c3ed00f0b59', '00000000-0000-4000-8000-000000000011', 'Phone', 'calendar:65178cb20f7b77fd3d9fca3e96a944196074ad26bf977dbd0aec016e0c8ffda1', 1, 1767614520, NULL, NULL, '00000000-0000-4000-8000-000000000011');
INSERT INTO public.audit_log VALUES (1, '2026-01-05 12:00:00+00', NULL, 'import', 'archive', NULL, NULL, NULL, '{"clients": 2, "users": 6, "inspectors": 3, "buildings": 6, "building_details": 4, "inspections": 9, "reports_lead": 4, "calibration_checks": 4, "xrf_instruments": 4, "xrf_limits": 4, "schedules": 4, "inspection_plans": 4, "findings": 4, "finding_events": 4, "files": 0, "client_admin_building_access": 2, "client_manager_building_access": 2, "client_admin_inspection_access": 1, "client_manager_inspection_access": 1}');
INSERT INTO public.audit_log VALUES (2, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'schedules', '5', 1, NULL, '{"id" : 5, "building_id" : 6, "inspection_type" : "fire", "title" : "Alarms", "every" : 3, "unit" : "month", "counted_from" : "planned", "first_due" : "2026-01-05", "grace_days" : 0, "inspector_id" : 2, "basis" : null, "ended_on" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (3, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'schedules', '6', 1, NULL, '{"id" : 6, "building_id" : 6, "inspection_type" : "fire", "title" : "Doors", "every" : 3, "unit" : "month", "counted_from" : "planned", "first_due" : "2026-01-05", "grace_days" : 0, "inspector_id" : 2, "basis" : null, "ended_on" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (4, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'schedules', '7', 1, NULL, '{"id" : 7, "building_id" : 6, "inspection_type" : "fire", "title" : "Lift", "every" : 3, "unit" : "month", "counted_from" : "planned", "first_due" : "2026-01-05", "grace_days" : 0, "inspector_id" : 2, "basis" : null, "ended_on" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (5, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspections', '10', 1, NULL, '{"id" : 10, "building_id" : 6, "inspection_type" : "fire", "date_visited" : "2026-01-05", "status" : "scheduled", "inspector_id" : 2, "notes" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (6, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspections', '11', 1, NULL, '{"id" : 11, "building_id" : 6, "inspection_type" : "fire", "date_visited" : "2026-01-05", "status" : "scheduled", "inspector_id" : 2, "notes" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (7, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspections', '12', 1, NULL, '{"id" : 12, "building_id" : 6, "inspection_type" : "fire", "date_visited" : "2026-01-05", "status" : "scheduled", "inspector_id" : 2, "notes" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (8, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspection_plans', '10', 1, NULL, '{"inspection_id" : 10, "schedule_id" : 5, "occurrence" : 0, "due_on" : "2026-01-05", "case_id" : 10, "round" : 1, "outcome" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (9, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspection_plans', '11', 1, NULL, '{"inspection_id" : 11, "schedule_id" : 6, "occurrence" : 0, "due_on" : "2026-01-05", "case_id" : 11, "round" : 1, "outcome" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (10, '2026-01-05 12:00:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspection_plans', '12', 1, NULL, '{"inspection_id" : 12, "schedule_id" : 7, "occurrence" : 0, "due_on" : "2026-01-05", "case_id" : 12, "round" : 1, "outcome" : null, "created_at" : "2026-01-05T12:00:00+00:00", "updated_at" : "2026-01-05T12:00:00+00:00"}');
INSERT INTO public.audit_log VALUES (11, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspections', '10', 1, '{ "status" : "scheduled", "updated_at" : "2026-01-05T12:00:00+00:00" }', '{ "status" : "in_progress", "updated_at" : "2026-01-05T12:01:00+00:00" }');
INSERT INTO public.audit_log VALUES (12, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspections', '12', 1, '{ "status" : "scheduled", "updated_at" : "2026-01-05T12:00:00+00:00" }', '{ "status" : "in_progress", "updated_at" : "2026-01-05T12:01:00+00:00" }');
INSERT INTO public.audit_log VALUES (13, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspections', '10', 1, '{ "status" : "in_progress" }', '{ "status" : "completed" }');
INSERT INTO public.audit_log VALUES (14, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspection_plans', '10', 1, '{ "outcome" : null, "updated_at" : "2026-01-05T12:00:00+00:00" }', '{ "outcome" : "done", "updated_at" : "2026-01-05T12:01:00+00:00" }');
INSERT INTO public.audit_log VALUES (15, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspections', '13', 1, NULL, '{"id" : 13, "building_id" : 6, "inspection_type" : "fire", "date_visited" : "2026-04-05", "status" : "scheduled", "inspector_id" : 2, "notes" : null, "created_at" : "2026-01-05T12:01:00+00:00", "updated_at" : "2026-01-05T12:01:00+00:00"}');
INSERT INTO public.audit_log VALUES (16, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspection_plans', '13', 1, NULL, '{"inspection_id" : 13, "schedule_id" : 5, "occurrence" : 1, "due_on" : "2026-04-05", "case_id" : 13, "round" : 1, "outcome" : null, "created_at" : "2026-01-05T12:01:00+00:00", "updated_at" : "2026-01-05T12:01:00+00:00"}');
INSERT INTO public.audit_log VALUES (17, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'findings', '5', 1, NULL, '{"id" : 5, "inspection_id" : 12, "case_id" : 12, "ref" : null, "place" : "2", "item" : null, "code" : null, "description" : "Door sticks.", "severity" : "moderate", "status" : "open", "due_at" : "2026-02-04T23:59:59+00:00", "closed_at" : null, "created_at" : "2026-01-05T12:01:00+00:00", "updated_at" : "2026-01-05T12:01:00+00:00"}');
INSERT INTO public.audit_log VALUES (18, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'finding_events', '5', 1, NULL, '{"id" : 5, "finding_id" : 5, "at" : "2026-01-05T12:01:00+00:00", "user_id" : "00000000-0000-4000-8000-000000000001", "kind" : "made", "inspection_id" : 12, "note" : null, "created_at" : "2026-01-05T12:01:00+00:00", "updated_at" : "2026-01-05T12:01:00+00:00"}');
INSERT INTO public.audit_log VALUES (19, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspections', '12', 1, '{ "status" : "in_progress", "updated_at" : "2026-01-05T12:01:00+00:00" }', '{ "status" : "failed", "updated_at" : "2026-01-05T12:02:00+00:00" }');
INSERT INTO public.audit_log VALUES (20, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspection_plans', '12', 1, '{ "outcome" : null, "updated_at" : "2026-01-05T12:00:00+00:00" }', '{ "outcome" : "done", "updated_at" : "2026-01-05T12:02:00+00:00" }');
INSERT INTO public.audit_log VALUES (21, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspections', '14', 1, NULL, '{"id" : 14, "building_id" : 6, "inspection_type" : "fire", "date_visited" : "2026-04-05", "status" : "scheduled", "inspector_id" : 2, "notes" : null, "created_at" : "2026-01-05T12:02:00+00:00", "updated_at" : "2026-01-05T12:02:00+00:00"}');
INSERT INTO public.audit_log VALUES (22, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspection_plans', '14', 1, NULL, '{"inspection_id" : 14, "schedule_id" : 7, "occurrence" : 1, "due_on" : "2026-04-05", "case_id" : 14, "round" : 1, "outcome" : null, "created_at" : "2026-01-05T12:02:00+00:00", "updated_at" : "2026-01-05T12:02:00+00:00"}');
INSERT INTO public.audit_log VALUES (23, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspections', '15', 1, NULL, '{"id" : 15, "building_id" : 6, "inspection_type" : "fire", "date_visited" : "2026-01-20", "status" : "scheduled", "inspector_id" : 2, "notes" : null, "created_at" : "2026-01-05T12:02:00+00:00", "updated_at" : "2026-01-05T12:02:00+00:00"}');
INSERT INTO public.audit_log VALUES (24, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'inspection_plans', '15', 1, NULL, '{"inspection_id" : 15, "schedule_id" : null, "occurrence" : null, "due_on" : null, "case_id" : 12, "round" : 2, "outcome" : null, "created_at" : "2026-01-05T12:02:00+00:00", "updated_at" : "2026-01-05T12:02:00+00:00"}');
INSERT INTO public.audit_log VALUES (25, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'findings', '5', 1, '{ "status" : "open", "updated_at" : "2026-01-05T12:01:00+00:00" }', '{ "status" : "fixed", "updated_at" : "2026-01-05T12:02:00+00:00" }');
INSERT INTO public.audit_log VALUES (26, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'finding_events', '6', 1, NULL, '{"id" : 6, "finding_id" : 5, "at" : "2026-01-05T12:02:00+00:00", "user_id" : "00000000-0000-4000-8000-000000000001", "kind" : "fixed", "inspection_id" : null, "note" : "Planed.", "created_at" : "2026-01-05T12:02:00+00:00", "updated_at" : "2026-01-05T12:02:00+00:00"}');
INSERT INTO public.audit_log VALUES (27, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'update', 'inspections', '11', 1, '{ "date_visited" : "2026-01-05", "updated_at" : "2026-01-05T12:00:00+00:00" }', '{ "date_visited" : "2026-01-09", "updated_at" : "2026-01-05T12:02:00+00:00" }');
INSERT INTO public.audit_log VALUES (28, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'reports_lead', '5', 1, NULL, '{"id" : 5, "inspection_id" : 2, "gun_id" : 20417, "result" : "positive", "reading_no" : 9, "taken_at" : "2026-01-05T11:00:00+00:00", "dwelling" : null, "room" : "Kitchen", "wall" : null, "component" : null, "substrate" : null, "color" : null, "condition" : null, "lead_mg_cm2" : 1.4, "qualifier" : null, "method" : "xrf", "classification" : "positive", "voided" : null, "ref" : null, "note" : null}');
INSERT INTO public.audit_log VALUES (29, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'insert', 'files', 'ae731aa8-a44e-4def-ad99-99f575921b9c', 1, NULL, '{"id" : "ae731aa8-a44e-4def-ad99-99f575921b9c", "bucket" : "inspections", "name" : "1/plan.pdf", "inspection_id" : 1, "finding_id" : null, "building_id" : null, "sha256" : "14bcd090baf31edba64e9cbd8cdfc15f943344aa72cb3675ad8e91bfcbce03ad", "size" : 15, "mimetype" : "application/pdf", "width" : null, "height" : null, "taken_at" : null, "caption" : null, "cache_control" : "no-cache", "user_metadata" : null, "created_by" : "00000000-0000-4000-8000-000000000001", "created_at" : "2026-01-05T12:02:00+00:00", "updated_at" : "2026-01-05T12:02:00+00:00"}');
INSERT INTO public.audit_log VALUES (30, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000011', 'create_api_key', 'api_keys', '23afeb12-8bce-42fc-ac1a-f09fa372f443', 1, NULL, '{"user_id": "00000000-0000-4000-8000-000000000011", "name": "Export", "read_only": false}');
INSERT INTO public.audit_log VALUES (31, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000011', 'create_api_key', 'api_keys', 'ea932db8-6977-4798-88ad-6c3ed00f0b59', 1, NULL, '{"user_id": "00000000-0000-4000-8000-000000000011", "name": "Phone", "read_only": true, "calendar": true}');
INSERT INTO public.audit_log VALUES (32, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000011', 'create_kiosk_display', 'devices', 'c858ccb3-d4e9-4598-9980-7aa89ab570e8', 1, NULL, '{"user_id": "00000000-0000-4000-8000-000000000012", "name": "Hall"}');
INSERT INTO public.audit_log VALUES (33, '2026-01-05 12:02:00+00', NULL, 'sign_in_try', 'users', '00000000-0000-4000-8000-000000000012', 1, NULL, NULL);
INSERT INTO public.audit_log VALUES (34, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000012', 'sign_in', 'users', '00000000-0000-4000-8000-000000000012', 1, NULL, NULL);
INSERT INTO public.building_details VALUES (1, 1928, '034-B-012', 'Pier Street Trust', '1 Harbor Road,
Portland', '+1 207 555 0100', 'yes', 'low', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.building_details VALUES (2, 1962, NULL, NULL, NULL, NULL, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.building_details VALUES (4, NULL, NULL, 'North Lofts, Inc.', NULL, NULL, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.building_details VALUES (5, NULL, NULL, NULL, NULL, NULL, 'unknown', NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.buildings VALUES (1, 'Harbor House', '1 Pier Rd', 'Boston', 'MA', '02110', 1, '2025-02-01 08:00:00+00', '2025-02-01 08:00:00+00', 42.36, -71.05, 'residential', 12, 96);
INSERT INTO public.buildings VALUES (2, 'Mill Court', '20 Mill St', 'Lowell', 'MA', '01852', 1, '2025-02-02 08:00:00+00', '2025-03-02 08:00:00+00', NULL, NULL, 'residential', 4, 16);
INSERT INTO public.buildings VALUES (3, 'Depot 100%', '3_Rail Ave', 'Albany', 'NY', '12207', 1, '2025-02-03 08:00:00+00', '2025-02-03 08:00:00+00', 42.65, -73.75, NULL, NULL, NULL);
INSERT INTO public.buildings VALUES (4, 'Ash, "The" Lofts (North)', '4 Elm', 'Boston', 'MA', '02115', 2, '2025-02-04 08:00:00+00', '2025-02-04 08:00:00+00', 42.34, -71.09, 'mixed', 7, 40);
INSERT INTO public.buildings VALUES (5, 'Größe Straße', '5 Oak', 'Troy', 'NY', '12180', 2, '2025-02-05 08:00:00+00', '2025-02-05 08:00:00+00', 42.73, -73.69, 'commercial', 2, 0);
INSERT INTO public.buildings VALUES (6, 'Vacant Lot', '6 Ash', 'Salem', 'MA', '01970', 1, '2025-02-06 08:00:00+00', '2025-02-06 08:00:00+00', 42.52, -70.9, 'vacant', 0, 0);
INSERT INTO public.calibration_checks VALUES (1, 2, 77, '2025-04-10 14:00:00+00', 1, 1.1, 1, 1.033, 'pass', 0.8, 1.2, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.calibration_checks VALUES (2, 3, 79, '2025-04-11 08:00:00+00', 0.9, 1, 1, 0.967, 'pass', 0.8, 1.2, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.calibration_checks VALUES (3, 6, 79, '2025-05-06 08:45:00+00', 1.3, 1.3, 1.2, 1.267, 'fail', 0.8, 1.2, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.calibration_checks VALUES (4, 8, 78, '2025-06-01 10:00:00+00', 1, 1, 1, 1, 'pass', 0.8, 1.2, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.client_admin_building_access VALUES ('00000000-0000-4000-8000-000000000011', 1, '00000000-0000-4000-8000-000000000001', '2025-02-10 00:00:00+00');
INSERT INTO public.client_admin_building_access VALUES ('00000000-0000-4000-8000-000000000011', 5, '00000000-0000-4000-8000-000000000001', '2025-02-11 00:00:00+00');
INSERT INTO public.client_admin_inspection_access VALUES ('00000000-0000-4000-8000-000000000021', 3, '00000000-0000-4000-8000-000000000001', '2025-02-14 00:00:00+00');
INSERT INTO public.client_manager_building_access VALUES ('00000000-0000-4000-8000-000000000012', 1, '00000000-0000-4000-8000-000000000011', '2025-02-12 00:00:00+00');
INSERT INTO public.client_manager_building_access VALUES ('00000000-0000-4000-8000-000000000022', 4, '00000000-0000-4000-8000-000000000021', '2025-02-12 00:00:00+00');
INSERT INTO public.client_manager_inspection_access VALUES ('00000000-0000-4000-8000-000000000012', 3, '00000000-0000-4000-8000-000000000011', '2025-02-13 00:00:00+00');
INSERT INTO public.clients VALUES (1, 'Acme Housing', NULL, NULL, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.clients VALUES (2, 'Borough Estates', NULL, NULL, '2025-01-02 00:00:00+00', '2025-01-02 00:00:00+00');
INSERT INTO public.credentials VALUES ('00000000-0000-4000-8000-000000000001', '$argon2id$v=19$m=19456,t=2,p=1$g+HAwBu2mnFCaVNYDBUhzA$QZDW2SGN6MszHKthBR9UrNWpu0rxUAyG66RrO2jltPg', '{}', '{}', 0, 0, NULL);
INSERT INTO public.credentials VALUES ('00000000-0000-4000-8000-000000000011', '$argon2id$v=19$m=19456,t=2,p=1$0kvkNtIqxMp0neSZlkqz6g$1SL+Y2fojKc7r8z52n8gNbrCnK0v/S/SAlJFoJGURCo', '{}', '{}', 0, 0, NULL);
INSERT INTO public.credentials VALUES ('00000000-0000-4000-8000-000000000013', '$argon2id$v=19$m=19456,t=2,p=1$9coyNe5IhCiGx9I41VJXTQ$ZdwgNixO6W5EgcA4ruoqOEBhtB3weJxlyxYGUxmlh38', '{}', '{}', 0, 0, NULL);
INSERT INTO public.credentials VALUES ('00000000-0000-4000-8000-000000000021', '$argon2id$v=19$m=19456,t=2,p=1$0lccNa3btVqV8kcVLxvU7w$LSFh+lE3ICRz1qNndElnhZljSgKjlOAmDUqwswXgIk8', '{}', '{}', 0, 0, NULL);
INSERT INTO public.credentials VALUES ('00000000-0000-4000-8000-000000000022', '$argon2id$v=19$m=19456,t=2,p=1$uZtwTeaOLyw7aOsPZnrumA$rGMiwM7Ohc/9RA48KZRvGhzPDxQB5Lw5CmnO9vUNKl8', '{}', '{}', 0, 0, NULL);
INSERT INTO public.credentials VALUES ('00000000-0000-4000-8000-000000000012', '$argon2id$v=19$m=19456,t=2,p=1$0+Y6Gpx2HV+HAvqq8gv0/g$j6x6MpQ16FQfaXPs93zcxETZ7dalgPExwLD/d9pu6d4', '{}', '{}', 0, 0, '2026-01-05T12:02:00+00:00');
INSERT INTO public.devices VALUES ('c858ccb3-d4e9-4598-9980-7aa89ab570e8', '00000000-0000-4000-8000-000000000012', 'Hall', 'd5d1c08b8a29c09f6450b4fdf5c74996a37e60c1435a640ff0d4bde1c2061e8d', 1767614520, NULL, 1775390520, NULL, NULL);
INSERT INTO public.facts VALUES ('release_schema', '1');
INSERT INTO public.files VALUES ('ae731aa8-a44e-4def-ad99-99f575921b9c', 'inspections', '1/plan.pdf', 1, NULL, NULL, '14bcd090baf31edba64e9cbd8cdfc15f943344aa72cb3675ad8e91bfcbce03ad', 15, 'application/pdf', NULL, NULL, NULL, NULL, 'no-cache', NULL, '00000000-0000-4000-8000-000000000001', '2026-01-05 12:02:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.finding_events VALUES (1, 1, '2025-01-05 00:00:00+00', NULL, 'made', 2, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.finding_events VALUES (2, 2, '2025-01-05 00:00:00+00', NULL, 'made', 6, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.finding_events VALUES (3, 3, '2025-01-05 00:00:00+00', NULL, 'made', 3, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.finding_events VALUES (4, 4, '2025-01-05 00:00:00+00', NULL, 'made', 8, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.finding_events VALUES (5, 5, '2026-01-05 12:01:00+00', '00000000-0000-4000-8000-000000000001', 'made', 12, NULL, '2026-01-05 12:01:00+00', '2026-01-05 12:01:00+00', 1);
INSERT INTO public.finding_events VALUES (6, 5, '2026-01-05 12:02:00+00', '00000000-0000-4000-8000-000000000001', 'fixed', NULL, 'Planed.', '2026-01-05 12:02:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.findings VALUES (1, 2, 2, NULL, '3D, bathroom', 'Smoke alarm', 'NSPIRE SA-1', 'No smoke alarm.', 'life_threatening', 'open', '2025-02-05 00:00:00+00', NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.findings VALUES (2, 6, 6, NULL, '3D, bathroom', 'Smoke alarm', 'NSPIRE SA-1', 'Loose handrail.', 'moderate', 'open', '2025-02-05 00:00:00+00', NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.findings VALUES (3, 3, 3, NULL, '3D, bathroom', 'Smoke alarm', 'NSPIRE SA-1', 'Worn carpet.', 'low', 'open', '2025-02-05 00:00:00+00', NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.findings VALUES (4, 8, 8, NULL, '3D, bathroom', 'Smoke alarm', 'NSPIRE SA-1', 'Blocked exit.', 'severe', 'open', '2025-02-05 00:00:00+00', NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.findings VALUES (5, 12, 12, NULL, '2', NULL, NULL, 'Door sticks.', 'moderate', 'fixed', '2026-02-04 23:59:59+00', NULL, '2026-01-05 12:01:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspection_plans VALUES (2, 1, 0, '2025-03-01', 2, 1, 'done', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.inspection_plans VALUES (3, 4, 0, '2025-01-11', 3, 1, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.inspection_plans VALUES (6, 2, 0, '2025-01-15', 6, 1, 'done', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.inspection_plans VALUES (8, 3, 0, '2025-02-01', 8, 1, 'done', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.inspection_plans VALUES (11, 6, 0, '2026-01-05', 11, 1, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:00:00+00', 1);
INSERT INTO public.inspection_plans VALUES (10, 5, 0, '2026-01-05', 10, 1, 'done', '2026-01-05 12:00:00+00', '2026-01-05 12:01:00+00', 1);
INSERT INTO public.inspection_plans VALUES (13, 5, 1, '2026-04-05', 13, 1, NULL, '2026-01-05 12:01:00+00', '2026-01-05 12:01:00+00', 1);
INSERT INTO public.inspection_plans VALUES (12, 7, 0, '2026-01-05', 12, 1, 'done', '2026-01-05 12:00:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspection_plans VALUES (14, 7, 1, '2026-04-05', 14, 1, NULL, '2026-01-05 12:02:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspection_plans VALUES (15, NULL, NULL, NULL, 12, 2, NULL, '2026-01-05 12:02:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspections VALUES (1, 1, 'annual', '2025-03-01', 'completed', 1, 'all fine', '2025-02-20 10:00:00+00', '2025-03-01 12:00:00+00', 1);
INSERT INTO public.inspections VALUES (2, 1, 'lead', '2025-04-10', 'failed', 2, 'unit 4B: "peeling"', '2025-03-20 10:00:00+00', '2025-04-10 12:00:00+00', 1);
INSERT INTO public.inspections VALUES (3, 2, 'fire', '2025-04-11', 'scheduled', 1, NULL, '2025-03-21 10:00:00+00', '2025-03-21 10:00:00+00', 1);
INSERT INTO public.inspections VALUES (4, 2, 'annual', NULL, 'scheduled', NULL, NULL, '2025-03-22 10:00:00+00', '2025-03-22 10:00:00+00', 1);
INSERT INTO public.inspections VALUES (5, 3, 'structural', '2025-05-05', 'in_progress', 3, 'crack, north wall', '2025-04-22 10:00:00+00', '2025-05-05 09:30:15.123456+00', 1);
INSERT INTO public.inspections VALUES (6, 4, 'lead', '2025-05-06', 'completed', 3, '*starred*', '2025-04-23 10:00:00+00', '2025-05-06 10:00:00+00', 2);
INSERT INTO public.inspections VALUES (7, 4, 'emergency', '2025-05-07', 'cancelled', NULL, '', '2025-04-24 10:00:00+00', '2025-05-07 10:00:00+00', 2);
INSERT INTO public.inspections VALUES (8, 5, 'annual', '2025-06-01', NULL, 2, 'NULL', '2025-04-25 10:00:00+00', '2025-06-01 10:00:00+00', 2);
INSERT INTO public.inspections VALUES (9, 1, 'fire', '2025-06-02', 'scheduled', NULL, 'null', '2025-05-25 10:00:00+00', '2025-05-25 10:00:00+00', 1);
INSERT INTO public.inspections VALUES (10, 6, 'fire', '2026-01-05', 'completed', 2, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:01:00+00', 1);
INSERT INTO public.inspections VALUES (13, 6, 'fire', '2026-04-05', 'scheduled', 2, NULL, '2026-01-05 12:01:00+00', '2026-01-05 12:01:00+00', 1);
INSERT INTO public.inspections VALUES (12, 6, 'fire', '2026-01-05', 'failed', 2, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspections VALUES (14, 6, 'fire', '2026-04-05', 'scheduled', 2, NULL, '2026-01-05 12:02:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspections VALUES (15, 6, 'fire', '2026-01-20', 'scheduled', 2, NULL, '2026-01-05 12:02:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspections VALUES (11, 6, 'fire', '2026-01-09', 'scheduled', 2, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:02:00+00', 1);
INSERT INTO public.inspectors VALUES (1, 'Ines Vega', 'ines@inspect.example', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.inspectors VALUES (2, 'Ivo Kral', NULL, '00000000-0000-4000-8000-000000000013', NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.inspectors VALUES (3, 'Uma Öz', 'uma@inspect.example', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public.origins VALUES ('00000000-0000-4000-8000-000000000012', '192.0.2.1', 1767614520);
INSERT INTO public.reports_lead VALUES (1, 2, 77, 'positive', 1, '2025-04-10 14:10:00+00', '4B', 'Kitchen', 'A', 'Window sill', 'wood', 'white', 'peeling', 1.4, NULL, 'xrf', 'positive', NULL, NULL, 'Behind the "radiator".', 1);
INSERT INTO public.reports_lead VALUES (2, 2, 78, 'negative', NULL, '2025-04-10 14:20:00+00', '4B', 'Bathroom', 'C', 'Wall', 'Plaster', NULL, 'intact', 0.3, '<', 'xrf', 'negative', 'Taken through wallpaper.', NULL, NULL, 1);
INSERT INTO public.reports_lead VALUES (3, 6, 77, 'negative', 1, '2025-05-06 09:00:00+00', NULL, 'Hall', NULL, 'Door', 'wood', 'green', 'intact', 0.2, NULL, 'xrf', 'negative', NULL, '00000000-0000-4000-8000-0000000000f1', NULL, 2);
INSERT INTO public.reports_lead VALUES (4, 6, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'xrf', NULL, NULL, NULL, NULL, 2);
INSERT INTO public.reports_lead VALUES (5, 2, 20417, 'positive', 9, '2026-01-05 11:00:00+00', NULL, 'Kitchen', NULL, NULL, NULL, NULL, NULL, 1.4, NULL, 'xrf', 'positive', NULL, NULL, NULL, 1);
INSERT INTO public.schedules VALUES (1, 1, 'annual', '', 1, 'year', 'planned', '2025-03-01', 0, NULL, '24 CFR 982.405', '2025-06-30', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.schedules VALUES (2, 4, 'lead', '', 2, 'year', 'planned', '2025-01-15', 0, NULL, NULL, '2025-06-30', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.schedules VALUES (3, 5, 'annual', '', 1, 'year', 'planned', '2025-02-01', 0, NULL, NULL, '2025-06-30', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 2);
INSERT INTO public.schedules VALUES (4, 2, 'fire', 'Sprinklers', 3, 'month', 'planned', '2025-01-11', 0, NULL, NULL, '2025-06-30', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00', 1);
INSERT INTO public.schedules VALUES (5, 6, 'fire', 'Alarms', 3, 'month', 'planned', '2026-01-05', 0, 2, NULL, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:00:00+00', 1);
INSERT INTO public.schedules VALUES (6, 6, 'fire', 'Doors', 3, 'month', 'planned', '2026-01-05', 0, 2, NULL, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:00:00+00', 1);
INSERT INTO public.schedules VALUES (7, 6, 'fire', 'Lift', 3, 'month', 'planned', '2026-01-05', 0, 2, NULL, NULL, '2026-01-05 12:00:00+00', '2026-01-05 12:00:00+00', 1);
INSERT INTO public.sessions VALUES ('c9f643a1-ddf7-4de9-a34e-768cd8907839', '00000000-0000-4000-8000-000000000012', 'aXWyRVQM2z4OTt6ZzaSabQ', 0, 1767614520, 1767614520, '[]');
INSERT INTO public.users VALUES ('00000000-0000-4000-8000-000000000001', 'root@example.org', 'Root', 'super_admin', NULL, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.users VALUES ('00000000-0000-4000-8000-000000000011', 'ada@acme.example', 'Ada', 'client_admin', 1, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.users VALUES ('00000000-0000-4000-8000-000000000012', 'moe@acme.example', 'Moe', 'client_manager', 1, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.users VALUES ('00000000-0000-4000-8000-000000000013', 'mia@acme.example', 'Mia', 'client_manager', 1, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.users VALUES ('00000000-0000-4000-8000-000000000021', 'bob@borough.example', 'Bob', 'client_admin', 2, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.users VALUES ('00000000-0000-4000-8000-000000000022', 'max@borough.example', 'Max', 'client_manager', 2, '2025-01-01 00:00:00+00', '2025-01-01 00:00:00+00');
INSERT INTO public.xrf_instruments VALUES (1, 77, NULL, 'Niton', 'XLp 300A', 'S-77', 'K+L standard', 'Niton XLp 300, edition 1', '2004-09-24', 1.02, 0.8, 1.2, 240, 1, 1, NULL, NULL, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_instruments VALUES (2, 78, 1, 'Niton', 'XLp 300A', 'S-78', NULL, NULL, NULL, 1.02, 0.8, 1.2, 240, 1, 1, NULL, '2026-01-31', NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_instruments VALUES (3, 79, 2, 'Niton', 'XLp 300A', 'S-79', NULL, NULL, NULL, 1.02, 0.8, 1.2, 240, 0.91, 1.2, NULL, NULL, NULL, NULL, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_instruments VALUES (4, 80, NULL, 'Niton', 'XLp 300A', 'S-80', NULL, NULL, NULL, 1.02, 0.8, 1.2, 240, 1, 1, NULL, NULL, NULL, '2025-05-31', '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_limits VALUES (77, 'wood', 0.9, 1.1, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_limits VALUES (78, 'Metal, painted', 0.5, 0.5, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_limits VALUES (79, 'brick', 0.4, 0.6, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
INSERT INTO public.xrf_limits VALUES (80, 'wood', 1, 1, '2025-01-05 00:00:00+00', '2025-01-05 00:00:00+00');
SELECT pg_catalog.setval('public.attempts_id_seq', 2, true);
SELECT pg_catalog.setval('public.audit_log_id_seq', 34, true);
SELECT pg_catalog.setval('public.building_details_building_id_seq', 1, false);
SELECT pg_catalog.setval('public.buildings_id_seq', 6, true);
SELECT pg_catalog.setval('public.calibration_checks_id_seq', 4, true);
SELECT pg_catalog.setval('public.clients_id_seq', 2, true);
SELECT pg_catalog.setval('public.finding_events_id_seq', 6, true);
SELECT pg_catalog.setval('public.findings_id_seq', 5, true);
SELECT pg_catalog.setval('public.inspection_plans_inspection_id_seq', 1, false);
SELECT pg_catalog.setval('public.inspections_id_seq', 15, true);
SELECT pg_catalog.setval('public.inspectors_id_seq', 3, true);
SELECT pg_catalog.setval('public.reports_lead_id_seq', 5, true);
SELECT pg_catalog.setval('public.schedules_id_seq', 7, true);
SELECT pg_catalog.setval('public.xrf_instruments_id_seq', 4, true);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_digest_key UNIQUE (digest);
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.building_details
    ADD CONSTRAINT building_details_pkey PRIMARY KEY (building_id);
ALTER TABLE ONLY public.buildings
    ADD CONSTRAINT buildings_id_client_id_key UNIQUE (id, client_id);
ALTER TABLE ONLY public.buildings
    ADD CONSTRAINT buildings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.calibration_checks
    ADD CONSTRAINT calibration_checks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.calibration_checks
    ADD CONSTRAINT calibration_checks_ref_key UNIQUE (ref);
ALTER TABLE ONLY public.client_admin_building_access
    ADD CONSTRAINT client_admin_building_access_pkey PRIMARY KEY (admin_id, building_id);
ALTER TABLE ONLY public.client_admin_inspection_access
    ADD CONSTRAINT client_admin_inspection_access_pkey PRIMARY KEY (admin_id, inspection_id);
ALTER TABLE ONLY public.client_manager_building_access
    ADD CONSTRAINT client_manager_building_access_pkey PRIMARY KEY (manager_id, building_id);
ALTER TABLE ONLY public.client_manager_inspection_access
    ADD CONSTRAINT client_manager_inspection_access_pkey PRIMARY KEY (manager_id, inspection_id);
ALTER TABLE ONLY public.clients
    ADD CONSTRAINT clients_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.credentials
    ADD CONSTRAINT credentials_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_code_digest_key UNIQUE (code_digest);
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_token_digest_key UNIQUE (token_digest);
ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_name_key UNIQUE (bucket, name);
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.finding_events
    ADD CONSTRAINT finding_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_id_client_id_key UNIQUE (id, client_id);
ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_ref_key UNIQUE (ref);
ALTER TABLE ONLY public.inspection_plans
    ADD CONSTRAINT inspection_plans_pkey PRIMARY KEY (inspection_id);
ALTER TABLE ONLY public.inspections
    ADD CONSTRAINT inspections_id_client_id_key UNIQUE (id, client_id);
ALTER TABLE ONLY public.inspections
    ADD CONSTRAINT inspections_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inspectors
    ADD CONSTRAINT inspectors_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.inspectors
    ADD CONSTRAINT inspectors_user_id_key UNIQUE (user_id);
ALTER TABLE ONLY public.origins
    ADD CONSTRAINT origins_pkey PRIMARY KEY (user_id, origin);
ALTER TABLE ONLY public.reports_lead
    ADD CONSTRAINT reports_lead_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.reports_lead
    ADD CONSTRAINT reports_lead_ref_key UNIQUE (ref);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_once_key UNIQUE (building_id, inspection_type, title);
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.spent_links
    ADD CONSTRAINT spent_links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key UNIQUE (email);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.xrf_instruments
    ADD CONSTRAINT xrf_instruments_gun_id_key UNIQUE (gun_id);
ALTER TABLE ONLY public.xrf_instruments
    ADD CONSTRAINT xrf_instruments_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.xrf_limits
    ADD CONSTRAINT xrf_limits_pkey PRIMARY KEY (gun_id, substrate);
CREATE INDEX api_keys_created_by ON public.api_keys USING btree (created_by);
CREATE INDEX api_keys_user_id ON public.api_keys USING btree (user_id);
CREATE INDEX attempts_at ON public.attempts USING btree (at);
CREATE INDEX attempts_origin ON public.attempts USING btree (kind, origin, at);
CREATE INDEX attempts_subject ON public.attempts USING btree (kind, subject, at);
CREATE INDEX audit_log_actor ON public.audit_log USING btree (actor_id, ((id + 0)));
CREATE INDEX audit_log_client_id ON public.audit_log USING btree (client_id, id);
CREATE INDEX audit_log_refused ON public.audit_log USING btree (actor_id, id) WHERE (action = 'refused'::text);
CREATE INDEX audit_log_relation ON public.audit_log USING btree (relation, substr(row_key, 1, 200));
CREATE INDEX audit_log_rights ON public.audit_log USING btree (id) WHERE (((action <> 'insert'::text) OR (relation <> ALL ('{clients,inspectors,buildings,building_details,inspections,reports_lead,calibration_checks,xrf_instruments,xrf_limits,schedules,inspection_plans,findings,finding_events,files}'::text[]))) AND public.decides_rights(action, relation, before, after));
CREATE INDEX building_details_client_id ON public.building_details USING btree (client_id);
CREATE INDEX buildings_city ON public.buildings USING btree (city) WHERE (char_length(city) <= 200);
CREATE INDEX buildings_client_city ON public.buildings USING btree (client_id, city) WHERE (char_length(city) <= 200);
CREATE INDEX buildings_client_id ON public.buildings USING btree (client_id, substr(name, 1, 200));
CREATE INDEX calibration_checks_client_id ON public.calibration_checks USING btree (client_id);
CREATE INDEX calibration_checks_inspection_id ON public.calibration_checks USING btree (inspection_id);
CREATE INDEX client_admin_building_access_assigned_by ON public.client_admin_building_access USING btree (assigned_by);
CREATE INDEX client_admin_building_access_building_id ON public.client_admin_building_access USING btree (building_id);
CREATE INDEX client_admin_inspection_access_assigned_by ON public.client_admin_inspection_access USING btree (assigned_by);
CREATE INDEX client_admin_inspection_access_inspection_id ON public.client_admin_inspection_access USING btree (inspection_id);
CREATE INDEX client_manager_building_access_assigned_by ON public.client_manager_building_access USING btree (assigned_by);
CREATE INDEX client_manager_building_access_building_id ON public.client_manager_building_access USING btree (building_id);
CREATE INDEX client_manager_inspection_access_assigned_by ON public.client_manager_inspection_access USING btree (assigned_by);
CREATE INDEX client_manager_inspection_access_inspection_id ON public.client_manager_inspection_access USING btree (inspection_id);
CREATE INDEX devices_user_id ON public.devices USING btree (user_id);
CREATE INDEX files_building_id ON public.files USING btree (building_id);
CREATE INDEX files_client_id ON public.files USING btree (client_id);
CREATE INDEX files_created_by ON public.files USING btree (created_by);
CREATE INDEX files_finding_id ON public.files USING btree (finding_id);
CREATE INDEX files_inspection_id ON public.files USING btree (inspection_id);
CREATE INDEX files_sha256 ON public.files USING btree (sha256, size);
CREATE INDEX finding_events_client_id ON public.finding_events USING btree (client_id);
CREATE INDEX finding_events_finding_id ON public.finding_events USING btree (finding_id);
CREATE INDEX finding_events_user_id ON public.finding_events USING btree (user_id);
CREATE INDEX findings_case_id ON public.findings USING btree (case_id, status);
CREATE INDEX findings_inspection_id ON public.findings USING btree (inspection_id, status, due_at);
CREATE INDEX findings_status ON public.findings USING btree (client_id, status, due_at, id);
CREATE INDEX findings_status_due_at ON public.findings USING btree (status, due_at, id);
CREATE INDEX inspection_plans_case_id ON public.inspection_plans USING btree (case_id, round);
CREATE INDEX inspection_plans_client_id ON public.inspection_plans USING btree (client_id);
CREATE UNIQUE INDEX inspection_plans_open_key ON public.inspection_plans USING btree (schedule_id) WHERE (outcome IS NULL);
CREATE UNIQUE INDEX inspection_plans_open_round_key ON public.inspection_plans USING btree (case_id) WHERE (outcome IS NULL);
CREATE INDEX inspection_plans_schedule_id ON public.inspection_plans USING btree (schedule_id, occurrence);
CREATE INDEX inspections_building_id ON public.inspections USING btree (building_id, date_visited, id);
CREATE INDEX inspections_building_status ON public.inspections USING btree (building_id, status, date_visited, id) WHERE (char_length(status) <= 200);
CREATE INDEX inspections_client_id ON public.inspections USING btree (client_id, date_visited, id);
CREATE INDEX inspections_client_status ON public.inspections USING btree (client_id, status, date_visited, id) WHERE (char_length(status) <= 200);
CREATE INDEX inspections_date_visited ON public.inspections USING btree (date_visited, id);
CREATE INDEX inspections_inspector_id ON public.inspections USING btree (inspector_id, client_id);
CREATE INDEX inspections_status ON public.inspections USING btree (status, date_visited, id) WHERE (char_length(status) <= 200);
CREATE INDEX reports_lead_client_id ON public.reports_lead USING btree (client_id, id);
CREATE INDEX reports_lead_inspection_id ON public.reports_lead USING btree (inspection_id, client_id);
CREATE UNIQUE INDEX reports_lead_reading_key ON public.reports_lead USING btree (inspection_id, gun_id, reading_no, taken_at) WHERE (reading_no IS NOT NULL);
CREATE INDEX schedules_client_id ON public.schedules USING btree (client_id);
CREATE INDEX schedules_inspector_id ON public.schedules USING btree (inspector_id);
CREATE INDEX sessions_last_used_at ON public.sessions USING btree (last_used_at);
CREATE INDEX sessions_user_id ON public.sessions USING btree (user_id, last_used_at);
CREATE INDEX users_client_id ON public.users USING btree (client_id);
CREATE UNIQUE INDEX users_lower_email_key ON public.users USING btree (lower(email));
CREATE INDEX xrf_instruments_client_id ON public.xrf_instruments USING btree (client_id);
CREATE STATISTICS public.buildings_city_length ON char_length(city) FROM public.buildings;
CREATE STATISTICS public.inspections_status_length ON char_length(status) FROM public.inspections;
CREATE TRIGGER audit_log_append_only BEFORE DELETE OR UPDATE ON public.audit_log FOR EACH ROW EXECUTE FUNCTION public.refuse_audit_change();
CREATE TRIGGER audit_log_beyond_client BEFORE INSERT ON public.audit_log FOR EACH ROW WHEN (((current_setting('walkthrough.client'::text, true) <> ''::text) AND ((new.client_id IS DISTINCT FROM (current_setting('walkthrough.client'::text, true))::bigint) OR (((new.action <> 'insert'::text) OR (new.relation <> ALL ('{clients,inspectors,buildings,building_details,inspections,reports_lead,calibration_checks,xrf_instruments,xrf_limits,schedules,inspection_plans,findings,finding_events,files}'::text[]))) AND public.decides_rights(new.action, new.relation, new.before, new.after))))) EXECUTE FUNCTION public.refuse_beyond_client();
CREATE TRIGGER building_details_audit_delete BEFORE DELETE ON public.building_details FOR EACH ROW EXECUTE FUNCTION public.building_details_audit_delete();
CREATE TRIGGER building_details_audit_insert AFTER INSERT ON public.building_details REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.building_details_audit_insert();
CREATE TRIGGER building_details_audit_update AFTER UPDATE ON public.building_details FOR EACH ROW EXECUTE FUNCTION public.building_details_audit_update();
CREATE TRIGGER buildings_audit_delete BEFORE DELETE ON public.buildings FOR EACH ROW EXECUTE FUNCTION public.buildings_audit_delete();
CREATE TRIGGER buildings_audit_insert AFTER INSERT ON public.buildings REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.buildings_audit_insert();
CREATE TRIGGER buildings_audit_update AFTER UPDATE ON public.buildings FOR EACH ROW EXECUTE FUNCTION public.buildings_audit_update();
CREATE TRIGGER buildings_before_delete BEFORE DELETE ON public.buildings FOR EACH ROW EXECUTE FUNCTION public.buildings_before_delete();
CREATE TRIGGER buildings_ids AFTER INSERT OR UPDATE OF id ON public.buildings FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.buildings_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('buildings_id_seq');
CREATE TRIGGER buildings_moved AFTER UPDATE ON public.buildings FOR EACH ROW WHEN ((old.client_id IS DISTINCT FROM new.client_id)) EXECUTE FUNCTION public.buildings_moved();
CREATE TRIGGER calibration_checks_audit_delete BEFORE DELETE ON public.calibration_checks FOR EACH ROW EXECUTE FUNCTION public.calibration_checks_audit_delete();
CREATE TRIGGER calibration_checks_audit_insert AFTER INSERT ON public.calibration_checks REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.calibration_checks_audit_insert();
CREATE TRIGGER calibration_checks_audit_update AFTER UPDATE ON public.calibration_checks FOR EACH ROW EXECUTE FUNCTION public.calibration_checks_audit_update();
CREATE TRIGGER calibration_checks_ids AFTER INSERT OR UPDATE OF id ON public.calibration_checks FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.calibration_checks_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('calibration_checks_id_seq');
CREATE TRIGGER client_admin_building_access_audit_delete BEFORE DELETE ON public.client_admin_building_access FOR EACH ROW EXECUTE FUNCTION public.client_admin_building_access_audit_delete();
CREATE TRIGGER client_admin_building_access_audit_insert AFTER INSERT ON public.client_admin_building_access REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.client_admin_building_access_audit_insert();
CREATE TRIGGER client_admin_building_access_audit_update AFTER UPDATE ON public.client_admin_building_access FOR EACH ROW EXECUTE FUNCTION public.client_admin_building_access_audit_update();
CREATE TRIGGER client_admin_building_access_role BEFORE INSERT OR UPDATE OF admin_id ON public.client_admin_building_access FOR EACH ROW EXECUTE FUNCTION public.client_admin_building_access_role();
CREATE TRIGGER client_admin_inspection_access_audit_delete BEFORE DELETE ON public.client_admin_inspection_access FOR EACH ROW EXECUTE FUNCTION public.client_admin_inspection_access_audit_delete();
CREATE TRIGGER client_admin_inspection_access_audit_insert AFTER INSERT ON public.client_admin_inspection_access REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.client_admin_inspection_access_audit_insert();
CREATE TRIGGER client_admin_inspection_access_audit_update AFTER UPDATE ON public.client_admin_inspection_access FOR EACH ROW EXECUTE FUNCTION public.client_admin_inspection_access_audit_update();
CREATE TRIGGER client_admin_inspection_access_role BEFORE INSERT OR UPDATE OF admin_id ON public.client_admin_inspection_access FOR EACH ROW EXECUTE FUNCTION public.client_admin_inspection_access_role();
CREATE TRIGGER client_manager_building_access_audit_delete BEFORE DELETE ON public.client_manager_building_access FOR EACH ROW EXECUTE FUNCTION public.client_manager_building_access_audit_delete();
CREATE TRIGGER client_manager_building_access_audit_insert AFTER INSERT ON public.client_manager_building_access REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.client_manager_building_access_audit_insert();
CREATE TRIGGER client_manager_building_access_audit_update AFTER UPDATE ON public.client_manager_building_access FOR EACH ROW EXECUTE FUNCTION public.client_manager_building_access_audit_update();
CREATE TRIGGER client_manager_building_access_role BEFORE INSERT OR UPDATE OF manager_id ON public.client_manager_building_access FOR EACH ROW EXECUTE FUNCTION public.client_manager_building_access_role();
CREATE TRIGGER client_manager_inspection_access_audit_delete BEFORE DELETE ON public.client_manager_inspection_access FOR EACH ROW EXECUTE FUNCTION public.client_manager_inspection_access_audit_delete();
CREATE TRIGGER client_manager_inspection_access_audit_insert AFTER INSERT ON public.client_manager_inspection_access REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.client_manager_inspection_access_audit_insert();
CREATE TRIGGER client_manager_inspection_access_audit_update AFTER UPDATE ON public.client_manager_inspection_access FOR EACH ROW EXECUTE FUNCTION public.client_manager_inspection_access_audit_update();
CREATE TRIGGER client_manager_inspection_access_role BEFORE INSERT OR UPDATE OF manager_id ON public.client_manager_inspection_access FOR EACH ROW EXECUTE FUNCTION public.client_manager_inspection_access_role();
CREATE TRIGGER clients_audit_delete BEFORE DELETE ON public.clients FOR EACH ROW EXECUTE FUNCTION public.clients_audit_delete();
CREATE TRIGGER clients_audit_insert AFTER INSERT ON public.clients REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.clients_audit_insert();
CREATE TRIGGER clients_audit_update AFTER UPDATE ON public.clients FOR EACH ROW EXECUTE FUNCTION public.clients_audit_update();
CREATE TRIGGER clients_id_once BEFORE INSERT OR UPDATE OF id ON public.clients FOR EACH ROW EXECUTE FUNCTION public.refuse_client_id_reuse();
CREATE TRIGGER clients_ids AFTER INSERT OR UPDATE OF id ON public.clients FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.clients_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('clients_id_seq');
CREATE TRIGGER credentials_last_super_admin BEFORE INSERT OR UPDATE OF disabled_until ON public.credentials FOR EACH ROW EXECUTE FUNCTION public.super_admin_disabled();
CREATE TRIGGER credentials_unlinked AFTER UPDATE OF disabled_until ON public.credentials FOR EACH ROW EXECUTE FUNCTION public.credentials_unlinked();
CREATE TRIGGER files_audit_delete BEFORE DELETE ON public.files FOR EACH ROW EXECUTE FUNCTION public.files_audit_delete();
CREATE TRIGGER files_audit_insert AFTER INSERT ON public.files REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.files_audit_insert();
CREATE TRIGGER files_audit_update AFTER UPDATE ON public.files FOR EACH ROW EXECUTE FUNCTION public.files_audit_update();
CREATE TRIGGER finding_events_audit_delete BEFORE DELETE ON public.finding_events FOR EACH ROW EXECUTE FUNCTION public.finding_events_audit_delete();
CREATE TRIGGER finding_events_audit_insert AFTER INSERT ON public.finding_events REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.finding_events_audit_insert();
CREATE TRIGGER finding_events_audit_update AFTER UPDATE ON public.finding_events FOR EACH ROW EXECUTE FUNCTION public.finding_events_audit_update();
CREATE TRIGGER finding_events_ids AFTER INSERT OR UPDATE OF id ON public.finding_events FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.finding_events_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('finding_events_id_seq');
CREATE TRIGGER findings_audit_delete BEFORE DELETE ON public.findings FOR EACH ROW EXECUTE FUNCTION public.findings_audit_delete();
CREATE TRIGGER findings_audit_insert AFTER INSERT ON public.findings REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.findings_audit_insert();
CREATE TRIGGER findings_audit_update AFTER UPDATE ON public.findings FOR EACH ROW EXECUTE FUNCTION public.findings_audit_update();
CREATE TRIGGER findings_before_delete BEFORE DELETE ON public.findings FOR EACH ROW EXECUTE FUNCTION public.findings_before_delete();
CREATE TRIGGER findings_ids AFTER INSERT OR UPDATE OF id ON public.findings FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.findings_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('findings_id_seq');
CREATE TRIGGER inspection_plans_audit_delete BEFORE DELETE ON public.inspection_plans FOR EACH ROW EXECUTE FUNCTION public.inspection_plans_audit_delete();
CREATE TRIGGER inspection_plans_audit_insert AFTER INSERT ON public.inspection_plans REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.inspection_plans_audit_insert();
CREATE TRIGGER inspection_plans_audit_update AFTER UPDATE ON public.inspection_plans FOR EACH ROW EXECUTE FUNCTION public.inspection_plans_audit_update();
CREATE TRIGGER inspections_audit_delete BEFORE DELETE ON public.inspections FOR EACH ROW EXECUTE FUNCTION public.inspections_audit_delete();
CREATE TRIGGER inspections_audit_insert AFTER INSERT ON public.inspections REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.inspections_audit_insert();
CREATE TRIGGER inspections_audit_update AFTER UPDATE ON public.inspections FOR EACH ROW EXECUTE FUNCTION public.inspections_audit_update();
CREATE TRIGGER inspections_before_delete BEFORE DELETE ON public.inspections FOR EACH ROW EXECUTE FUNCTION public.inspections_before_delete();
CREATE TRIGGER inspections_ids AFTER INSERT OR UPDATE OF id ON public.inspections FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.inspections_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('inspections_id_seq');
CREATE TRIGGER inspections_moved AFTER UPDATE ON public.inspections FOR EACH ROW WHEN ((old.client_id IS DISTINCT FROM new.client_id)) EXECUTE FUNCTION public.inspections_moved();
CREATE TRIGGER inspectors_audit_delete BEFORE DELETE ON public.inspectors FOR EACH ROW EXECUTE FUNCTION public.inspectors_audit_delete();
CREATE TRIGGER inspectors_audit_insert AFTER INSERT ON public.inspectors REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.inspectors_audit_insert();
CREATE TRIGGER inspectors_audit_update AFTER UPDATE ON public.inspectors FOR EACH ROW EXECUTE FUNCTION public.inspectors_audit_update();
CREATE TRIGGER inspectors_before_delete BEFORE DELETE ON public.inspectors FOR EACH ROW EXECUTE FUNCTION public.inspectors_before_delete();
CREATE TRIGGER inspectors_ids AFTER INSERT OR UPDATE OF id ON public.inspectors FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.inspectors_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('inspectors_id_seq');
CREATE TRIGGER reports_lead_audit_delete BEFORE DELETE ON public.reports_lead FOR EACH ROW EXECUTE FUNCTION public.reports_lead_audit_delete();
CREATE TRIGGER reports_lead_audit_insert AFTER INSERT ON public.reports_lead REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.reports_lead_audit_insert();
CREATE TRIGGER reports_lead_audit_update AFTER UPDATE ON public.reports_lead FOR EACH ROW EXECUTE FUNCTION public.reports_lead_audit_update();
CREATE TRIGGER reports_lead_ids AFTER INSERT OR UPDATE OF id ON public.reports_lead FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.reports_lead_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('reports_lead_id_seq');
CREATE TRIGGER schedules_audit_delete BEFORE DELETE ON public.schedules FOR EACH ROW EXECUTE FUNCTION public.schedules_audit_delete();
CREATE TRIGGER schedules_audit_insert AFTER INSERT ON public.schedules REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.schedules_audit_insert();
CREATE TRIGGER schedules_audit_update AFTER UPDATE ON public.schedules FOR EACH ROW EXECUTE FUNCTION public.schedules_audit_update();
CREATE TRIGGER schedules_before_delete BEFORE DELETE ON public.schedules FOR EACH ROW EXECUTE FUNCTION public.schedules_before_delete();
CREATE TRIGGER schedules_ids AFTER INSERT OR UPDATE OF id ON public.schedules FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.schedules_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('schedules_id_seq');
CREATE TRIGGER users_after_insert AFTER INSERT ON public.users FOR EACH ROW EXECUTE FUNCTION public.users_after_insert();
CREATE TRIGGER users_audit_delete BEFORE DELETE ON public.users FOR EACH ROW EXECUTE FUNCTION public.users_audit_delete();
CREATE TRIGGER users_audit_insert AFTER INSERT ON public.users REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.users_audit_insert();
CREATE TRIGGER users_audit_update AFTER UPDATE ON public.users FOR EACH ROW EXECUTE FUNCTION public.users_audit_update();
CREATE TRIGGER users_before_delete BEFORE DELETE ON public.users FOR EACH ROW EXECUTE FUNCTION public.users_before_delete();
CREATE TRIGGER users_before_move BEFORE UPDATE ON public.users FOR EACH ROW WHEN (((old.role IS DISTINCT FROM new.role) OR (old.client_id IS DISTINCT FROM new.client_id))) EXECUTE FUNCTION public.delete_grants_of_user();
CREATE TRIGGER users_last_super_admin_delete BEFORE DELETE ON public.users FOR EACH ROW WHEN ((old.role = 'super_admin'::text)) EXECUTE FUNCTION public.keep_last_super_admin();
CREATE TRIGGER users_last_super_admin_demote BEFORE UPDATE ON public.users FOR EACH ROW WHEN (((old.role = 'super_admin'::text) AND (new.role <> 'super_admin'::text))) EXECUTE FUNCTION public.keep_last_super_admin();
CREATE TRIGGER users_moved AFTER UPDATE ON public.users FOR EACH ROW WHEN (((old.role IS DISTINCT FROM new.role) OR (old.client_id IS DISTINCT FROM new.client_id))) EXECUTE FUNCTION public.user_moved();
CREATE TRIGGER users_refuse_id_change BEFORE UPDATE OF id ON public.users FOR EACH ROW WHEN ((old.id <> new.id)) EXECUTE FUNCTION public.refuse_user_id_change();
CREATE TRIGGER users_unlinked AFTER UPDATE ON public.users FOR EACH ROW WHEN ((old.role IS DISTINCT FROM new.role)) EXECUTE FUNCTION public.user_unlinked();
CREATE TRIGGER xrf_instruments_audit_delete BEFORE DELETE ON public.xrf_instruments FOR EACH ROW EXECUTE FUNCTION public.xrf_instruments_audit_delete();
CREATE TRIGGER xrf_instruments_audit_insert AFTER INSERT ON public.xrf_instruments REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.xrf_instruments_audit_insert();
CREATE TRIGGER xrf_instruments_audit_update AFTER UPDATE ON public.xrf_instruments FOR EACH ROW EXECUTE FUNCTION public.xrf_instruments_audit_update();
CREATE TRIGGER xrf_instruments_before_delete BEFORE DELETE ON public.xrf_instruments FOR EACH ROW EXECUTE FUNCTION public.xrf_instruments_before_delete();
CREATE TRIGGER xrf_instruments_ids AFTER INSERT OR UPDATE OF id ON public.xrf_instruments FOR EACH ROW WHEN ((new.id > COALESCE(pg_sequence_last_value('public.xrf_instruments_id_seq'::regclass), (0)::bigint))) EXECUTE FUNCTION public.keep_ids('xrf_instruments_id_seq');
CREATE TRIGGER xrf_limits_audit_delete BEFORE DELETE ON public.xrf_limits FOR EACH ROW EXECUTE FUNCTION public.xrf_limits_audit_delete();
CREATE TRIGGER xrf_limits_audit_insert AFTER INSERT ON public.xrf_limits REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION public.xrf_limits_audit_insert();
CREATE TRIGGER xrf_limits_audit_update AFTER UPDATE ON public.xrf_limits FOR EACH ROW EXECUTE FUNCTION public.xrf_limits_audit_update();
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.building_details
    ADD CONSTRAINT building_details_building_id_fkey FOREIGN KEY (building_id, client_id) REFERENCES public.buildings(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.buildings
    ADD CONSTRAINT buildings_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.clients(id) ON DELETE RESTRICT;
ALTER TABLE ONLY public.calibration_checks
    ADD CONSTRAINT calibration_checks_inspection_id_fkey FOREIGN KEY (inspection_id, client_id) REFERENCES public.inspections(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.client_admin_building_access
    ADD CONSTRAINT client_admin_building_access_admin_id_fkey FOREIGN KEY (admin_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_admin_building_access
    ADD CONSTRAINT client_admin_building_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.client_admin_building_access
    ADD CONSTRAINT client_admin_building_access_building_id_fkey FOREIGN KEY (building_id) REFERENCES public.buildings(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_admin_inspection_access
    ADD CONSTRAINT client_admin_inspection_access_admin_id_fkey FOREIGN KEY (admin_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_admin_inspection_access
    ADD CONSTRAINT client_admin_inspection_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.client_admin_inspection_access
    ADD CONSTRAINT client_admin_inspection_access_inspection_id_fkey FOREIGN KEY (inspection_id) REFERENCES public.inspections(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_manager_building_access
    ADD CONSTRAINT client_manager_building_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.client_manager_building_access
    ADD CONSTRAINT client_manager_building_access_building_id_fkey FOREIGN KEY (building_id) REFERENCES public.buildings(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_manager_building_access
    ADD CONSTRAINT client_manager_building_access_manager_id_fkey FOREIGN KEY (manager_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_manager_inspection_access
    ADD CONSTRAINT client_manager_inspection_access_assigned_by_fkey FOREIGN KEY (assigned_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.client_manager_inspection_access
    ADD CONSTRAINT client_manager_inspection_access_inspection_id_fkey FOREIGN KEY (inspection_id) REFERENCES public.inspections(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.client_manager_inspection_access
    ADD CONSTRAINT client_manager_inspection_access_manager_id_fkey FOREIGN KEY (manager_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.credentials
    ADD CONSTRAINT credentials_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.devices
    ADD CONSTRAINT devices_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_building_id_fkey FOREIGN KEY (building_id, client_id) REFERENCES public.buildings(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_created_by_fkey FOREIGN KEY (created_by) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_finding_id_fkey FOREIGN KEY (finding_id, client_id) REFERENCES public.findings(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.files
    ADD CONSTRAINT files_inspection_id_fkey FOREIGN KEY (inspection_id, client_id) REFERENCES public.inspections(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.finding_events
    ADD CONSTRAINT finding_events_finding_id_fkey FOREIGN KEY (finding_id, client_id) REFERENCES public.findings(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.finding_events
    ADD CONSTRAINT finding_events_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.findings
    ADD CONSTRAINT findings_inspection_id_fkey FOREIGN KEY (inspection_id, client_id) REFERENCES public.inspections(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.inspection_plans
    ADD CONSTRAINT inspection_plans_inspection_id_fkey FOREIGN KEY (inspection_id, client_id) REFERENCES public.inspections(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.inspection_plans
    ADD CONSTRAINT inspection_plans_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES public.schedules(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.inspections
    ADD CONSTRAINT inspections_building_id_fkey FOREIGN KEY (building_id, client_id) REFERENCES public.buildings(id, client_id) ON UPDATE CASCADE ON DELETE RESTRICT;
ALTER TABLE ONLY public.inspections
    ADD CONSTRAINT inspections_inspector_id_fkey FOREIGN KEY (inspector_id) REFERENCES public.inspectors(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.inspectors
    ADD CONSTRAINT inspectors_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.origins
    ADD CONSTRAINT origins_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.reports_lead
    ADD CONSTRAINT reports_lead_inspection_id_fkey FOREIGN KEY (inspection_id, client_id) REFERENCES public.inspections(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_building_id_fkey FOREIGN KEY (building_id, client_id) REFERENCES public.buildings(id, client_id) ON UPDATE CASCADE ON DELETE CASCADE;
ALTER TABLE ONLY public.schedules
    ADD CONSTRAINT schedules_inspector_id_fkey FOREIGN KEY (inspector_id) REFERENCES public.inspectors(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.clients(id) ON DELETE RESTRICT;
ALTER TABLE ONLY public.xrf_instruments
    ADD CONSTRAINT xrf_instruments_client_id_fkey FOREIGN KEY (client_id) REFERENCES public.clients(id) ON DELETE RESTRICT;
ALTER TABLE ONLY public.xrf_limits
    ADD CONSTRAINT xrf_limits_gun_id_fkey FOREIGN KEY (gun_id) REFERENCES public.xrf_instruments(gun_id) ON UPDATE CASCADE ON DELETE CASCADE;
