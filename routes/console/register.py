"""Every URL of the console: its method, its rule and its view; the pages of each table; the pages of errors."""

from __future__ import annotations

from functools import partial

from flask import Blueprint
from flask.blueprints import BlueprintSetupState
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from access import policy
from access.access_token import RefusedClaims
from access.roles import Role
from engine.query.statement import Action
from models.types import Fault
from routes.console.components import charts, error_pages, lists, page, records, template_filters
from routes.console.components.records import FormOf
from routes.console.components.tables import PRESENTATIONS, Table, all_tables
from routes.console.pages import (
    access,
    account,
    api_keys,
    audit_log,
    buildings,
    dashboard,
    findings,
    grants,
    imports,
    inspections,
    kiosk,
    lead,
    letters,
    month,
    photographs,
    reports,
    rows,
    schedules,
    sign_in,
    undo,
    users,
    visits,
)
from routes.console.pages.rows import View
from routes.console.session import auth, submissions
from routes.console.session.urls import PATH, console_url
from routes.http.middleware import url_path

VIEWS: tuple[tuple[str, str, View], ...] = (
    ("GET", "", page.redirect_to_root),
    ("GET", "/", dashboard.dashboard),
    ("GET", "/static/<name>", page.static_file),
    ("GET", "/<path:rest>", page.not_found),
    # Sign-in and account
    ("GET", "/sign-in", sign_in.sign_in_form),
    ("POST", "/sign-in", sign_in.sign_in),
    ("POST", "/sign-out", sign_in.sign_out),
    ("GET", "/session", sign_in.session),
    ("GET", "/account", account.account),
    ("POST", "/account/name", account.change_name),
    ("POST", "/account/password", account.change_password),
    ("POST", "/account/calendar", account.create_calendar_link),
    ("GET", "/account/own_password", sign_in.own_password_form),
    ("POST", "/account/own_password", sign_in.choose_own_password),
    ("POST", "/account/sessions", account.end_other_sessions),
    ("POST", "/account/sessions/<key>/end", account.end_session),
    ("GET", "/account/api_keys", api_keys.own_api_keys),
    ("POST", "/account/api_keys", api_keys.create_own_api_key),
    ("GET", "/account/api_keys/<key_id>/revocation", api_keys.confirm_own_api_key_revocation),
    ("POST", "/account/api_keys/<key_id>/revoke", api_keys.revoke_own_api_key),
    # Users
    ("GET", "/people/new", users.new_user),
    ("POST", "/people/new", users.create_user),
    ("GET", "/people/<key>/edit", users.edit_user),
    ("POST", "/people/<key>/edit", users.update_user),
    ("GET", "/people/<key>/deactivation", users.confirm_deactivation),
    ("POST", "/people/<key>/disable", users.deactivate),
    ("POST", "/people/<key>/enable", users.reactivate),
    ("GET", "/people/<key>/api_keys", api_keys.user_api_keys),
    ("POST", "/people/<key>/api_keys", api_keys.create_user_api_key),
    ("GET", "/people/<key>/api_keys/<key_id>/revocation", api_keys.confirm_user_api_key_revocation),
    ("POST", "/people/<key>/api_keys/<key_id>/revoke", api_keys.revoke_user_api_key),
    # Access
    ("GET", "/access", access.access),
    ("POST", "/access", access.preview),
    ("POST", "/access/confirm", access.confirm),
    ("GET", "/why", grants.why),
    ("GET", "/<any(buildings, inspections):name>/<int:key>/access", grants.preview_grant),
    ("POST", "/<any(buildings, inspections):name>/<int:key>/access", grants.save_grant),
    ("GET", "/audit_log/<int:key>/undo", undo.confirm_undo),
    ("POST", "/audit_log/<int:key>/undo", undo.undo),
    # Kiosk displays
    ("GET", "/kiosk", kiosk.kiosk),
    ("GET", "/kiosk/board", kiosk.kiosk_content_page),
    ("GET", "/kiosk/enter", kiosk.sign_in_display_form),
    ("POST", "/kiosk/enter", kiosk.sign_in_display),
    ("POST", "/kiosk/leave", kiosk.sign_out_display),
    ("GET", "/devices", kiosk.list_kiosk_displays),
    ("POST", "/devices", kiosk.create_kiosk_display),
    ("GET", "/devices/<key>/revocation", kiosk.confirm_display_revocation),
    ("POST", "/devices/<key>/revoke", kiosk.revoke_kiosk_display),
    # Visits
    ("GET", "/visits", visits.my_visits),
    ("GET", "/waiting", visits.waiting),
    ("GET", "/inspections/change/<column>", inspections.show_change),
    ("POST", "/inspections/change/<column>", inspections.preview_change),
    ("POST", "/inspections/change/<column>/confirm", inspections.save_change),
    ("GET", "/inspections/month", month.show_month),
    ("GET", "/inspectors/<int:key>/hand_over", inspections.show_hand_over),
    ("POST", "/inspectors/<int:key>/hand_over", inspections.preview_hand_over),
    ("POST", "/inspections/<int:key>/status", inspections.update_status),
    ("GET", "/inspections/<int:key>/report", reports.show_report),
    ("GET", "/inspections/<int:key>/issue", reports.show_issue),
    ("POST", "/inspections/<int:key>/issue", reports.submit_issue),
    ("GET", "/issued_reports/<int:key>/page", reports.show_frozen_page),
    ("GET", "/issued_reports/<int:key>/withdraw", reports.show_withdraw),
    ("POST", "/issued_reports/<int:key>/withdraw", reports.submit_withdraw),
    ("GET", "/verify", reports.verify),
    ("POST", "/inspections/<int:key>/take_back", visits.take_back),
    *(
        (method, f"/inspections/<int:key>/{function}", view)
        for function, views in visits.FORM_VIEWS.items()
        for method, view in zip(("GET", "POST"), views, strict=True)
    ),
    ("GET", "/inspections/<int:key>/add/<table_name>", records.show_quick_entry),
    ("POST", "/inspections/<int:key>/add/findings", findings.add_finding),
    ("POST", "/inspections/<int:key>/add/<table_name>", records.add_row),
    ("POST", "/inspections/<int:key>/reclassify", lead.reclassify),
    ("GET", "/reports_lead/<int:key>/void", lead.show_void_form),
    ("POST", "/reports_lead/<int:key>/void", lead.void_reading),
    # Findings
    ("GET", "/findings/move/<kind>", findings.show_move),
    ("POST", "/findings/move/<kind>", findings.submit_move),
    ("GET", "/findings/photographs", findings.show_photographs),
    ("GET", "/findings/letter", letters.show_letter_form),
    ("POST", "/findings/letter", letters.write_letter),
    ("GET", "/notices/<int:key>/letter", letters.show_letter_page),
    ("GET", "/notices/<int:key>/<any(serve, withdraw):step>", letters.show_step),
    ("POST", "/notices/<int:key>/<any(serve, withdraw):step>", letters.submit_step),
    ("GET", "/buildings/<int:key>/defect", findings.show_defect),
    ("POST", "/buildings/<int:key>/defect", findings.submit_defect),
    # Schedules
    ("GET", "/schedules/apply", schedules.show_apply),
    ("POST", "/schedules/apply", schedules.confirm_apply),
    ("POST", "/schedules/apply/confirm", schedules.apply),
    ("GET", "/schedules/<int:key>/end", schedules.show_end),
    ("POST", "/schedules/<int:key>/end", schedules.end),
    # Files and imports
    ("POST", "/<any(inspections, findings, buildings):bucket>/<int:key>/files", photographs.store_files),
    ("GET", "/files/<key>/original", photographs.show_original),
    ("GET", "/files/<key>/thumbnail/<int:width>", photographs.show_thumbnail),
    ("GET", "/files/<key>/delete", photographs.confirm_deletion),
    ("POST", "/files/<key>/delete", photographs.delete_file),
    ("GET", "/import/<target>", imports.show_import),
    ("POST", "/import/<target>", imports.run_import),
)

TABLE_VIEWS: tuple[tuple[str, Action, View, View | None], ...] = (
    ("", Action.READ, lists.list_page, None),
    (".csv", Action.READ, lists.download, None),
    ("/suggest", Action.READ, rows.suggest, None),
    ("/{key}", Action.READ, rows.show_page, None),
    ("/new", Action.INSERT, records.new_row, records.create_row),
    ("/{key}/edit", Action.UPDATE, records.edit_row, records.update_row),
    ("/{key}/delete", Action.DELETE, rows.delete_page, rows.delete_row),
)
"""Of any table, by the end of the URL: the privilege that the page needs, the page, and what its form does."""

OWN_VIEWS: dict[tuple[str, str], View] = {
    ("audit_log", ""): audit_log.list_entries,
    ("audit_log", ".csv"): audit_log.download_entries,
    ("audit_log", "/{key}"): audit_log.show_entry,
    ("buildings", ""): buildings.list_buildings,
    ("buildings", ".csv"): buildings.download_buildings,
    ("buildings", "/{key}"): buildings.show_building,
    ("files", "/{key}"): photographs.show_file,
    ("finding_events", ""): findings.list_events,
    ("findings", ""): findings.list_findings,
    ("findings", ".csv"): findings.download_findings,
    ("findings", "/{key}"): findings.show_finding,
    ("inspections", ""): inspections.list_inspections,
    ("inspections", ".csv"): inspections.download_inspections,
    ("inspections", "/{key}"): inspections.show_inspection,
    ("inspectors", ""): lead.list_inspectors,
    ("inspectors", "/{key}"): users.show_inspector,
    ("issued_reports", ""): reports.list_reports,
    ("issued_reports", ".csv"): reports.download_reports,
    ("issued_reports", "/{key}"): reports.show_issued_report,
    ("notices", ""): letters.list_letters,
    ("notices", "/{key}"): letters.show_letter,
    ("schedules", "/{key}"): schedules.show_schedule,
    ("users", "/{key}"): users.show_user,
    ("xrf_instruments", ""): lead.list_instruments,
}
"""The pages that have more than those of any table, by table and end of the URL."""

OWN_FORMS: dict[str, FormOf] = {
    "calibration_checks": lead.check_form,
    "findings": findings.finding_form,
    "inspections": inspections.inspection_form,
    "inspectors": users.inspector_form,
    "lead_standards": lead.form_with_limits,
    "reports_lead": lead.reading_form,
    "schedules": schedules.schedule_form,
    "xrf_instruments": lead.form_with_limits,
    "xrf_limits": lead.limit_form,
}
"""The forms that have more than those of any table, by table."""

for each in (audit_log, buildings, findings, inspections, lead, letters, photographs, reports, schedules, users):
    PRESENTATIONS.update(each.PRESENTATIONS)
records.QUICK_FORMS.update({lead.CHECKS: lead.CHECK_ENTRY, lead.READINGS: lead.READING_ENTRY})


def register_view(state: BlueprintSetupState, method: str, rule: str, view: View) -> None:
    state.add_url_rule(rule, f"{method} {rule}".replace(".", " "), view, methods=[method])


def register_table(state: BlueprintSetupState, table: Table) -> None:
    """Register the pages of a table for the actions that a role has the privilege for."""
    has_forms = not table.presentation.has_own_forms and table.model.grant is None
    actions = Action if has_forms else (Action.READ, Action.DELETE)
    permitted = {action for action in actions if any(policy.may_permit(role, action, table.model) for role in Role)}
    for suffix, action, view, submit in TABLE_VIEWS:
        if action not in permitted:
            continue
        rule = table.path + suffix.format(key="<int:key>" if table.has_number else "<key>")
        # Each transaction of a list or a file has the full time limit.
        guard = auth.requires(
            action,
            table.model,
            shares_snapshot=suffix == "/{key}" or submit is not None,
            allowed=table.presentation.allowed,
        )
        is_form = action in (Action.INSERT, Action.UPDATE)
        own = {"form": OWN_FORMS[table.name]} if is_form and table.name in OWN_FORMS else {}
        register_view(state, "GET", rule, guard(partial(OWN_VIEWS.get((table.name, suffix), view), table, **own)))
        if submit is not None:
            register_view(state, "POST", rule, guard(partial(submit, table, **own)))


def register_urls(state: BlueprintSetupState) -> None:
    for method, rule, view in VIEWS:
        register_view(state, method, rule, view)
    for table in all_tables():
        register_table(state, table)


bp = Blueprint("console", __name__, url_prefix=PATH, template_folder="templates")
bp.record(register_urls)
bp.after_request(page.finish_response)
for fault, handler in (
    (auth.SignInRequired, error_pages.redirect_to_sign_in),
    (RefusedClaims, error_pages.redirect_to_sign_in),
    (auth.KioskTokenRequired, error_pages.render_kiosk_signed_out),
    (auth.PasswordChangeRequired, sign_in.require_own_password),
    (auth.InvalidFormToken, error_pages.render_expired_form),
    (Fault, error_pages.render_fault),
    (HTTPException, error_pages.render_http_error),
    (Exception, error_pages.render_unexpected_error),
):
    bp.register_error_handler(fault, handler)
bp.app_errorhandler(MethodNotAllowed)(error_pages.render_method_not_allowed)
bp.add_app_template_global(page.STATIC.url, "static_url")
bp.add_app_template_global(url_path)
bp.add_app_template_global(console_url, "console_url")
bp.add_app_template_global(page.time_zone_name, "time_zone")
bp.add_app_template_test(page.is_current_page, "current_page")
bp.add_app_template_global(page.printed_at)
bp.add_app_template_global(submissions.write_submission, "submission")
for template_filter in (*template_filters.FILTERS, *template_filters.TITLES, charts.label_filter):
    bp.add_app_template_filter(template_filter)
