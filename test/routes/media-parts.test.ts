import t from "tap";
import { dial, listen, rawRequest, serve } from "../helper.js";
import { fileForm, PDF, upload, urlOf } from "../files.js";

// Conditions and ranges of files (RFC 9110, sections 13 and 14), on one connection that goes on.

void t.test("conditions and ranges", async (t) => {
  const server = await serve(t);
  const { pathname } = new URL(
    urlOf(await upload(server, fileForm("a.pdf", PDF))),
  );
  const wire = dial(t, await listen(server.app));
  const ask = async (headers: Record<string, string>, method = "GET") => {
    wire.send(rawRequest(`${method} ${pathname}`, headers));
    if (method === "HEAD") wire.expectNoBody();
    return wire.answer();
  };
  const { headers } = await ask({});
  const { etag = "", "last-modified": modified = "" } = headers;
  const size = Buffer.byteLength(PDF);
  t.equal(headers["content-length"], String(size));
  t.match(etag, /^"[\da-f]+-[\da-f]+"$/);
  const before = new Date(Date.parse(modified) - 1000).toUTCString();
  const after = new Date(Date.parse(modified) + 1000).toUTCString();
  const weak = `W/${etag}`;

  const all = `0-${size - 1}`;
  const cases: [headers: Record<string, string>, status: number, part?: string][] = [
    [{ "If-None-Match": etag }, 304],
    [{ "If-None-Match": weak }, 304],
    [{ "If-None-Match": `"x", ${etag}` }, 304],
    [{ "If-None-Match": "*" }, 304],
    [{ "If-None-Match": '"x"' }, 200],
    [{ "If-None-Match": etag, Range: "bytes=0-4" }, 304],
    [{ "If-None-Match": '"x"', "If-Modified-Since": after }, 200],
    [{ "If-Modified-Since": modified }, 304],
    [{ "If-Modified-Since": after }, 304],
    [{ "If-Modified-Since": before }, 200],
    [{ "If-Modified-Since": "yesterday" }, 200],
    [{ "If-Match": "*" }, 200],
    [{ "If-Match": '"x"' }, 412],
    [{ "If-Match": etag }, 200],
    [{ "If-Match": `"x", ${etag}` }, 200],
    [{ "If-Match": weak }, 412],
    [{ "If-Unmodified-Since": before }, 412],
    [{ "If-Unmodified-Since": modified }, 200],
    [{ "If-Unmodified-Since": "yesterday" }, 200],
    [{ Range: "bytes=0-4" }, 206, "0-4"],
    [{ Range: "BYTES=0-4" }, 206, "0-4"],
    [{ Range: "bytes=4-4" }, 206, "4-4"],
    [{ Range: "bytes=0-" }, 206, all],
    [{ Range: "bytes=5-" }, 206, `5-${size - 1}`],
    [{ Range: "bytes=-5" }, 206, `${size - 5}-${size - 1}`],
    [{ Range: `bytes=-${size}` }, 206, all],
    [{ Range: `bytes=-${size + 1}` }, 206, all],
    [{ Range: "bytes=-9999999999" }, 206, all],
    [{ Range: `bytes=-${"9".repeat(400)}` }, 206, all],
    [{ Range: "bytes=5-99999999999999999999" }, 206, `5-${size - 1}`],
    [{ Range: `bytes=5-${"9".repeat(400)}` }, 206, `5-${size - 1}`],
    [{ Range: "bytes= 0-4 ," }, 206, "0-4"],
    [{ Range: "bytes=0-4, 9999-" }, 206, "0-4"],
    [{ Range: `bytes=${size}-` }, 416],
    [{ Range: `bytes=${size}-${size + 9}` }, 416],
    [{ Range: `bytes=${"9".repeat(400)}-` }, 416],
    [{ Range: "bytes=-0" }, 416],
    [{ Range: "bytes=-0, 9999-" }, 416],
    [{ Range: "bytes=0-4, 6-9" }, 200],
    [{ Range: "bytes=0-0, -1" }, 200],
    [{ Range: "bytes=5-4" }, 200],
    [{ Range: "bytes=4" }, 200],
    [{ Range: "bytes=-" }, 200],
    [{ Range: "bytes=" }, 200],
    [{ Range: "bytes=," }, 200],
    [{ Range: "bytes=a-b" }, 200],
    [{ Range: "bytes=0x0-4" }, 200],
    [{ Range: "bytes=0 - 4" }, 200],
    [{ Range: "bytes=--5" }, 200],
    [{ Range: "bytes=1.5-4" }, 200],
    [{ Range: "lines=0-4" }, 200],
    [{ Range: "0-4" }, 200],
    [{ Range: "bytes=0-4", "If-Range": modified }, 206, "0-4"],
    [{ Range: "bytes=0-4", "If-Range": after }, 200],
    [{ Range: "bytes=0-4", "If-Range": before }, 200],
    [{ Range: "bytes=0-4", "If-Range": '"x"' }, 200],
    [{ Range: "bytes=0-4", "If-Range": etag }, 206, "0-4"],
    [{ Range: "bytes=0-4", "If-Range": weak }, 200],
    [{ Range: "bytes=9999-", "If-Range": '"x"' }, 200],
  ]; // prettier-ignore
  for (const [sent, status, part] of cases) {
    const name = JSON.stringify(sent).slice(0, 80);
    const got = await ask(sent);
    t.equal(got.status, status, name);
    const [start = 0, end = 0] = (part ?? all).split("-").map(Number);
    if (status < 300) {
      t.equal(got.text, PDF.slice(start, end + 1), name);
      t.equal(got.headers["content-type"], "application/pdf", name);
    }
    const range =
      status === 416
        ? `bytes */${size}`
        : status === 206
          ? `bytes ${part}/${size}`
          : undefined;
    t.equal(got.headers["content-range"], range, name);
    const tagged = status < 400;
    t.equal(got.headers["etag"], tagged ? etag : undefined, name);
    t.equal(got.headers["last-modified"], tagged ? modified : undefined, name);
    if (status === 304) t.notOk("content-length" in got.headers, name);
  }

  const sent: Record<string, string>[] = [
    {},
    { Range: "bytes=0-4" },
    { Range: "bytes=9999-" },
  ];
  for (const headers of sent) {
    const head = await ask(headers, "HEAD");
    const name = `HEAD ${JSON.stringify(headers)}`;
    t.equal(head.status, 200, name);
    t.equal(head.headers["content-length"], String(size), name);
    t.equal(head.text, "", name);
  }
  const known = await ask({ "If-None-Match": etag }, "HEAD");
  t.equal(known.status, 304);
  t.notOk("content-length" in known.headers);
  t.equal((await ask({})).text, PDF, "the connection goes on");
});
