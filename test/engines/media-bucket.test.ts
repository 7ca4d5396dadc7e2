import { pino } from "pino";
import t, { type Test } from "tap";
import { createApp } from "../../app.js";
import { loadConfig } from "../../config.js";
import { openEngines } from "../../db/open.js";
import { S3Files } from "../../db/blobs/bucket/files.js";
import { putDatabase } from "../database.js";
import {
  type Form,
  fileForm,
  follow,
  images,
  MP4,
  PDF,
  SVG,
  upload,
  urlOf,
} from "../files.js";
import { call, listen, until, worldOf } from "../helper.js";
import { type S3Server, startS3 } from "../servers/s3.js";
import { testdir } from "../testdir.js";

let server: S3Server;
t.before(async () => {
  server = await startS3(t);
  Object.assign(process.env, server.variables);
});

/** A server with its files in a bucket of their own. */
async function serve(t: Test, redirect: boolean) {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const engines = await openEngines({ dataDir });
  const options = { ...(await server.newBucket()), redirect };
  const files = await S3Files.open(options, dataDir);
  const lines: string[] = [];
  const app = createApp({
    config: loadConfig({ UPLOAD_MAX_BYTES: "100000000" }),
    engines: {
      ...engines,
      files,
      async close() {
        await files.close();
        await engines.close();
      },
    },
    logger: pino(
      { level: "debug" },
      { write: (line: string) => void lines.push(line) },
    ),
  });
  t.teardown(() => app.close());
  await app.ready();
  const send = (form: Form) =>
    upload({ call: (request) => call(app, request) }, form);
  return { app, send, lines };
}

/** What must be in no line of a log. */
function refuseSecrets(t: Test, lines: readonly string[]): void {
  const secret = server.variables["AWS_SECRET_ACCESS_KEY"]!;
  const told = lines.find(
    (line) => line.includes(secret) || /signature|credential/i.test(line),
  );
  t.equal(told, undefined);
}

void t.test("a file comes as from a folder", async (t) => {
  const { app, send } = await serve(t, false);
  const body = `${PDF}${"x".repeat(100)}`;
  const url = urlOf(await send(fileForm("a.pdf", body)));
  const whole = await follow({ app }, url);
  t.match(whole, {
    status: 200,
    headers: {
      "content-type": "application/pdf",
      "content-length": String(body.length),
      "cache-control": "public, max-age=31536000, immutable",
      "x-content-type-options": "nosniff",
      "content-security-policy": /sandbox/,
      etag: /^"/,
    },
  });
  t.equal(whole.bytes.toString(), body);
  const { etag, "last-modified": modified } = whole.headers;
  const cases: [
    headers: Record<string, string>,
    status: number,
    body: string,
  ][] = [
    [{ range: "bytes=2-5" }, 206, body.slice(2, 6)],
    [{ range: "bytes=-3" }, 206, body.slice(-3)],
    [{ range: "bytes=9999-" }, 416, ""],
    [{ "if-none-match": etag! }, 304, ""],
    [{ "if-modified-since": modified! }, 304, ""],
    [{ "if-match": '"x"' }, 412, ""],
  ];
  for (const [headers, status, part] of cases) {
    const got = await follow({ app }, url, headers);
    t.equal(got.status, status, JSON.stringify(headers));
    if (part !== "") t.equal(got.bytes.toString(), part);
  }
  const head = await follow({ app }, url, {}, "HEAD");
  t.equal(head.headers["content-length"], String(body.length));
});

void t.test("clients are sent to the bucket", async (t) => {
  const { app, send, lines } = await serve(t, true);
  const png = await images.png();
  const sent: [name: string, body: string | Buffer, type: string][] = [
    ["a.png", png, "image/png"],
    ["a.mp4", MP4, "video/mp4"],
  ];
  for (const [name, body, type] of sent) {
    const url = urlOf(await send(fileForm(name, body)));
    const got = await follow({ app }, url);
    t.match(got, {
      status: 302,
      headers: {
        "cache-control": "private, max-age=3000",
        location: new RegExp(`^${server.endpoint}/.*X-Amz-Expires=3600`),
      },
    });
    t.equal(got.headers["content-type"], undefined);
    const link = got.headers["location"]!;
    const whole = await fetch(link);
    t.equal(whole.headers.get("content-type"), type);
    t.match(whole.headers.get("cache-control"), /immutable/);
    const bytes = Buffer.from(await whole.arrayBuffer());
    t.ok(bytes.length > 0);
    const part = await fetch(link, { headers: { range: "bytes=2-5" } });
    t.equal(part.status, 206);
    t.same(Buffer.from(await part.arrayBuffer()), bytes.subarray(2, 6));

    const head = await follow({ app }, url, {}, "HEAD");
    t.match(head, {
      status: 200,
      headers: { "content-type": type, "content-length": `${bytes.length}` },
    });
    const headers = { "if-none-match": head.headers["etag"]! };
    t.equal((await follow({ app }, url, headers)).status, 304);
    t.equal((await follow({ app }, url, { "if-match": '"x"' })).status, 412);
  }
  // A bucket sends no policy with them.
  for (const [name, body] of [
    ["a.svg", SVG],
    ["a.pdf", PDF],
  ] as const) {
    const url = urlOf(await send(fileForm(name, body)));
    const got = await follow({ app }, url);
    t.equal(got.status, 200, name);
    t.equal(got.bytes.toString(), body);
    t.match(got.headers["content-security-policy"], /sandbox/);
  }
  const missing =
    "/media/pub/demo/0f8fad5b-d9cb-469f-a165-70867728950e.AAAAAAAAAAAA.png";
  t.equal((await follow({ app }, missing)).status, 404);
  refuseSecrets(t, lines);
});

void t.test("pages may show what is in the bucket", async (t) => {
  for (const redirect of [false, true]) {
    const { app } = await serve(t, redirect);
    const { headers } = await app.inject({
      url: "/w/demo",
      headers: { accept: "text/html" },
    });
    const policy = String(headers["content-security-policy"]).split("; ");
    for (const rule of ["img-src", "media-src"]) {
      const sources = policy.find((each) => each.startsWith(rule)) ?? "";
      t.equal(sources.split(" ").includes(server.endpoint), redirect, rule);
    }
  }
});

void t.test("the bucket is away", async (t) => {
  const { app, send, lines } = await serve(t, false);
  const url = urlOf(await send(fileForm("a.pdf", PDF)));
  const faults = [
    [() => server.stop(), () => server.restart()],
    [() => server.pause(), () => server.resume()],
  ] as const;
  for (const [begin, end] of faults) {
    await begin();
    const since = performance.now();
    t.match(await send(fileForm("b.pdf", PDF)), {
      status: 503,
      headers: { "retry-after": "5" },
    });
    t.match(await send(fileForm("b.png", await images.png())), { status: 503 });
    for (const method of ["GET", "HEAD"] as const) {
      const got = await follow({ app }, url, {}, method);
      t.match(got, {
        status: 503,
        headers: { "retry-after": "5", "cache-control": undefined },
      });
    }
    t.ok(performance.now() - since < 20_000);
    t.equal((await app.inject("/healthz")).statusCode, 200, "the rest goes on");
    await end();
    t.equal((await follow({ app }, url)).status, 200);
    t.equal((await send(fileForm("b.pdf", PDF))).status, 201);
  }
  refuseSecrets(t, lines);
});

void t.test("an answer is cut when the bucket dies", async (t) => {
  const { app, send, lines } = await serve(t, false);
  const body = Buffer.concat([Buffer.from(PDF), Buffer.alloc(64_000_000)]);
  const url = urlOf(await send(fileForm("a.pdf", body)));
  const port = await listen(app);
  const answer = await fetch(
    new URL(new URL(url).pathname, `http://127.0.0.1:${port}`),
  );
  t.equal(answer.status, 200);
  const reader = answer.body!.getReader();
  await reader.read();
  await server.stop();
  const all = async () => {
    while (!(await reader.read()).done);
  };
  await t.rejects(all(), "it does not end as if it were complete");
  await until(() => lines.some((line) => line.includes("broke off")));
  await server.restart();
});
