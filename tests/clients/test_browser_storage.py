"""Files with supabase-js in Chromium, on a page of another origin."""

import base64

from tests.clients.browser import Page, context, opened, port, sign_in
from tests.support.storage import picture

__all__ = ["context", "opened", "port"]  # fixtures

UPLOADS = """async ([prefix, png]) => {
    const bytes = Uint8Array.from(atob(png), each => each.charCodeAt(0));
    const typed = { type: "image/png" };
    const form = new FormData();
    form.append("photo", new Blob([bytes], typed), "a.png");
    const bodies = {
        Blob: new Blob([bytes], typed), File: new File([bytes], "a.png", typed), FormData: form,
        ArrayBuffer: bytes.buffer, Uint8Array: bytes,
    };
    const files = client.storage.from("inspections");
    const outcomes = {};
    for (const [kind, body] of Object.entries(bodies)) {
        const path = `${prefix}/${kind} Ü.png`;
        const options = { contentType: "image/png", upsert: true, metadata: { kind } };
        const { error } = await files.upload(path, body, options);
        const { data } = await files.download(path);
        outcomes[kind] = error ? error.message : [data.type, data.size];
    }
    return outcomes;
}"""


def test_files_of_another_origin(opened: Page) -> None:
    sign_in(opened, "ada")
    png = picture("page")

    uploaded = opened.run(UPLOADS, ["1/page", base64.b64encode(png).decode()])

    assert uploaded == {
        kind: ["image/png", len(png)] for kind in ("Blob", "File", "FormData", "ArrayBuffer", "Uint8Array")
    }
    changed = opened.run(
        """async () => {
             const files = client.storage.from("inspections");
             const from = "1/page/Blob Ü.png", to = "1/page/moved.png";
             const failed = [];
             const ask = async call => {
                 const { data, error } = await call;
                 if (error) failed.push(error);
                 return data;
             };
             await ask(files.update(from, new Blob(["%PDF-1.4"], { type: "application/pdf" })));
             await ask(files.move(from, to));
             await ask(files.copy(to, from));
             const found = await ask(files.list("1/page", { search: "b" }));
             const link = await ask(files.createSignedUrl("1/page/File Ü.png", 60, { transform: { width: 100 } }));
             const signed = await ask(files.createSignedUploadUrl("1/page/linked.png"));
             const png = await ask(files.download("1/page/File Ü.png"));
             await ask(files.uploadToSignedUrl("1/page/linked.png", signed.token, png));
             const image = new Image();
             image.src = link.signedUrl;
             await image.decode();
             const part = await fetch(`${client.supabaseUrl}/storage/v1/object/inspections/1/page/linked.png`, {
                 headers: { apikey: client.supabaseKey, Range: "bytes=0-3",
                            Authorization: `Bearer ${(await client.auth.getSession()).data.session.access_token}` } });
             const gone = await ask(files.remove([from, to]));
             const refused = await files.upload("1/page/a.svg", new Blob(["<svg/>"], { type: "image/svg+xml" }));
             return { failed, found: found.map(each => each.name), width: image.naturalWidth, gone: gone.length,
                      part: [part.status, part.headers.get("content-range"), part.headers.get("etag") !== null],
                      refused: [refused.error.status, refused.error.code] };
           }"""
    )
    assert changed == {
        "failed": [],
        "found": ["Blob Ü.png"],
        "width": 8,
        "gone": 2,
        "part": [206, f"bytes 0-3/{len(png)}", True],
        "refused": [415, "InvalidMimeType"],
    }
    for path, method, header in (
        ("/storage/v1/object/inspections/1/page/Uint8Array", "POST", "x-metadata"),
        ("/storage/v1/object/upload/sign/inspections/1/page", "PUT", "x-upsert"),
        ("/storage/v1/object/inspections", "DELETE", "content-type"),
    ):
        asked, answered = opened.preflights.to(path, method)
        assert header in asked["headers"]
        assert header in answered["headers"]["access-control-allow-headers"]


def test_too_large_file_is_refused_before_it_is_sent(opened: Page) -> None:
    sign_in(opened, "ada")

    refused = opened.run(
        """async () => {
             const body = new Blob(["%PDF-1.4", new Uint8Array(21 << 20)], { type: "application/pdf" });
             const { error } = await client.storage.from("inspections").upload("1/page/large.pdf", body);
             return [error.status, error.code, error.message];
           }"""
    )

    assert refused == [413, "EntityTooLarge", "Payload too large"]
