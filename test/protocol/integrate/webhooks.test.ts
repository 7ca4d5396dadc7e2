import { setTimeout as sleep } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import t, { type Test } from "tap";
import { type Json } from "../../../conformance/client.js";
import { StoreError } from "../../../db/contract/store.js";
import { retryDelay } from "../../../plugins/webhooks/webhook-retries.js";
import { Source } from "../../../plugins/webhooks/source.js";
import { typeFilter } from "../../../schemas/plain/feed.js";
import { until } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { type Site, startSite } from "../../support/site.js";
import { receiver } from "../../support/receiver.js";

// Webhooks, the audit, and host actions over HTTP.

/** Starts a server in this process that may send to the local machine. */
const sending = (t: Test, dataDir?: string, webhookAllow = ["127.0.0.1"]) =>
  startServer(t, { config: { webhookAllow }, ...(dataDir !== undefined && { dataDir }) });

const secretOf = ({ secret }: Json): string => secret;

void t.test("a webhook from its making to its end", async (t) => {
  const site = await startSite(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const { got, url } = await receiver(t, 302, 204);
  const draft = { url, types: ["room.*"], description: "Ours" };
  const made = await site.api("webhooks/", { method: "POST", body: draft });
  t.match(made, {
    status: 201,
    body: { ...draft, enabled: true, secret: /^whsec_/ },
  });
  const { secret, ...hook } = made.body;
  const path = `webhooks/${hook.id}/`;
  t.match(made.headers.location, new RegExp(`/demo/${path}$`));
  const read = await site.save("GET", path);
  t.strictSame(Object.keys(read).sort(), Object.keys(hook).sort());
  const noTries = { delivered_at: null, failing_since: null, last_status: null };
  const none = { ...noTries, last_error: null, next_try_at: null };
  t.match(read.state, { cursor: String, ...none });
  const list = await site.save("GET", "webhooks/?page_size=1");
  t.match(list, { count: 1, next: null, results: [{ id: hook.id }] });
  t.notMatch(JSON.stringify([read, list]), secret.slice(6));

  await site.room("A");
  await until(() => got.length === 1);
  const state = async () => (await site.save("GET", path)).state;
  await until(async () => (await state()).failing_since !== null);
  t.match(await state(), { last_status: 302, last_error: "status_302", next_try_at: String });
  await site.save("POST", `${path}redeliver`, { after: hook.state.cursor });
  await until(() => got.length === 2);
  const [first, again] = got.map(({ headers }) => headers["webhook-id"]);
  t.equal(first, again);
  t.match(first, new RegExp(`^demo\\.\\d+\\.${hook.id}$`));
  await until(async () => (await state()).delivered_at !== null);
  t.equal((await state()).failing_since, null);
  for (const after of ["x", "-1", "99999999", ""]) {
    const call = { method: "POST", body: { after } };
    t.match(await site.api(`${path}redeliver`, call), { status: 400, body: { after: [/./] } });
  }

  // A disabled webhook can be tested, and resumes where it stopped once it is enabled.
  await site.save("PATCH", path, { enabled: false });
  await site.room("While it is disabled");
  const tried = await site.save("POST", `${path}test`);
  t.match(tried, { status: 204, duration_ms: Number, error: null });
  t.match(got.at(-1)!.body, { type: "webhook.test", timestamp: String });
  const enabled = await site.save("PATCH", path, { enabled: true });
  t.equal(enabled.resumed, "cursor");
  await until(() => got.length === 4);
  t.match(got.at(-1)!.body.data, { type: "room.created", by: { kind: "api" } });
  const verify = (secret: string, { text, headers } = got.at(-1)!) =>
    new Webhook(secret).verify(text, headers as Record<string, string>);
  for (const delivery of got) verify(secret, delivery);
  const rotated = await site.save("PATCH", path, { secret: null });
  t.match(secretOf(rotated), /^whsec_/);
  t.not(secretOf(rotated), secret);
  await site.save("POST", `${path}test`);
  verify(secretOf(rotated));
  t.throws(() => verify(secret));
  t.equal((await site.api(path, { method: "DELETE" })).status, 204);
  for (const method of ["GET", "DELETE"]) {
    t.equal((await site.api(path, { method })).status, 403, method);
  }
});

void t.test("what a webhook may be", async (t) => {
  const site = await startSite(t, { WEBHOOK_ALLOW: "127.0.0.1,10.0.0.0/8" });
  const url = "https://10.1.2.3/hook";
  const create = (body: object, as?: "reader") =>
    site.api("webhooks/", { method: "POST", body, ...(as && { as }) });
  const rows: [body: object, field: string | undefined][] = [
    [{ url }, undefined],
    [{ url: "http://10.1.2.3/" }, undefined],
    [{}, "url"],
    [{ url: "x" }, "url"],
    [{ url: "ftp://8.8.8.8/" }, "url"],
    [{ url: "http://8.8.8.8/" }, "url"],
    [{ url: "https://192.168.0.1/" }, "url"],
    [{ url: "https://169.254.169.254/latest" }, "url"],
    [{ url: "https://[::1]/" }, "url"],
    [{ url: "https://[::ffff:192.168.0.1]/" }, "url"],
    [{ url: "https://0xc0a80001/" }, "url"],
    [{ url: "https://[64:ff9b::c0a8:1]/" }, "url"],
    [{ url, types: "room.*" }, "types"],
    [{ url, enabled: "yes" }, "enabled"],
    [{ url, secret: "whsec_own" }, "secret"],
  ];
  let id = "";
  for (const [body, field] of rows) {
    const { status, body: answer } = await create(body);
    t.equal(status, field === undefined ? 201 : 400, JSON.stringify(body));
    if (field) t.match(answer, { [field]: [/./] }, JSON.stringify(body));
    else id = answer.id;
  }
  const forbidden = { url: "https://127.8.8.8/" };
  const changed = { method: "PATCH", body: forbidden };
  t.equal((await site.api(`webhooks/${id}/`, changed)).status, 400);
  t.equal((await create({ url }, "reader")).status, 403);
  const made = await site.save("GET", "webhooks/");
  t.match(made, { results: [{ types: ["*"] }, { types: ["*"] }] });
  for (let { count } = made; count < 20; count++) {
    t.equal((await create({ url })).status, 201);
  }
  t.match(
    await create({ url }),
    { status: 409, body: { code: "quota", detail: /20/ } },
    "the 21st",
  );
  const pages = await site.save("GET", "webhooks/?page=2&page_size=15");
  t.match(pages, { count: 20, results: { length: 5 }, next: null });
});

void t.test("the audit", async (t) => {
  const site = await startSite(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const host = await site.person("admin", "admin", "editor");
  const ada = await site.person("ada", "reader");
  const room = await site.room("Hall");
  await site.save("PATCH", `rooms/${room}/`, { name: "Stage" });
  const { config } = await site.save("GET", "");
  const secret = "never-shown-".repeat(4);
  config.JWT_secrets.push({ issuer: "i", audience: "a", secret });
  await site.save("PATCH", "", { config, title: "Summit" });
  const url = "http://127.0.0.1:1/a-secret-path";
  const hook = await site.save("POST", "webhooks/", { url });
  await site.save("PATCH", `webhooks/${hook.id}/`, { enabled: false });
  await site.save("DELETE", `webhooks/${hook.id}/`);
  const link = { traits: ["reader"], expires_in: 60, page: "event" };
  const { token } = await site.save("POST", "tokens/", link);
  await site.call({
    url: "/api/v1/worlds/demo/results/people/?format=csv",
    as: `Bearer ${await tokenOf(site)}`,
  });
  await host.do("user.silence", { id: ada.id });
  t.equal((await site.command("world", "update", "demo", "--title", "By hand")).code, 0);
  t.equal((await site.command("world", "export", "demo")).code, 0);
  await ada.do("user.update", { profile: { display_name: "Ada" } }).catch(() => {});

  const all = await site.save("GET", "audit/?page_size=1000");
  const entries = (type: string): Json[] =>
    all.results.filter((entry: Json) => entry.type === type);
  const rows: [type: string, entry: object][] = [
    ["room.created", { subject: { room_id: room }, by: { kind: "api", token_id: "admin" } }],
    ["room.updated", { changes: [{ field: "name", before: "Hall", after: "Stage" }] }],
    ["webhook.created", { subject: { webhook_id: hook.id } }],
    ["webhook.updated", { changes: [{ field: "enabled", before: true, after: false }] }],
    ["webhook.deleted", { subject: { webhook_id: hook.id } }],
    ["token.created", { by: { token_id: "admin" } }],
    ["results.exported", { by: { token_id: "admin" } }],
    ["user.moderated", { subject: { user_id: ada.id }, by: { kind: "user", user_id: host.id } }],
    ["world.exported", { by: { kind: "command" } }],
    ["world.updated", { by: { kind: "command" }, changes: [{ field: "title", after: "By hand" }] }],
  ];
  for (const [type, entry] of rows) {
    const [found] = entries(type);
    t.match(found, { ...entry, at: String, type }, type);
    t.ok("request_id" in found && "changes" in found, type);
  }
  t.same(entries("user.updated"), [], "what people do for themselves");
  const text = JSON.stringify(all);
  for (const hidden of [secret, token, hook.secret, "a-secret-path"]) {
    t.notOk(text.includes(hidden), hidden);
  }
  const ids = all.results.map(({ id }: Json) => id);
  t.same(
    ids,
    [...ids].sort((a, b) => b - a),
    "the newest first",
  );
  const only = async (query: string) =>
    (await site.save("GET", `audit/?${query}`)).results as Json[];
  const by = await only(`user=${host.id}`);
  t.ok(by.length > 0 && by.every((entry) => entry.by.user_id === host.id));
  const kinds = await only("type=room.*,token.created");
  const types = ["token.created", "token.created", "room.updated"];
  t.same(
    kinds.map(({ type }) => type),
    [...types, "room.created"],
  );
  const time = kinds[2]!.at;
  t.ok((await only(`after=${time}`)).every(({ at }) => at > time));
  t.ok((await only(`before=${time}`)).every(({ at }) => at < time));
  t.equal((await site.api("audit/?after=x")).status, 400);
  t.equal((await site.api("audit/", { as: "reader" })).status, 403);

  // An entry outlives its author, but loses the name.
  await site.save("POST", "delete_user", { user_id: host.id });
  const kept = (await only("type=user.moderated"))[0]!;
  t.match(kept.by, { kind: "user", user_id: host.id, token_id: null });
  await site.restart("SIGKILL");
  t.same((await only("type=user.moderated"))[0], kept, "and a kill");
  for (const format of ["--csv", "--json"]) {
    const printed = await site.command("audit", "list", "demo", format);
    t.match(printed, { code: 0, stdout: /token\.created/ }, format);
    t.notOk(printed.stdout.includes(secret));
  }
});

void t.test("without an audit", async (t) => {
  const site = await startSite(t, { AUDIT_DAYS: "0" });
  await site.room("A");
  t.match((await site.api("audit/")).body, { count: 0, results: [] });
  const { stdout } = await site.command("audit", "list", "demo", "--json");
  t.same(JSON.parse(stdout), []);
});

async function tokenOf(site: Site): Promise<string> {
  const draft = { uid: "admin", traits: ["admin", "editor"], expires_in: 600 };
  return (await site.save("POST", "tokens/", { ...draft, page: null })).token;
}

void t.test("a new selection beside a redelivery", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 200);
  const draft = { url, types: ["file.added"] };
  const { body } = await live.rest("POST", "demo/webhooks/", draft);
  const id = body.id as string;
  const { webhooks } = live.store;
  await until(async () => (await webhooks.get("demo", id))?.holder !== null);
  await live.rest("POST", "demo/rooms/", { name: "a" });
  // The stored position: for changes of other types, the webhook advances in memory only.
  const { position } = (await webhooks.get("demo", id))!;
  await Promise.all([
    webhooks.update("demo", id, { types: ["room.*"] }),
    webhooks.update("demo", id, { position }),
  ]);
  await until(() => got.length === 1);
});

void t.test("a read fails when a process begins to send", async (t) => {
  const live = await sending(t);
  const [first, second] = [await receiver(t, 204), await receiver(t, 204)];
  const make = async (url: string) =>
    (await live.rest("POST", "demo/webhooks/", { url })).body.id as string;
  const { webhooks } = live.store;
  const hold = webhooks.hold.bind(webhooks);
  const get = webhooks.get.bind(webhooks);
  const other = await make(first.url);
  await until(async () => (await get("demo", other))!.holder !== null);
  let fails = false;
  let failures = 0;
  webhooks.hold = async (...args) => {
    const isHeld = await hold(...args);
    fails = isHeld && failures === 0 && args[1] !== other;
    return isHeld;
  };
  webhooks.get = async (...args) => {
    if (!fails || args[1] === other) return get(...args);
    fails = false;
    failures++;
    throw new StoreError("busy", "Simulated.");
  };
  await make(second.url);
  await until(() => failures === 1);
  await live.rest("POST", "demo/rooms/", { name: "a" });
  // Heartbeats for the first webhook do not prevent the second one from being held.
  await until(() => second.got.length === 1 && first.got.length === 1);
});

void t.test("settings that change during a try that fails", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 500);
  const draft = { url, types: ["room.*"] };
  const { body } = await live.rest("POST", "demo/webhooks/", draft);
  const id = body.id as string;
  const { webhooks } = live.store;
  const note = webhooks.note.bind(webhooks);
  webhooks.note = async (...args) => {
    webhooks.note = note;
    await webhooks.update("demo", id, { description: "new" });
    return note(...args);
  };
  await live.rest("POST", "demo/rooms/", { name: "a" });
  const hook = () => webhooks.get("demo", id);
  await until(async () => (await hook())!.attempts > 0);
  t.match(await hook(), { attempts: 1, last_status: 500, description: "new" });
  t.equal(got.length, 1, "the next try has its delay");
});

void t.test("410 disables", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 410);
  const types = ["room.*"];
  const { body } = await live.rest("POST", "demo/webhooks/", { url, types });
  const id = body.id as string;
  await live.rest("PATCH", "demo/", { title: "Not of its types" });
  await live.rest("POST", "demo/rooms/", { name: "a" });
  const { webhooks } = live.store;
  const hook = () => webhooks.get("demo", id);
  await until(async () => (await hook())?.last_status === 410);
  // The holder stores a final position when it stops.
  await until(async () => (await hook())?.holder === null);
  t.notOk((await hook())!.enabled);
  t.match(
    got.map((one) => one.body.type as string),
    ["room.created"],
  );
  const audit = await live.rest("GET", "demo/audit/?type=webhook.updated");
  t.match(audit.body.results, [
    { by: { kind: "server" }, changes: [{ field: "enabled", after: false }] },
  ]);
});

void t.test("after three days and eight failures it is disabled", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 500);
  const { body } = await live.rest("POST", "demo/webhooks/", { url });
  const at = `demo/webhooks/${body.id}/`;
  await live.rest("POST", "demo/rooms/", { name: "a" });
  const hook = async () => (await live.rest("GET", at)).body;
  await until(async () => (await hook()).state.failing_since !== null);
  const { failing_since } = (await hook()).state;
  const now = Date.now.bind(Date);
  t.teardown(() => void (Date.now = now));
  const stored = () => live.store.webhooks.get("demo", body.id as string);
  const hour = 3_600_000;
  let ahead = 3 * 24 * hour;
  Date.now = () => now() + ahead;
  // Three days alone do not disable it: the clock may have been set, or the server may have been
  // off.
  for (let tries = 2; tries < 8; tries++) {
    await until(async () => (await stored())?.attempts === tries);
    t.ok((await hook()).enabled, `after ${tries} tries`);
    ahead += 8 * hour;
    // Makes the holder re-check the clock.
    await live.rest("PATCH", at, { description: `${tries}` });
  }
  await until(async () => !(await hook()).enabled);
  t.match((await hook()).state, { failing_since, next_try_at: null });
  // An attempt during a change of settings does not count.
  t.ok(got.length >= 8);
});

void t.test("receivers that are slow or answer too much", async (t) => {
  const live = await sending(t);
  const [silent, flooding, quick] = [
    await receiver(t, "silence"),
    await receiver(t, "flood"),
    await receiver(t, 200),
  ];
  const ids: string[] = [];
  for (const { url } of [silent, flooding, quick]) {
    const made = await live.rest("POST", "demo/webhooks/", { url });
    ids.push((made.body as { id: string }).id);
  }
  const stateOf = async (n: number) =>
    (await live.rest("GET", `demo/webhooks/${ids[n]}/`)).body.state;
  const count = 300;
  const made = Array.from({ length: count }, (_, i) =>
    live.rest("POST", "demo/rooms/", { name: `room ${i}` }),
  );
  const answers = await Promise.all(made);
  t.ok(answers.every(({ status }) => status === 201));
  await until(() => quick.got.length >= count);
  const seqs = quick.got.map(({ body }) => body.data.seq as number);
  t.strictSame(
    seqs,
    [...seqs].sort((a, b) => a - b),
    "in order",
  );
  t.equal(new Set(seqs).size, count, "each once");
  const tries = silent.got.map(({ headers }) => headers["webhook-id"]);
  t.equal(new Set(tries).size, 1, "one at a time");
  await until(async () => (await stateOf(1)).delivered_at !== null);
  const taken = flooding.flooded() / flooding.got.length;
  t.ok(taken < 2 ** 24, "the rest of an answer is not read");
  await until(async () => (await stateOf(0)).last_error === "timeout");
  t.match(await stateOf(0), { last_status: null, next_try_at: String });
});

void t.test("texts that are erased are not sent", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 500, 200);
  const room = await live.rest("POST", "demo/rooms/", {
    name: "a",
    module_config: [{ type: "chat.native" }],
  });
  const { body } = await live.rest("POST", "demo/webhooks/", { url, types: ["chat.message"] });
  const ada = await live.person({ uid: "ada", traits: ["admin"] });
  await ada.do("user.update", { profile: { display_name: "Ada" } });
  await ada.do("chat.join", { channel: room.body.id });
  const content = { type: "text", body: "my secret" };
  const sent = await ada.do("chat.send", {
    channel: room.body.id as string,
    event_type: "channel.message",
    content,
  });
  await until(() => got.length === 1);
  t.equal(got[0]!.body.data.data.content.body, "my secret");
  const { event_id } = sent.event;
  await ada.do("chat.send", {
    channel: room.body.id as string,
    event_type: "channel.message",
    content: { type: "deleted" },
    replaces: event_id as number,
  });
  const again = { enabled: true };
  await live.rest("PATCH", `demo/webhooks/${body.id}/`, again);
  await until(() => got.length === 2);
  t.notMatch(got[1]!.text, /my secret/);
  t.equal(got[0]!.headers["webhook-id"], got[1]!.headers["webhook-id"]);
});

void t.test("failures are repeated ever later", async (t) => {
  const times = [1, 2, 3, 4, 5, 6, 7, 8, 99];
  const minutes = (random: number) => times.map((n) => retryDelay(n, () => random) / 60_000);
  const least = [5 / 60, 0.5, 2, 10, 60, 180, 360, 360, 360];
  t.strictSame(minutes(0), least);
  t.ok(
    minutes(0.999).every((time, i) => time > 1.1 * least[i]!),
    "jitter",
  );
});

void t.test("entries of other types cost a webhook no read", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 204);
  const other = ["file.added"];
  const made = await live.rest("POST", "demo/webhooks/", { url, types: other });
  const id = made.body.id as string;
  const { log, webhooks } = live.store;
  const make = (name: string) => live.rest("POST", "demo/rooms/", { name });
  const since = log.since.bind(log);
  let reads = 0;
  log.since = (...values) => {
    reads++;
    return since(...values);
  };
  await until(async () => (await webhooks.get("demo", id))?.holder !== null);
  await until(() => reads > 0);
  // Changes that arrived during the takeover may need a few reads.
  await until(async () => {
    reads = 0;
    for (let i = 0; i < 5; i++) {
      await make(`other ${i}`);
      // Longer than entries are batched for a read.
      await sleep(50);
    }
    return reads === 0;
  });
  const types = ["room.*"];
  await live.rest("PATCH", `demo/webhooks/${id}/`, { types });
  await make("last");
  await until(() => got.length > 0);
  const room = got[0]!.body.data.data.room_id as string;
  const { body } = await live.rest("GET", `demo/rooms/${room}/`);
  t.equal(body.name, "last", "new types count from now on");
  t.ok(reads > 0);
});

void t.test("how far a webhook goes without a read", async (t) => {
  const live = await sending(t);
  for (const name of ["a", "b", "c", "d"]) {
    await live.rest("POST", "demo/rooms/", { name });
  }
  const { store } = live;
  const { entries } = await store.log.since("demo", 0, 100);
  const [first, second, third, fourth] = entries.slice(-4);
  const source = new Source(store, "demo", () => {});
  t.teardown(() => source.close());
  const [own, others] = [typeFilter(["room.*"]), typeFilter(["file.added"])];
  const start = first!.seq - 1;
  t.equal(source.skip(start, others), undefined, "it knows nothing yet");
  source.take(first!);
  source.take(second!);
  t.equal(source.skip(start, others), second!.seq);
  t.equal(source.skip(start, own), undefined);
  t.equal(source.skip(second!.seq, own), second!.seq, "it has come so far");
  t.equal(source.skip(third!.seq, own), third!.seq, "or further");
  t.equal(source.skip(start - 1, others), undefined, "what came before");
  source.take(fourth!);
  t.equal(source.skip(second!.seq, others), undefined, "one is missing");
  t.equal(source.skip(third!.seq, others), fourth!.seq);
  source.forget();
  t.equal(source.skip(third!.seq, others), undefined, "the log went back");
});

void t.test("a receiver that is no longer allowed", async (t) => {
  const before = await sending(t);
  const { got, url } = await receiver(t, 204);
  const made = await before.rest("POST", "demo/webhooks/", { url });
  await before.close();
  const live = await sending(t, before.dataDir, []);
  await live.rest("POST", "demo/rooms/", { name: "a" });
  const at = `demo/webhooks/${made.body.id}/`;
  const state = async () => (await live.rest("GET", at)).body.state;
  await until(async () => (await state()).failing_since !== null);
  t.match(await state(), { last_error: "address_not_allowed", last_status: null });
  t.equal(got.length, 0);
});
