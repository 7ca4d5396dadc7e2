import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer, text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { ListMultipartUploadsCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { pino } from "pino";
import t, { type Test } from "tap";
import { S3Files } from "../../../db/blobs/bucket/s3-files.js";
import type { BucketOptions } from "../../../db/choice.js";
import { StoreError } from "../../../db/contract/store.js";
import { check } from "../../../db/maintenance/check.js";
import { openEngines } from "../../../db/open.js";
import { openStore, putDatabase } from "../../support/database.js";
import {
  fileForm,
  follow,
  type Form,
  images,
  MP4,
  PDF,
  SVG,
  upload,
  urlOf,
} from "../../support/files.js";
import { call, until, worldOf } from "../../support/helper.js";
import { NIGHT } from "../../support/night.js";
import { startServer } from "../../support/server.js";
import { type S3Server, startS3 } from "../../support/servers/s3.js";
import { NO_SERVERS } from "../../support/shared.js";
import { testdir } from "../../support/testdir.js";
import { fileStoreContract, pieces, noop } from "../db/file-contract.js";

// A separate server, because tests stop it.

const options = { skip: NO_SERVERS };
let server: S3Server;
t.before(async () => {
  if (NO_SERVERS) return;
  server = await startS3(t);
  Object.assign(process.env, server.variables);
});

async function filesIn(t: Test, options: BucketOptions): Promise<S3Files> {
  const files = await S3Files.open(options, testdir(t));
  t.teardown(() => files.close());
  return files;
}

/** Lists a bucket: the keys of its objects and of its incomplete uploads. */
async function contentOf(options: BucketOptions): Promise<string[]> {
  const client = new S3Client(options);
  const Bucket = options.bucket;
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
  client.destroy();
  return [...Contents.map(({ Key }) => Key!), ...Uploads.map(({ Key }) => `part of ${Key}`)];
}

async function* megabytes(count: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(1024 * 1024, i);
}

/** Runs s3-child.ts, which must not fail: it either exits by itself or is killed. */
function childAt(t: Test, moment: string, { bucket }: BucketOptions) {
  const child = spawn(
    process.execPath,
    ["--expose-gc", fileURLToPath(new URL("s3-child.js", import.meta.url)), moment, testdir(t)],
    {
      env: { ...process.env, ...server.variables, S3_BUCKET: bucket },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  child.once("exit", (code) => code && t.fail(`the process ${moment} exits with ${code}`));
  t.teardown(() => child.kill("SIGKILL"));
  return child;
}

void t.test("a bucket", options, async (t) =>
  fileStoreContract(t, async (t) => filesIn(t, await server.newBucket())),
);

void t.test("what refuses at the start", options, async (t) => {
  const { variables } = server;
  const secret = variables["AWS_SECRET_ACCESS_KEY"]!;
  const cases: [changes: Partial<BucketOptions>, env: object, says: RegExp][] = [
    [{ bucket: "not-there" }, {}, /^S3_BUCKET: .*not-there at .*: there is no such bucket$/],
    [{}, { AWS_SECRET_ACCESS_KEY: "wrong" }, /key is wrong; see AWS_SECRET_ACCESS_KEY$/],
    [{}, { AWS_ACCESS_KEY_ID: "wrong" }, /(does not know the access key|404 XAdminUserNotFound)$/],
    [{ endpoint: "http://127.0.0.1:1" }, {}, /ECONNREFUSED/],
  ];
  for (const [changes, env, says] of cases) {
    Object.assign(process.env, env);
    const opening = S3Files.open({ ...server.options, ...changes }, testdir(t));
    await t.rejects(opening, { problem: "unusable", message: says });
    const { message } = (await opening.catch((error: unknown) => error)) as Error;
    t.notMatch(message, /\n/, "one line");
    t.notOk(message.includes(secret) || message.includes("Signature="));
    Object.assign(process.env, variables);
  }
});

/**
 * Tests that mostly wait, and so run concurrently. Other tests must not: a process that cannot
 * renew its notes for five seconds, for example on a busy machine, rejects its uploads.
 */
const sideBySide: [name: string, run: (t: Test) => Promise<void>][] = [];
const side = (...test: (typeof sideBySide)[number]) => sideBySide.push(test);

void t.test("a client that vanishes leaves nothing", options, async (t) => {
  const bucket = await server.newBucket();
  const files = await filesIn(t, bucket);
  const gone = new Error("gone");
  const source = async function* () {
    yield* megabytes(12);
    throw gone;
  };
  await t.rejects(files.put("a", source(), noop), gone);
  await files.close();
  t.strictSame(await contentOf(bucket), []);
});

void t.test("files of every size around the size of a part", options, async (t) => {
  const files = await filesIn(t, await server.newBucket());
  const part = 5 * 1024 * 1024;
  const sizes = [0, 1, part - 1, part, part + 1, 2 * part, 3 * part + 1];
  for (const size of sizes) {
    const bytes = randomBytes(size);
    for (const pieceSize of [100_000, size + 1]) {
      const source = async function* () {
        for (let at = 0; at < size; at += pieceSize) {
          yield bytes.subarray(at, at + pieceSize);
        }
      };
      await files.put("a", source(), async (stored) => {
        t.equal(stored.size, size);
      });
      const file = (await files.open("a"))!;
      t.equal(file.size, size);
      t.ok((await buffer((await file.read())!)).equals(bytes), `${size} bytes`);
    }
  }
});

side("a doubtful record is left to a sweep", async (t) => {
  const bucket = await server.newBucket();
  const files = await filesIn(t, bucket);
  const doubtful = new StoreError("doubtful", "x");
  for (const key of ["known", "unknown"]) {
    const put = files.put(key, megabytes(1), () => Promise.reject(doubtful));
    await t.rejects(put, doubtful);
    t.ok(await files.open(key));
  }
  // The process that left the files sweeps them itself while it keeps running.
  await files.put("other", megabytes(1), noop);
  await sweepUntil(files, bucket, ["known"], ["known", "other"]);
});

/** Sweeps like a server until only the expected files are left. */
async function sweepUntil(
  files: S3Files,
  options: BucketOptions,
  recorded: readonly string[],
  expected: readonly string[],
): Promise<void> {
  let again = 0;
  await until(async () => {
    if (performance.now() >= again) {
      const wait = await files.sweep(async (key) => recorded.includes(key));
      again = performance.now() + wait;
    }
    const left = (await contentOf(options)).filter((key) => !key.endsWith("/alive"));
    return left.join() === expected.join();
  });
}

side("what killed processes leave is swept", async (t) => {
  const bucket = await server.newBucket();
  const files = await filesIn(t, bucket);
  await files.put("other", megabytes(30), noop);
  const unread = (await (await files.open("other"))!.read())!;
  await once(unread, "readable");
  const moments = [
    "in the middle of an upload",
    "before the record",
    "after the record",
    "in the middle of a deletion",
  ];
  const children = moments.map((moment) => childAt(t, moment, bucket));
  const stopped = childAt(t, "stopped for a while", bucket);
  await Promise.all([...children, stopped].map((child) => once(child.stdout, "data")));
  await until(async () => (await contentOf(bucket)).includes("part of upload"));
  const before = await contentOf(bucket);
  const next = await files.sweep(async () => false);
  t.strictSame(await contentOf(bucket), before, "while they live");
  t.ok(next <= 12_000, "and it says when to look again");

  for (const child of children) child.kill("SIGKILL");
  stopped.kill("SIGSTOP");
  const killed = performance.now();
  const left = ["kept", "other", "recorded"];
  await sweepUntil(files, bucket, left, left);
  if (NIGHT) t.ok(performance.now() - killed < 15_000);
  t.equal((await files.unsettled()).size, 0);
  const told = text(stopped.stdout);
  stopped.kill("SIGCONT");
  stopped.stdin.write("go on");
  t.equal(await told, "unusable", "nothing is recorded that others swept");
  await sweepUntil(files, bucket, left, left);
  // By now, more time has passed than the timeout for the server's next chunk.
  t.equal((await buffer(unread)).length, 30 * 1024 * 1024, "a slow reader");
});

side("a clock that is wrong", async (t) => {
  const bucket = await server.newBucket();
  const child = childAt(t, "with a wrong clock", bucket);
  const answer = await fetch(await text(child.stdout));
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("content-type"), "text/x-a");
  t.equal(answer.headers.get("cache-control"), "no-store");
  t.equal((await answer.arrayBuffer()).byteLength, 1024 * 1024);
});

void t.test("a check", options, async (t) => {
  const bucket = await server.newBucket();
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const files = await filesIn(t, bucket);
  await store.worlds.create(worldOf("demo"));
  const uploader = { clientId: "guest", traits: new Set<string>() };
  const keys = Array.from({ length: 4 }, (_, i) => `pub/demo/${i}.x.pdf`);
  for (const key of keys) {
    await files.put(key, pieces(Buffer.from("bytes")), (stored) =>
      store.files.add("demo", uploader, { key, ...stored }, 1e9),
    );
  }
  const found = async () =>
    (await check({ dataDir, bucket }, () => {})).findings.map(
      ({ subject, problem }) => `${subject} ${problem}`,
    );
  t.strictSame(await found(), []);

  await files.put(keys[0]!, pieces(Buffer.from("xxxxx")), noop);
  await files.put(keys[1]!, pieces(Buffer.from("x")), noop);
  await files.remove(keys[2]!);
  const orphans = ["a", "pub/demo/3.a", "pub/demo/3.y", "z"];
  for (const key of orphans) {
    await files.put(key, pieces(Buffer.from("x")), noop);
  }
  await files.identify();
  await files.put("pub/demo/new", pieces(Buffer.from("x")), async () => {
    t.strictSame(await found(), [
      `${keys[0]} has the wrong checksum`,
      `${keys[1]} has 1 bytes, but its record says 5`,
      `${keys[2]} is missing`,
      ...orphans.map((key) => `${key} has no record`),
    ]);
  });
});

void t.test("side by side", { ...options, jobs: 8 }, async (t) => {
  for (const [name, run] of sideBySide) {
    void t.test(name, { buffered: true }, run);
  }
});

void t.test("a large file takes little memory", options, async (t) => {
  const bucket = await server.newBucket();
  const child = childAt(t, "with a large file", bucket);
  const { most, size } = JSON.parse(await text(child.stdout)) as Record<"most" | "size", number>;
  t.equal(size, 200 * 1024 * 1024);
  t.ok(most < 120 * 1024 * 1024, `${most} bytes more`);
  const files = await filesIn(t, bucket);
  let read = 0;
  for await (const chunk of (await (await files.open("large"))!.read())!) {
    read += (chunk as Buffer).length;
  }
  t.equal(read, size);
});

void t.test("the server is away, or does not answer", options, async (t) => {
  const bucket = await server.newBucket();
  const files = await filesIn(t, bucket);
  await files.put("a", megabytes(1), noop);
  const faults: [name: string, begin: () => unknown, end: () => unknown][] = [
    ["away", () => server.stop(), () => server.restart()],
    ["silent", () => server.pause(), () => server.resume()],
  ];
  for (const [name, begin, end] of faults) {
    await begin();
    const since = performance.now();
    const calls = [
      files.put("b", pieces(Buffer.from("x")), noop),
      files.open("a"),
      // The server may still execute this once it is back.
      files.remove("never there"),
      files.discard(["a"], () => Promise.reject(new Error("too far"))),
      files.sweep(async () => false),
      files.unsettled(),
      files.identify(),
    ];
    for (const result of await Promise.allSettled(calls)) {
      const expected = { name: "StoreError", problem: "unusable" };
      t.match(result, { reason: expected }, name);
    }
    if (NIGHT) t.ok(performance.now() - since < 6000, `${name}: at once`);
    await end();
    t.ok(await files.open("a"), `${name}: and back`);
    await files.put(name, pieces(Buffer.from("x")), noop);
  }
});

void t.test("the server falls silent in the middle of a file", options, async (t) => {
  const bucket = await server.newBucket();
  const files = await filesIn(t, bucket);
  await files.put("a", megabytes(64), noop);
  const stream = (await (await files.open("a"))!.read())!;
  const cut = once(stream, "error") as Promise<[Error]>;
  const paused = once(stream, "data").then(() => server.pause());
  let isRecorded = false;
  const source = async function* () {
    yield* megabytes(7);
    await paused;
    yield* megabytes(7);
  };
  const put = files.put("b", source(), async () => {
    isRecorded = true;
  });
  const refused = t.rejects(put, { name: "StoreError", problem: "unusable" });
  t.match((await cut)[0], { message: /stopped coming/ }, "a stream fails");
  await refused;
  t.notOk(isRecorded);
  server.resume();
  await sweepUntil(files, bucket, ["a"], ["a"]);
});

// Media that a server stores in a bucket.

/** Starts a server that stores its files in a new bucket. */
async function serve(t: Test, redirect: boolean) {
  const dataDir = testdir(t);
  await putDatabase(dataDir, [worldOf("demo")]);
  const engines = await openEngines({ dataDir });
  const files = await S3Files.open({ ...(await server.newBucket()), redirect }, dataDir);
  const close = async () => {
    await files.close();
    await engines.close();
  };
  const lines: string[] = [];
  const { app } = await startServer(t, {
    dataDir,
    engines: { ...engines, files, close },
    env: { UPLOAD_MAX_BYTES: "100000000" },
    logger: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
  });
  const send = (form: Form) => upload({ call: (request) => call(app, request) }, form);
  return { app, send, lines };
}

/** Checks that no log line contains a secret. */
function refuseSecrets(t: Test, lines: readonly string[]): void {
  const secret = server.variables["AWS_SECRET_ACCESS_KEY"]!;
  const told = lines.find((line) => line.includes(secret) || /signature|credential/i.test(line));
  t.equal(told, undefined);
}

void t.test("clients are sent to the bucket", options, async (t) => {
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
  // Buckets do not send a content security policy with these files.
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
  const missing = "/media/pub/demo/0f8fad5b-d9cb-469f-a165-70867728950e.AAAAAAAAAAAA.png";
  t.equal((await follow({ app }, missing)).status, 404);
  refuseSecrets(t, lines);
});

void t.test("pages may show what is in the bucket", options, async (t) => {
  for (const redirect of [false, true]) {
    const { app } = await serve(t, redirect);
    const { headers } = await app.inject({ url: "/w/demo", headers: { accept: "text/html" } });
    const policy = String(headers["content-security-policy"]).split("; ");
    for (const rule of ["img-src", "media-src"]) {
      const sources = policy.find((each) => each.startsWith(rule)) ?? "";
      t.equal(sources.split(" ").includes(server.endpoint), redirect, rule);
    }
  }
});

void t.test("the bucket is away", options, async (t) => {
  const { app, send, lines } = await serve(t, false);
  const url = urlOf(await send(fileForm("a.pdf", PDF)));
  const faults = [
    [() => server.stop(), () => server.restart()],
    [() => server.pause(), () => server.resume()],
  ] as const;
  for (const [begin, end] of faults) {
    await begin();
    const since = performance.now();
    t.match(await send(fileForm("b.pdf", PDF)), { status: 503, headers: { "retry-after": "5" } });
    t.match(await send(fileForm("b.png", await images.png())), { status: 503 });
    for (const method of ["GET", "HEAD"] as const) {
      const got = await follow({ app }, url, {}, method);
      t.match(got, { status: 503, headers: { "retry-after": "5", "cache-control": undefined } });
    }
    if (NIGHT) t.ok(performance.now() - since < 20_000);
    t.equal((await app.inject("/healthz")).statusCode, 200, "the rest goes on");
    await end();
    t.equal((await follow({ app }, url)).status, 200);
    t.equal((await send(fileForm("b.pdf", PDF))).status, 201);
  }
  refuseSecrets(t, lines);
});

void t.test("an answer is cut when the bucket dies", options, async (t) => {
  const { app, send, lines } = await serve(t, false);
  const body = Buffer.concat([Buffer.from(PDF), Buffer.alloc(64_000_000)]);
  const url = urlOf(await send(fileForm("a.pdf", body)));
  const { port } = app.server.address() as AddressInfo;
  const answer = await fetch(new URL(new URL(url).pathname, `http://127.0.0.1:${port}`));
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

// Responses that no S3 server sends.

type Answering = (response: ServerResponse, request: IncomingMessage) => void;

const DATE = "Mon, 23 Nov 2026 00:00:00 GMT";

const answer =
  (body: string, headers: Record<string, string> = {}): Answering =>
  (response) =>
    void response.writeHead(200, headers).end(body);

const list = (inside: string) =>
  answer(`<?xml version="1.0"?><ListBucketResult>${inside}</ListBucketResult>`);

const object = (inside: string) => list(`<Name>b</Name><Contents>${inside}</Contents>`);

const SIZE = "<Size>1</Size>";
const TIME = "<LastModified>2026-11-23T00:00:00.000Z</LastModified>";

/** Responses to a listing of the notes, which opening a bucket requests. */
const lists: Record<string, Answering> = {
  "a page for people": answer("<html><body>Log in</body></html>"),
  "nothing at all": answer(""),
  "no XML": answer("{}"),
  "half of an answer": answer("<ListBucketResult><Name>b</Name><Cont"),
  "an object without a name": object(SIZE + TIME),
  "an object without a size": object(`<Key>work/a/b.note</Key>${TIME}`),
  "a size that is no number": object(`<Key>work/a/b.note</Key><Size>x</Size>${TIME}`),
  "a size below zero": object(`<Key>work/a/b.note</Key><Size>-1</Size>${TIME}`),
  "an object without a time": object(`<Key>work/a/b.note</Key>${SIZE}`),
  "more to come, but not where": list("<Name>b</Name><IsTruncated>true</IsTruncated>"),
  "the same page for ever": list(
    "<Name>b</Name><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>",
  ),
};

/** Responses to a HEAD request for a file. */
const heads: Record<string, Answering> = {
  "no size": (response) => {
    response.writeHead(200, { "last-modified": DATE });
    response.end();
  },
  "no time": answer("", { "content-length": "5" }),
  "a time that is none": answer("", { "content-length": "5", "last-modified": "yesterday" }),
};

/** Responses to a read of five bytes. */
const bodies: Record<string, Answering> = {
  "the whole object": answer("more than five bytes", { "content-length": "20" }),
  "as many as come": answer("five!"),
};

/** Invalid contents of the file that identifies a bucket. */
const identities: Record<string, Answering> = {
  "no JSON": answer("x"),
  "a list": answer("[]"),
  "no id": answer("{}"),
};

const empty = list("<Name>b</Name><IsTruncated>false</IsTruncated>");

/** Opens a bucket on a server whose responses the test chooses. */
async function openAnswered(t: Test, first: Answering = empty) {
  let next = first;
  const server = createServer((request, response) => {
    request.resume().once("end", () => next(response, request));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  process.env.AWS_ACCESS_KEY_ID ??= "a";
  process.env.AWS_SECRET_ACCESS_KEY ??= "b";
  const { port } = server.address() as AddressInfo;
  const files = await S3Files.open(
    {
      bucket: "b",
      endpoint: `http://127.0.0.1:${port}`,
      region: "us-east-1",
      forcePathStyle: true,
      redirect: false,
    },
    testdir(t),
  );
  t.teardown(() => files.close());
  return { files, say: (answering: Answering) => void (next = answering) };
}

const refused = {
  name: "StoreError",
  problem: "unusable",
  message: /^S3_BUCKET: cannot use the bucket b at [^\n]+$/,
};

void t.test("a list", async (t) => {
  for (const [name, answering] of Object.entries(lists)) {
    await t.rejects(openAnswered(t, answering), refused, name);
  }
});

void t.test("a file", async (t) => {
  const { files, say } = await openAnswered(t);
  for (const [name, answering] of Object.entries(heads)) {
    say(answering);
    await t.rejects(files.open("a"), refused, name);
  }
  say(answer("", { "content-length": "5", "last-modified": DATE }));
  const file = (await files.open("a"))!;
  for (const [name, answering] of Object.entries(bodies)) {
    say(answering);
    await t.rejects(file.read({ start: 0, end: 4 }), refused, name);
  }
  say(answer("five!", { "content-length": "5" }));
  t.ok(await file.read({ start: 0, end: 4 }));
});

void t.test("the name of the bucket", async (t) => {
  const { files, say } = await openAnswered(t);
  for (const [name, answering] of Object.entries(identities)) {
    say(answering);
    await t.rejects(files.identify(), { name: "StoreError", problem: "unusable" }, name);
  }
});

void t.test("a server that takes all and keeps nothing", async (t) => {
  const { files, say } = await openAnswered(t);
  say(answer(""));
  const put = files.put("a", pieces(Buffer.from("x")), noop);
  await t.rejects(put, refused);
});

void t.test("a part is refused while the next one has yet to come", async (t) => {
  const { files, say } = await openAnswered(t);
  const begun = answer(
    "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
  );
  say((response, request) => {
    if (/[?&]uploads/.test(request.url!)) return begun(response, request);
    if (!request.url!.includes("partNumber")) return void response.end();
    response.writeHead(403).end("<Error><Code>AccessDenied</Code></Error>");
  });
  let goOn = () => {};
  const source = async function* () {
    yield Buffer.alloc(6 * 1024 * 1024);
    await new Promise<void>((resolve) => (goOn = resolve));
  };
  await t.rejects(files.put("a", source(), noop), refused);
  goOn();
});

void t.test("a note that no Foyer has written", async (t) => {
  const { files, say } = await openAnswered(t);
  say(object(`<Key>work/a/%E0%A4%A.note</Key>${SIZE}${TIME}`));
  t.strictSame([...(await files.unsettled())], []);
});
