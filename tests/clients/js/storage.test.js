// Files, as storage-js says them. Every test makes the files that it changes.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { test } from "node:test";
import { deflateSync } from "node:zlib";
import { answer, as, connect } from "./service.js";

const PDF = "%PDF-1.4\n%%EOF\n";
const PNG = { contentType: "image/png" };

function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}

function chunk(kind, data) {
  const named = Buffer.concat([Buffer.from(kind), data]);
  const framed = Buffer.alloc(named.length + 8);
  framed.writeUInt32BE(data.length);
  named.copy(framed, 4);
  framed.writeUInt32BE(crc(named), named.length + 4);
  return framed;
}

// A grey image, another for each shade.
function picture(shade = 0, width = 8, height = 6) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width);
  head.writeUInt32BE(height, 4);
  head[8] = 8;
  const rows = Buffer.alloc((width + 1) * height, shade);
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0;
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(rows)), chunk("IEND", Buffer.alloc(0))]);
}

const files = async (name = "ada", bucket = "inspections") => (await as(name)).storage.from(bucket);

async function bytes(bucket, path, options) {
  return Buffer.from(await answer(await bucket.download(path, options)).arrayBuffer());
}

function refused(result, status, code, message) {
  assert.ok(result.error, `not refused: ${JSON.stringify(result.data)}`);
  assert.deepEqual([result.error.status, result.error.code], [status, code], result.error.message);
  if (message !== undefined) assert.equal(result.error.message, message);
}

const BODIES = {
  Blob: (body) => new Blob([body], { type: "image/png" }),
  File: (body) => new File([body], "a.png", { type: "image/png" }),
  "untyped Blob": (body) => new Blob([body]),
  FormData: (body) => {
    const form = new FormData();
    form.append("photo", new Blob([body], { type: "image/png" }), "a.png");
    return form;
  },
  Buffer: (body) => body,
  Uint8Array: (body) => new Uint8Array(body),
  ArrayBuffer: (body) => body.buffer.slice(body.byteOffset, body.byteOffset + body.length),
  base64: (body) => Buffer.from(body.toString("base64"), "base64"),
  "Node stream": (body) => Readable.from([body.subarray(0, 20), body.subarray(20)]),
  "web stream": (body) => new Blob([body]).stream(),
};

test("upload takes every kind of body", async () => {
  const bucket = await files();
  for (const [index, [kind, make]] of Object.entries(BODIES).entries()) {
    const body = picture(index, 40, 30);
    const path = `1/js/${kind} Ü.png`;
    const options = { contentType: kind.includes("Blob") ? undefined : "image/png", cacheControl: "60", metadata: { kind } };
    const made = answer(await bucket.upload(path, make(body), options));
    assert.equal(made.path, path, kind);
    assert.equal(made.fullPath, `inspections/${path}`, kind);
    const info = answer(await bucket.info(path));
    assert.deepEqual([info.id, info.size, info.contentType], [made.id, body.length, "image/png"], kind);
    assert.equal(info.cacheControl, "max-age=60", kind);
    assert.deepEqual(info.metadata, { kind }, kind);
    assert.deepEqual(await bytes(bucket, path), body, kind);
  }
});

test("text is a document", async () => {
  const bucket = await files();
  answer(await bucket.upload("1/js/text.pdf", PDF));
  assert.equal(answer(await bucket.info("1/js/text.pdf")).contentType, "application/pdf");
});

test("large stream arrives whole", async () => {
  const bucket = await files();
  const body = Buffer.concat([Buffer.from(PDF), Buffer.alloc(7 << 20, "x")]);
  const stream = Readable.from((function* () {
    for (let at = 0; at < body.length; at += 100_000) yield body.subarray(at, at + 100_000);
  })());
  answer(await bucket.upload("1/js/large.pdf", stream, { contentType: "application/pdf" }));
  assert.ok((await bytes(bucket, "1/js/large.pdf")).equals(body));
});

test("update and upsert replace", async () => {
  const bucket = await files();
  const path = "1/js/changed.png";
  answer(await bucket.upload(path, picture(1), PNG));
  answer(await bucket.upload(path, picture(1), PNG));
  refused(await bucket.upload(path, picture(2), PNG), 409, "KeyAlreadyExists", "The resource already exists");
  answer(await bucket.upload(path, picture(2), { ...PNG, upsert: true }));
  assert.deepEqual(await bytes(bucket, path), picture(2));
  answer(await bucket.update(path, new Blob([picture(3)]), PNG));
  assert.deepEqual(await bytes(bucket, path), picture(3));
});

test("other types and bad names are refused", async () => {
  const bucket = await files();
  refused(await bucket.upload("1/js/a.svg", "<svg/>", { contentType: "image/svg+xml" }), 415, "InvalidMimeType");
  refused(await bucket.upload("1/js/a.png", picture(), { contentType: "image/jpeg" }), 415, "InvalidMimeType");
  refused(await bucket.upload("a.png", picture(), PNG), 400, "InvalidKey");
  refused(await bucket.upload("1/js/.a.png", picture(), PNG), 400, "InvalidKey");
});

test("list searches and pages", async () => {
  const bucket = await files();
  for (const name of ["a.png", "b.png", "sub/c.png"]) answer(await bucket.upload(`2/js/${name}`, picture(), PNG));
  const names = async (options) => answer(await bucket.list("2/js", options)).map((each) => each.name);
  assert.deepEqual(await names(), ["a.png", "b.png", "sub"]);
  assert.deepEqual(await names({ limit: 1, offset: 1 }), ["b.png"]);
  assert.deepEqual(await names({ search: "b" }), ["b.png"]);
  assert.deepEqual(await names({ sortBy: { column: "name", order: "desc" } }), ["sub", "b.png", "a.png"]);
  const [file, , folder] = answer(await bucket.list("2/js"));
  assert.deepEqual([file.metadata.size, file.metadata.mimetype], [picture().length, "image/png"]);
  assert.deepEqual([folder.id, folder.metadata], [null, null]);
});

test("listV2 pages by a cursor", async () => {
  const bucket = await files();
  for (const name of ["a.png", "b.png", "sub/c.png"]) answer(await bucket.upload(`4/js/${name}`, picture(), PNG));
  const seen = [];
  let cursor;
  do {
    const page = answer(await bucket.listV2({ prefix: "4/js/", limit: 2, with_delimiter: true, cursor }));
    seen.push(...page.folders, ...page.objects);
    cursor = page.hasNext ? page.nextCursor : undefined;
  } while (cursor);
  assert.deepEqual(seen.map((each) => each.name).sort(), ["4/js/a.png", "4/js/b.png", "4/js/sub/"]);
});

test("transform shows an image", async () => {
  const bucket = await files();
  answer(await bucket.upload("1/js/wide.png", picture(9, 900, 30), PNG));
  const blob = answer(await bucket.download("1/js/wide.png", { transform: { width: 100, resize: "contain" } }));
  assert.equal(blob.type, "image/jpeg");
  answer(await bucket.upload("1/js/no image.pdf", PDF));
  refused(await bucket.download("1/js/no image.pdf", { transform: { width: 100 } }), 400, "InvalidRequest");
});

test("signed links need no key and expire", async () => {
  const bucket = await files();
  const path = "1/js/signed Ü.png";
  answer(await bucket.upload(path, picture(5, 900, 30), PNG));
  const { signedUrl } = answer(await bucket.createSignedUrl(path, 1, { download: "door.png" }));
  const got = await fetch(signedUrl);
  assert.equal(got.status, 200);
  assert.match(got.headers.get("content-disposition"), /^attachment; filename="door.png"; filename\*=UTF-8''door.png/);
  assert.ok(Buffer.from(await got.arrayBuffer()).equals(picture(5, 900, 30)));
  const image = answer(await bucket.createSignedUrl(path, 60, { transform: { width: 100 } }));
  assert.equal((await fetch(image.signedUrl)).headers.get("content-type"), "image/jpeg");
  const [known, unknown] = answer(await bucket.createSignedUrls([path, "1/js/none"], 60));
  assert.equal((await fetch(known.signedUrl)).status, 200);
  assert.equal(unknown.signedUrl, null);
  await pause(1100);
  assert.equal((await (await fetch(signedUrl)).json()).code, "ExpiredToken");
  refused(await bucket.createSignedUrl("1/js/none", 60), 404, "NoSuchKey");
});

test("signed upload needs no user", async () => {
  const bucket = await files();
  const path = "1/js/by link Ü.png";
  const { token } = answer(await bucket.createSignedUploadUrl(path));
  const stranger = connect().storage.from("inspections");
  const made = answer(await stranger.uploadToSignedUrl(path, token, new Blob([picture(7)], { type: "image/png" })));
  assert.equal(made.fullPath, `inspections/${path}`);
  assert.deepEqual(await bytes(bucket, path), picture(7));
  assert.ok((await stranger.uploadToSignedUrl(path, token, picture(8), PNG)).error);
});

test("move, copy and remove", async () => {
  const bucket = await files();
  answer(await bucket.upload("1/js/old.png", picture(1), PNG));
  answer(await bucket.move("1/js/old.png", "1/js/new.png"));
  assert.equal(answer(await bucket.copy("1/js/new.png", "1/js/copy.png", { destinationBucket: "buildings" })).path,
    "buildings/1/js/copy.png");
  assert.equal((await bucket.exists("1/js/old.png")).data, false);
  assert.equal((await bucket.exists("1/js/new.png")).data, true);
  const gone = answer(await bucket.remove(["1/js/new.png", "1/js/none"]));
  assert.deepEqual(gone.map((each) => each.name), ["1/js/new.png"]);
  refused(await bucket.info("1/js/new.png"), 404, "NoSuchKey", "Object not found");
  assert.deepEqual(answer(await (await files("ada", "buildings")).remove(["1/js/copy.png"])).length, 1);
});

test("buckets are fixed", async () => {
  const { storage } = await as("ada");
  assert.deepEqual(answer(await storage.listBuckets()).map((each) => each.id), ["inspections", "findings", "buildings"]);
  assert.equal(answer(await storage.getBucket("findings")).public, false);
  refused(await storage.createBucket("photos"), 403, "AccessDenied");
  refused(await storage.from("photos").download("1/a"), 404, "NoSuchBucket", "Bucket not found");
  assert.equal(answer(await storage.from("findings").purgeCache("1/a")).message, "success");
});

test("public link leads nowhere", async () => {
  const bucket = await files();
  answer(await bucket.upload("1/js/private.png", picture(), PNG));
  const { publicUrl } = bucket.getPublicUrl("1/js/private.png").data;
  assert.deepEqual((await (await fetch(publicUrl)).json()).code, "NoSuchKey");
});

test("hidden files are as missing ones", async () => {
  answer(await (await files()).upload("1/js/hidden.png", picture(), PNG));
  const bob = await files("bob");
  for (const path of ["1/js/hidden.png", "1/js/none.png", "999/none.png"]) {
    refused(await bob.download(path), 404, "NoSuchKey", "Object not found");
    refused(await bob.upload(path, picture(), PNG), 403, "AccessDenied");
  }
  assert.deepEqual(answer(await bob.list("1/js")), []);
});
