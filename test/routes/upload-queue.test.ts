import { once } from "node:events";
import { connect } from "node:net";
import sharp from "sharp";
import t, { type Test } from "tap";
import { loadConfig, type Config } from "../../config.js";
import {
  connectionsOf,
  listen,
  serve,
  until,
  type TestServer,
} from "../helper.js";
import {
  fileForm,
  finished,
  type Form,
  images,
  PDF,
  pngBomb,
  unfinished,
  upload,
  headOf,
} from "../files.js";
import { filesOf } from "../listed.js";

// Uploads that wait, and clients that do not.

const MIB = 1024 * 1024;
const { load, uploads } = loadConfig({});

/** An image that takes seconds to encode again: 96 million pixels. */
const slow = fileForm("a.png", pngBomb(9800, 9800));

async function started(t: Test, config: Partial<Config> = {}) {
  const server = await serve(t, undefined, { config });
  return { ...server, port: await listen(server.app) };
}

/** Sends the beginning of an upload over a socket of its own. */
function begin(t: Test, port: number, form: Form, bytes?: number) {
  const socket = connect(port, "127.0.0.1");
  t.teardown(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(headOf(form));
  socket.write(form.body.subarray(0, bytes));
  return socket;
}

/** The images that wait or are worked on. */
const scratches = async ({ dataDir }: TestServer) =>
  (await unfinished(dataDir)).length;

/** Tells how many bytes an application has given to the store of files. */
function countStored(t: Test, { app: { files } }: TestServer): () => number {
  let count = 0;
  async function* counted(source: AsyncIterable<Uint8Array>) {
    for await (const chunk of source) {
      count += chunk.length;
      yield chunk;
    }
  }
  const put = files.put.bind(files);
  t.capture(files, "put", ((key, source, ...rest) =>
    put(key, counted(source), ...rest)) as typeof put);
  return () => count;
}

/** How many processes this one has started that live. */
const imageProcesses = () =>
  process.getActiveResourcesInfo().filter((name) => name === "ProcessWrap")
    .length;

void t.test("an image whose client is gone leaves the queue", async (t) => {
  const server = await started(t, { load: { ...load, uploads: 3 } });
  const running = begin(t, server.port, slow);
  const answered = once(running, "data") as Promise<[Buffer]>;
  await until(async () => (await scratches(server)) === 1);
  const waiting = [1, 2].map(() => begin(t, server.port, slow));
  await until(async () => (await scratches(server)) === 3);
  t.equal((await upload(server, fileForm("a.pdf", PDF))).status, 503, "full");
  for (const socket of waiting) socket.destroy();
  await until(async () => (await scratches(server)) === 1);
  t.equal(running.bytesRead, 0, "while another is worked on");
  await until(
    async () => (await upload(server, fileForm("a.pdf", PDF))).status === 201,
  );
  t.equal(running.bytesRead, 0, "and its slot is free");
  const [answer] = await answered;
  t.match(answer.toString(), /^HTTP\/1.1 201 /, "who stays is answered");
});

void t.test("an image that is worked on keeps its slot", async (t) => {
  // The processes of other tests have been asked to end.
  await until(() => imageProcesses() === 0);
  const server = await started(t, { load: { ...load, uploads: 1 } });
  const running = begin(t, server.port, slow);
  await until(() => imageProcesses() === 1);
  running.destroy();
  await until(async () => (await connectionsOf(server.app)) === 0);
  const next = await upload(server, fileForm("a.pdf", PDF));
  t.equal(next.status, 503, "it is not done yet");
  await until(
    async () => (await upload(server, fileForm("a.pdf", PDF))).status === 201,
  );
  t.equal(await scratches(server), 0);
  t.equal((await finished(server.dataDir)).length, 1, "the image is dropped");
});

void t.test("a client that hangs up gives its slot back", async (t) => {
  const server = await started(t, { load: { ...load, uploads: 1 } });
  const form = fileForm("a.pdf", PDF.padEnd(2 * MIB, "x"));
  const image = fileForm("a.png", await images.png(3000, 3000));
  const { length } = form.body;
  const cases: [name: string, form: Form, bytes: number][] = [
    ["before the body", form, 0],
    ["in the first boundary", form, 5],
    ["in the head of the part", form, 60],
    ["in what is looked at", form, 30_000],
    ["in the bytes", form, MIB],
    ["in the last boundary", form, length - 10],
    ["before its dashes", form, length - 4],
    ["after everything", form, length],
    ["in an image", image, 300],
    ["after an image", image, image.body.length],
    ["in a file of a wrong type", fileForm("a.exe", "x".repeat(MIB)), 1000],
    ["in a second part", { ...form, body: Buffer.concat([form.body.subarray(0, -4), Buffer.from("\r\nx")]) }, length - 2],
  ]; // prettier-ignore
  for (const [name, form, bytes] of cases) {
    const requested = once(server.app.server, "request");
    const socket = begin(t, server.port, form, bytes);
    await requested;
    if (bytes === MIB) await until(async () => (await scratches(server)) > 0);
    socket.destroy();
    await until(
      async () => (await upload(server, fileForm("a.pdf", PDF))).status === 201,
    );
    t.equal(await scratches(server), 0, name);
  }
  // What arrived whole may be kept.
  const sizes = (await filesOf(server.store, "demo")).map(({ size }) => size);
  const kept = sizes.filter((size) => size !== PDF.length);
  t.ok(kept.length <= 2, `${kept.join()} bytes are kept`);
});

void t.test("an image that grows over the limit", async (t) => {
  const noise = Buffer.alloc(300 * 300 * 3);
  let state = 1;
  for (let i = 0; i < noise.length; i++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    noise[i] = state >> 16;
  }
  const raw = { width: 300, height: 300, channels: 3 } as const;
  const small = await sharp(noise, { raw }).jpeg({ quality: 20 }).toBuffer();
  const again = await sharp(small).jpeg({ quality: 90 }).toBuffer();
  t.ok(again.length > small.length + 1000, "it grows");
  const form = fileForm("a.jpg", small);
  const size = { error: "file.size" };

  const limited = await serve(t, undefined, {
    config: { uploads: { ...uploads, maxBytes: small.length + 100 } },
  });
  const refused = await upload(limited, form);
  t.strictSame([refused.status, refused.body], [400, size], "of a file");
  t.strictSame(await unfinished(limited.dataDir), []);
  t.strictSame(await finished(limited.dataDir), []);

  const full = await serve(t, undefined, {
    config: { uploads: { ...uploads, worldMaxBytes: small.length + 100 } },
  });
  const none = await upload(full, form);
  t.strictSame([none.status, none.body], [400, size], "of a world");
  t.equal(await full.store.files.size("demo"), 0);
  t.strictSame(await finished(full.dataDir), []);
});

void t.test("what is under way counts for the quota", async (t) => {
  const server = await started(t, {
    uploads: { ...uploads, worldMaxBytes: 3 * MIB },
  });
  const form = fileForm("a.pdf", PDF.padEnd(2 * MIB, "x"));
  const stored = countStored(t, server);
  const first = begin(t, server.port, form, form.body.length - 100);
  // With less, the first could still be the one that passes the limit.
  await until(() => stored() > MIB);
  const second = await upload(server, form);
  t.equal(second.status, 400, "the second does not fit beside the first");
  t.strictSame(second.body, { error: "file.size" });
  const answered = once(first, "data") as Promise<[Buffer]>;
  first.write(form.body.subarray(form.body.length - 100));
  t.match((await answered)[0].toString(), /^HTTP\/1.1 201 /);

  const half = begin(
    t,
    server.port,
    fileForm("b.pdf", PDF.padEnd(900_000)),
    800_000,
  );
  await until(async () => (await scratches(server)) > 0);
  half.destroy();
  await until(async () => (await scratches(server)) === 0);
  const fits = fileForm("a.pdf", PDF.padEnd(MIB, "x"));
  await until(async () => (await upload(server, fits)).status === 201);
  t.equal(await server.store.files.size("demo"), 3 * MIB, "to the last byte");
});
