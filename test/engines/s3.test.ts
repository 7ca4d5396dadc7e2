import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { buffer, text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import {
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from "@aws-sdk/client-s3";
import t, { type Test } from "tap";
import type { BucketOptions } from "../../db/choice.js";
import { check } from "../../db/maintenance/check.js";
import { S3Files } from "../../db/blobs/bucket/files.js";
import { StoreError } from "../../db/contract/store.js";
import { openStore } from "../database.js";
import { until, worldOf } from "../helper.js";
import { PATIENCE } from "../patience.js";
import { type S3Server, startS3 } from "../servers/s3.js";
import { testdir } from "../testdir.js";
import { fileStoreContract, pieces, untold } from "../db/file-contract.js";

let server: S3Server;
t.before(async () => {
  server = await startS3(t);
  Object.assign(process.env, server.variables);
});

async function filesIn(t: Test, options: BucketOptions): Promise<S3Files> {
  const files = await S3Files.open(options, testdir(t));
  t.teardown(() => files.close());
  return files;
}

/** All that is in a bucket: the keys of objects, and of uploads that are not complete. */
async function contentOf(options: BucketOptions): Promise<string[]> {
  const client = new S3Client(options);
  const Bucket = options.bucket;
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket }),
  );
  const { Uploads = [] } = await client.send(
    new ListMultipartUploadsCommand({ Bucket }),
  );
  client.destroy();
  return [
    ...Contents.map(({ Key }) => Key!),
    ...Uploads.map(({ Key }) => `part of ${Key}`),
  ];
}

async function* megabytes(count: number): AsyncGenerator<Buffer> {
  for (let i = 0; i < count; i++) yield Buffer.alloc(1024 * 1024, i);
}

/** Runs s3-child.ts. */
function childAt(t: Test, moment: string, { bucket }: BucketOptions) {
  const child = spawn(
    process.execPath,
    [
      "--expose-gc",
      fileURLToPath(new URL("s3-child.js", import.meta.url)),
      moment,
      testdir(t),
    ],
    {
      env: { ...process.env, ...server.variables, S3_BUCKET: bucket },
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  t.teardown(() => child.kill("SIGKILL"));
  return child;
}

void t.test("a bucket", async (t) =>
  fileStoreContract(t, async (t) => filesIn(t, await server.newBucket())),
);

void t.test("what refuses at the start", async (t) => {
  const { options, variables } = server;
  const secret = variables["AWS_SECRET_ACCESS_KEY"]!;
  const cases: [options: Partial<BucketOptions>, env: object, says: RegExp][] =
    [
      [
        { bucket: "not-there" },
        {},
        /^S3_BUCKET: .*not-there at .*: there is no such bucket$/,
      ],
      [
        {},
        { AWS_SECRET_ACCESS_KEY: "wrong" },
        /secret access key is wrong; see AWS_SECRET_ACCESS_KEY$/,
      ],
      [
        {},
        { AWS_ACCESS_KEY_ID: "wrong" },
        /(does not know the access key|404 XAdminUserNotFound)$/,
      ],
      [{ endpoint: "http://127.0.0.1:1" }, {}, /ECONNREFUSED/],
    ];
  for (const [changes, env, says] of cases) {
    Object.assign(process.env, env);
    const opening = S3Files.open({ ...options, ...changes }, testdir(t));
    await t.rejects(opening, { problem: "unusable", message: says });
    const { message } = (await opening.catch(
      (error: unknown) => error,
    )) as Error;
    t.notMatch(message, /\n/, "one line");
    t.notOk(message.includes(secret) || message.includes("Signature="));
    Object.assign(process.env, variables);
  }
});

/** Tests that mostly wait, and run side by side. */
const sideBySide: [name: string, run: (t: Test) => Promise<void>][] = [];
const side = (...test: (typeof sideBySide)[number]) => sideBySide.push(test);

side("a client that vanishes leaves nothing", async (t) => {
  const options = await server.newBucket();
  const files = await filesIn(t, options);
  const gone = new Error("gone");
  const source = async function* () {
    yield* megabytes(12);
    throw gone;
  };
  await t.rejects(files.put("a", source(), untold), gone);
  await files.close();
  t.strictSame(await contentOf(options), []);
});

side("files of every size around the size of a part", async (t) => {
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
  const options = await server.newBucket();
  const files = await filesIn(t, options);
  const doubtful = new StoreError("doubtful", "x");
  for (const key of ["known", "unknown"]) {
    const put = files.put(key, megabytes(1), () => Promise.reject(doubtful));
    await t.rejects(put, doubtful);
    t.ok(await files.open(key));
  }
  // The process that left them sweeps them itself, while it goes on.
  await files.put("other", megabytes(1), untold);
  await sweepUntil(files, options, ["known"], ["known", "other"]);
});

/** Sweeps as a server does, until nothing else is left. */
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
    const left = (await contentOf(options)).filter(
      (key) => !key.endsWith("/alive"),
    );
    return left.join() === expected.join();
  });
}

side("what killed processes leave is swept", async (t) => {
  const options = await server.newBucket();
  const files = await filesIn(t, options);
  await files.put("other", megabytes(30), untold);
  const unread = (await (await files.open("other"))!.read())!;
  await once(unread, "readable");
  const moments = [
    "in the middle of an upload",
    "before the record",
    "after the record",
    "in the middle of a deletion",
  ];
  const children = moments.map((moment) => childAt(t, moment, options));
  const stopped = childAt(t, "stopped for a while", options);
  await Promise.all(
    [...children, stopped].map((child) => once(child.stdout, "data")),
  );
  await until(async () =>
    (await contentOf(options)).includes("part of upload"),
  );
  const before = await contentOf(options);
  const next = await files.sweep(async () => false);
  t.strictSame(await contentOf(options), before, "while they live");
  t.ok(next <= 12_000, "and it says when to look again");

  for (const child of children) child.kill("SIGKILL");
  stopped.kill("SIGSTOP");
  const killed = performance.now();
  const left = ["kept", "other", "recorded"];
  await sweepUntil(files, options, left, left);
  t.ok(performance.now() - killed < 15_000 * PATIENCE);
  t.equal((await files.unsettled()).size, 0);
  const told = text(stopped.stdout);
  stopped.kill("SIGCONT");
  stopped.stdin.write("go on");
  t.equal(await told, "unusable", "nothing is recorded that others swept");
  await sweepUntil(files, options, left, left);
  // That took longer than the server may take to send something.
  t.equal((await buffer(unread)).length, 30 * 1024 * 1024, "a slow reader");
});

side("a large file takes little memory", async (t) => {
  const options = await server.newBucket();
  const child = childAt(t, "with a large file", options);
  const { most, size } = JSON.parse(await text(child.stdout)) as {
    most: number;
    size: number;
  };
  t.equal(size, 200 * 1024 * 1024);
  t.ok(most < 120 * 1024 * 1024, `${most} bytes more`);
  const files = await filesIn(t, options);
  let read = 0;
  for await (const chunk of (await (await files.open("large"))!.read())!) {
    read += (chunk as Buffer).length;
  }
  t.equal(read, size);
});

side("a clock that is wrong", async (t) => {
  const options = await server.newBucket();
  const child = childAt(t, "with a wrong clock", options);
  const answer = await fetch(await text(child.stdout));
  t.equal(answer.status, 200);
  t.equal(answer.headers.get("content-type"), "text/x-a");
  t.equal(answer.headers.get("cache-control"), "no-store");
  t.equal((await answer.arrayBuffer()).byteLength, 1024 * 1024);
});

side("a check", async (t) => {
  const options = await server.newBucket();
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  const files = await filesIn(t, options);
  await store.worlds.create(worldOf("demo"));
  const uploader = { clientId: "guest", traits: new Set<string>() };
  const keys = Array.from({ length: 4 }, (_, i) => `pub/demo/${i}.x.pdf`);
  for (const key of keys) {
    await files.put(key, pieces(Buffer.from("bytes")), (stored) =>
      store.files.add("demo", uploader, { key, ...stored }, 1e9),
    );
  }
  const found = async () =>
    (await check({ dataDir, bucket: options }, () => {})).findings.map(
      ({ subject, problem }) => `${subject} ${problem}`,
    );
  t.strictSame(await found(), []);

  await files.put(keys[0]!, pieces(Buffer.from("xxxxx")), untold);
  await files.put(keys[1]!, pieces(Buffer.from("x")), untold);
  await files.remove(keys[2]!);
  const orphans = ["a", "pub/demo/3.a", "pub/demo/3.y", "z"];
  for (const key of orphans) {
    await files.put(key, pieces(Buffer.from("x")), untold);
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

void t.test("side by side", { jobs: 8 }, async (t) => {
  for (const [name, run] of sideBySide) {
    void t.test(name, { buffered: true }, run);
  }
});

void t.test("the server is away, or does not answer", async (t) => {
  const options = await server.newBucket();
  const files = await filesIn(t, options);
  await files.put("a", megabytes(1), untold);
  const faults: [name: string, begin: () => unknown, end: () => unknown][] = [
    ["away", () => server.stop(), () => server.restart()],
    ["silent", () => server.pause(), () => server.resume()],
  ];
  for (const [name, begin, end] of faults) {
    await begin();
    const since = performance.now();
    const calls = [
      files.put("b", pieces(Buffer.from("x")), untold),
      files.open("a"),
      // The server may do it when it is back.
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
    t.ok(performance.now() - since < 6000, `${name}: at once`);
    await end();
    t.ok(await files.open("a"), `${name}: and back`);
    await files.put(name, pieces(Buffer.from("x")), untold);
  }
});

void t.test("the server falls silent in the middle of a file", async (t) => {
  const options = await server.newBucket();
  const files = await filesIn(t, options);
  await files.put("a", megabytes(64), untold);
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
  await sweepUntil(files, options, ["a"], ["a"]);
});
