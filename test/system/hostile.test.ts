import { readFileSync } from "node:fs";
import { connect } from "node:net";
import fc from "fast-check";
import t, { type Test } from "tap";
import { LocalFiles } from "../../db/blobs/folder/files.js";
import { conversation } from "../hostile-requests.js";
import { answersIn, checkAnswer, converse } from "../hostile.js";
import { fileForm, PDF } from "../files.js";
import {
  admin,
  dial,
  rawRequest,
  serve,
  startFoyer,
  tokenOf,
  keyOf,
  worldOf,
  type ServerProcess,
  type Wire,
} from "../helper.js";
import { openStore } from "../database.js";
import { testdir } from "../testdir.js";

// SEED=… tries the same again, RUNS=… longer (`npm run fuzz`).

const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31);
const numRuns = Number(process.env.RUNS ?? 100);
t.comment(`SEED=${seed} RUNS=${numRuns}`);

/** After how many milliseconds it is enough, where no rate is documented. */
const TIME = process.env.RUNS === undefined ? 12_000 : 2 ** 31 - 1;

/** How many have conversations at a time. */
const LANES = 4;

/** How large the server may become, in MiB; its heap is held to less than half of that. */
const MAX_RSS = 512;

/** A server in a process of its own, with little memory, a world to attack and one that is left alone. */
async function started(t: Test, env: Record<string, string> = {}) {
  const dataDir = testdir(t);
  const store = openStore(t, dataDir);
  for (const id of ["demo", "good"]) await store.worlds.create(worldOf(id));
  await store.rooms.create("good", { name: "Good" });
  await store.close();
  await new LocalFiles(dataDir).close();
  return startFoyer(t, dataDir, [], {
    LOG_LEVEL: "error",
    NODE_OPTIONS: "--max-old-space-size=200",
    UPLOADS_PER_MINUTE: "1000000",
    ...env,
  });
}

const rssOf = ({ pid }: ServerProcess) =>
  Number(
    /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1],
  ) / 1024;

/** A client that requests what there is, again and again, until it is stopped. */
function goodClient({ address }: ServerProcess) {
  let stopped = false;
  const asked = (async () => {
    let count = 0;
    let first: string | undefined;
    while (!stopped) {
      const answer = await fetch(`${address}/api/v1/worlds/good/rooms/`, {
        headers: { authorization: admin("good") },
      });
      const text = await answer.text();
      first ??= text;
      if (answer.status !== 200 || text !== first) {
        throw new Error(`a good client got ${answer.status} ${text}`);
      }
      count++;
    }
    return count;
  })();
  return async () => {
    stopped = true;
    return asked;
  };
}

void t.test("what the checks would find", (t) => {
  const wrong: [name: string, sent: string][] = [
    [
      "a 500",
      'HTTP/1.1 500 X\r\nX-Request-Id: 1\r\nContent-Length: 14\r\n\r\n{"detail":"x."}',
    ],
    [
      "no number",
      'HTTP/1.1 400 X\r\nContent-Length: 14\r\n\r\n{"detail":"x."}',
    ],
    [
      "a header of a client",
      "HTTP/1.1 200 X\r\nX-Request-Id: 1\r\nX-Evil: 1\r\nContent-Length: 0\r\n\r\n",
    ],
    [
      "another shape",
      'HTTP/1.1 400 X\r\nX-Request-Id: 1\r\nContent-Length: 7\r\n\r\n{"a":1}',
    ],
    ["no length", "HTTP/1.1 200 X\r\nX-Request-Id: 1\r\n\r\n"],
    [
      "bytes between answers",
      "HTTP/1.1 204 X\r\nX-Request-Id: 1\r\n\r\nxHTTP/1.1 204 X\r\n\r\n",
    ],
  ];
  for (const [name, sent] of wrong) {
    t.throws(
      () => answersIn(Buffer.from(sent)).answers.forEach(checkAnswer),
      name,
    );
  }
  t.end();
});

void t.test("whatever comes over a socket", async (t) => {
  const server = await started(t);
  const stop = goodClient(server);
  const lanes = Array.from({ length: LANES }, (_, lane) =>
    fc.assert(
      fc.asyncProperty(conversation, (said) => converse(server.port, said)),
      { seed: seed + lane, numRuns, interruptAfterTimeLimit: TIME },
    ),
  );
  // Not by t.resolves, which says less of why.
  await Promise.all(lanes);
  const served = await stop();
  t.ok(served > 0, `a good client was served all the while, ${served} times`);
  const rss = rssOf(server);
  t.ok(rss < MAX_RSS, `it holds ${Math.round(rss)} MiB`);
  const failed = server.said.stdout
    .split("\n")
    .filter((line) => line.startsWith('{"level"'));
  t.strictSame(failed, [], "nothing failed in it");
  server.signal("SIGTERM");
  t.match(await server.finished, { code: 0, stderr: "" });
});

void t.test("hundreds of slow clients, and fast ones", async (t) => {
  const server = await started(t, { REQUEST_TIMEOUT: "3" });
  const authorization = admin("demo");
  // Something large to be slow with.
  const { headers, body } = fileForm("a.pdf", `${PDF}${"x".repeat(8e6)}`);
  const large = dial(t, server.port);
  large.send(
    rawRequest(
      "POST /storage/upload/",
      {
        ...headers,
        Authorization: "Client a",
        Host: "demo.example.org",
        "Content-Length": String(body.length),
      },
      body.toString("latin1"),
    ),
  );
  const { url } = JSON.parse((await large.answer()).text) as { url: string };

  const stop = goodClient(server);
  const many = (count: number, text: string): Wire[] =>
    Array.from({ length: count }, () => {
      const wire = dial(t, server.port);
      wire.send(text);
      return wire;
    });
  const unread = rawRequest(`GET ${new URL(url).pathname}`, {});
  const readers = Array.from({ length: 100 }, () => {
    const socket = connect(server.port, "127.0.0.1");
    t.teardown(() => socket.destroy());
    socket.on("error", () => {});
    // It asks, and never reads.
    socket.pause();
    socket.write(unread);
    return socket;
  });
  const slow = [
    ...many(300, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Slow: "),
    ...many(
      300,
      rawRequest(
        "POST /api/v1/worlds/demo/rooms/",
        {
          Authorization: authorization,
          "Content-Type": "application/json",
          "Content-Length": "100",
        },
        '{"name":',
      ),
    ),
    ...many(
      90,
      rawRequest(
        "POST /storage/upload/",
        {
          Authorization: "Client b",
          Host: "demo.example.org",
          "Content-Type": "multipart/form-data; boundary=b",
          "Content-Length": "9999",
        },
        "--b\r\n",
      ),
    ),
  ];
  // A byte now and then makes none of them faster.
  const drip = setInterval(() => slow.forEach((wire) => wire.send("1")), 400);
  t.teardown(() => clearInterval(drip));
  const answers = await Promise.all(slow.map((wire) => wire.answer()));
  const statuses = new Set(answers.map(({ status }) => status));
  t.strictSame(
    [...statuses],
    [408],
    "each gets the answer that it was too slow",
  );
  clearInterval(drip);
  const served = await stop();
  t.ok(served > 10, `a good client was served meanwhile, ${served} times`);
  const rss = rssOf(server);
  t.ok(
    rss < MAX_RSS,
    `${readers.length} who do not read: ${Math.round(rss)} MiB`,
  );
  const good = await fetch(`${server.address}/healthz`);
  t.equal(good.status, 200);
});

void t.test(
  "no name in anything that is sent reaches a prototype",
  async (t) => {
    const { call } = await serve(t, [worldOf("demo")]);
    const before = Reflect.ownKeys(Object.prototype);
    const as = admin("demo");
    const world = "/api/v1/worlds/demo/";
    const bad = [
      '"__proto__":{"polluted":1}',
      '"constructor":{"prototype":{"polluted":1}}',
    ];
    const places = [
      (member: string) => `{${member}}`,
      (member: string) => `{"name":"x",${member}}`,
      (member: string) => `{"name":"x","permission_config":{${member}}}`,
      (member: string) =>
        `{"name":"x","module_config":[{"type":"a",${member}}]}`,
      (member: string) =>
        `{"name":"x","module_config":[{"type":"a","b":[{${member}}]}]}`,
      (member: string) => `{"config":{${member}}}`,
      (member: string) => `{"config":{"a":{"b":{${member}}}}}`,
      (member: string) => `{"config":{"JWT_secrets":[{${member}}]}}`,
      (member: string) => `{"token_id":"a",${member}}`,
      // Escapes are read before names are.
      (member: string) =>
        `{"name":"x",${member.replace("_", "\\u005f").replace("con", "c\\u006fn")}}`,
    ];
    for (const [method, url] of [
      ["POST", `${world}rooms/`],
      ["PATCH", world],
      ["POST", `${world}delete_user`],
    ] as const) {
      for (const member of bad) {
        for (const place of places) {
          const body = place(member);
          const got = await call({ method, url, as, body });
          t.equal(got.status, 400, `${method} ${url} ${body}`);
        }
      }
    }
    for (const query of [
      "__proto__[polluted]=1",
      "__proto__=1",
      "constructor.prototype.polluted=1",
      "constructor[prototype][polluted]=1",
      "__proto__.polluted=1&page=2",
    ]) {
      const { status } = await call({ url: `${world}rooms/?${query}`, as });
      t.equal(status, 200, query);
    }
    for (const name of ["__proto__", "constructor", "toString"]) {
      const form = fileForm(name, PDF);
      const got = await call({
        method: "POST",
        url: "/storage/upload/",
        as: "Client a",
        headers: form.headers,
        body: Buffer.from(
          form.body.toString("latin1").replace('name="file"', `name="${name}"`),
          "latin1",
        ),
      });
      t.strictSame(
        [got.status, got.body],
        [400, { error: "file.missing" }],
        name,
      );
      const ended = fileForm(`a.${name}`, PDF);
      const other = await call({
        method: "POST",
        url: "/storage/upload/",
        as: "Client a",
        headers: ended.headers,
        body: ended.body,
      });
      t.strictSame(
        [other.status, other.body],
        [400, { error: "file.type" }],
        `a.${name}`,
      );
      const media = await call({
        url: `/media/pub/${name}/${name}.aaaaaaaaaaaa.${name}`,
      });
      t.equal(media.status, 404, name);
    }
    const odd = tokenOf(keyOf("demo"), {
      traits: ["__proto__", "constructor"],
      uid: "__proto__",
      profile: JSON.parse('{"__proto__":{"polluted":1}}') as object,
    });
    t.equal(
      (await call({ url: `${world}rooms/`, as: `Bearer ${odd}` })).status,
      403,
    );
    t.strictSame(Reflect.ownKeys(Object.prototype), before);
    t.equal(({} as { polluted?: number }).polluted, undefined);
  },
);

void t.test("nothing that is stored gets out as a header", async (t) => {
  const { app, call } = await serve(t, [worldOf("demo")]);
  const as = admin("demo");
  const world = "/api/v1/worlds/demo/";
  const evil = [
    "a\r\nX-Evil: 1",
    "a\nX-Evil: 1",
    "a\u000d\u000aX-Evil: 1",
    "a%0d%0aX-Evil: 1",
    "a\u560d\u560aX-Evil: 1",
  ];
  for (const text of evil) {
    for (const [url, body] of [
      [world, { domain: text }],
      [`${world}rooms/`, { name: "x", domain: text }],
    ] as const) {
      const method = url === world ? "PATCH" : "POST";
      const got = await call({ method, url, as, body });
      t.match(got, { status: 400, body: { domain: [/./] } }, text);
    }
    // Any text is a name, and stays one.
    const made = await call({
      method: "POST",
      url: `${world}rooms/`,
      as,
      body: { name: text, description: text },
    });
    t.equal(made.status, 201, text);
    const { id } = made.body as { id: string };
    const form = fileForm(`${text}.pdf`, PDF);
    const stored = await call({
      method: "POST",
      url: "/storage/upload/",
      as: "Client a",
      headers: form.headers,
      body: form.body,
    });
    const answers = [made, stored];
    for (const url of [
      `${world}rooms/${id}/`,
      `${world}rooms/?search=${encodeURIComponent(text)}&x=${encodeURIComponent(text)}&page_size=1`,
      `${world}rooms/${encodeURIComponent(text)}/`,
      `/${encodeURIComponent(text)}`,
    ]) {
      answers.push(await call({ url, as }));
    }
    if (stored.status === 201) {
      const { pathname } = new URL((stored.body as { url: string }).url);
      const { headers } = await app.inject(pathname);
      answers.push({ ...stored, headers: headers as Record<string, string> });
    }
    for (const { headers } of answers) {
      t.notMatch(JSON.stringify(headers), /evil/i, text);
    }
  }
});
