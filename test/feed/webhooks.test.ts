import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import t, { type Test } from "tap";
import { startTestServer } from "../../testing.js";
import { until } from "../helper.js";
import { demo, type Json, serveLive } from "../live/client.js";
import { configOf } from "../stack.js";
import { testdir } from "../testdir.js";

interface Got {
  headers: IncomingHttpHeaders;
  body: Json;
  text: string;
}

/** A receiver. @param statuses its answers, the last of which repeats. */
async function receiver(t: Test, ...statuses: number[]) {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += chunk.toString()));
    request.on("end", () => {
      got.push({
        ...{ headers: request.headers, text },
        body: JSON.parse(text) as Json,
      });
      const status = statuses.length > 1 ? statuses.shift()! : statuses[0]!;
      response.writeHead(status, { location: "http://127.0.0.1:1/" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  return { got, url: `http://127.0.0.1:${port}/hook` };
}

/** A server that may send to this machine, or may not. */
async function start(t: Test, webhookAllow: string[] = ["127.0.0.1"]) {
  const dataDir = testdir(t);
  const first = await startTestServer({ config: await configOf(dataDir) });
  await first.createWorld(demo());
  await first.close();
  return serveLive(t, dataDir, {}, (options) =>
    startTestServer({
      ...options,
      config: { ...options?.config, webhookAllow },
    }),
  );
}

void t.test("a webhook gets each change, in order and signed", async (t) => {
  const live = await start(t);
  const { got, url } = await receiver(t, 204, 302, 204);
  const made = await live.rest("POST", "demo/webhooks/", { url });
  t.match(made, {
    ...{ status: 201, body: { url, types: ["*"], enabled: true } },
  });
  const { id, secret } = made.body as { id: string; secret: string };
  t.match(secret, /^whsec_/);
  const at = `demo/webhooks/${id}/`;
  const shown = await live.rest("GET", at);
  t.notOk("secret" in (shown.body as object));
  const state = async () => (await live.rest("GET", at)).body.state as Json;

  const make = (name: string) => live.rest("POST", "demo/rooms/", { name });
  await make("first");
  await until(() => got.length === 1);
  await make("second");
  await until(() => got.length === 2);
  await until(async () => (await state()).failing_since !== null);
  t.match(await state(), { last_status: 302, last_error: "status_302" });
  t.equal((await live.rest("PATCH", at, { enabled: true })).status, 200);
  await until(() => got.length === 3);
  const ids = got.map(({ headers }) => headers["webhook-id"]);
  t.equal(ids[1], ids[2], "the same for every try");
  t.match(got[0]!.body, {
    type: "room.created",
    data: { type: "room.created" },
  });
  const verifier = new Webhook(secret);
  for (const { headers, text } of got) {
    t.ok(verifier.verify(text, headers as Record<string, string>));
  }
  await until(async () => (await state()).failing_since === null);

  const rotated = await live.rest("PATCH", at, { secret: null });
  const other = (rotated.body as Json).secret as string;
  t.match(other, /^whsec_/);
  t.not(other, secret);
  const test = await live.rest("POST", `${at}test`);
  t.match(test, { status: 200, body: { status: 204, error: null } });
  const last = got.at(-1)!;
  t.match(last.body, { type: "webhook.test" });
  new Webhook(other).verify(last.text, last.headers as Record<string, string>);
  t.throws(() =>
    verifier.verify(last.text, last.headers as Record<string, string>),
  );
  const before = got.length;
  await live.rest("POST", `${at}redeliver`, { after: "0" });
  await until(() => got.length >= before + 2);
  t.equal((await live.rest("DELETE", at)).status, 204);
  t.equal((await live.rest("GET", at)).status, 403);
});

void t.test("410 disables, and a world has at most 20", async (t) => {
  const live = await start(t);
  const { got, url } = await receiver(t, 410);
  const make = (types: string[]) =>
    live.rest("POST", "demo/webhooks/", { url, types });
  const { body } = await make(["room.*"]);
  const id = (body as Json).id as string;
  for (let i = 1; i < 20; i++) {
    t.equal((await make(["file.added"])).status, 201);
  }
  t.match(await make(["*"]), {
    ...{ status: 400, body: { non_field_errors: [/20/] } },
  });
  await live.rest("PATCH", "demo/", { title: "Not of its types" });
  await live.rest("POST", "demo/rooms/", { name: "a" });
  await until(async () => {
    const hook = await live.rest("GET", `demo/webhooks/${id}/`);
    return !(hook.body as Json).enabled;
  });
  t.match(
    got.map((one) => one.body.type as string),
    ["room.created"],
  );
  const audit = await live.rest("GET", "demo/audit/?type=webhook.updated");
  t.match((audit.body as Json).results, [
    { by: { kind: "server" }, changes: [{ field: "enabled", after: false }] },
  ]);
});

void t.test("a webhook goes to no address in the network", async (t) => {
  const live = await start(t, []);
  for (const url of [
    "http://example.org/",
    "https://127.0.0.1/",
    "https://[::ffff:10.0.0.1]/",
    "https://169.254.169.254/",
    "https://0x7f.1/",
    "https://100.64.0.1/",
    "ftp://example.org/",
    "x",
  ]) {
    const made = await live.rest("POST", "demo/webhooks/", { url });
    t.match(made, { status: 400, body: { url: [String] } }, url);
  }
});
