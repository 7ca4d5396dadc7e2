import { setTimeout as sleep } from "node:timers/promises";
import t from "tap";
import { StoreError } from "../../db/contract/store.js";
import { delayAfter } from "../../plugins/webhooks/message.js";
import { Source } from "../../plugins/webhooks/source.js";
import { typeFilter } from "../../schemas/plain/feed.js";
import { until } from "../helper.js";
import { receiver, sending, serving } from "./receivers.js";

void t.test("a new selection beside a redelivery", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 200);
  const draft = { url, types: ["file.added"] };
  const { body } = await live.rest("POST", "demo/webhooks/", draft);
  const id = body.id as string;
  const { webhooks } = live.app.store;
  await until(async () => (await webhooks.get("demo", id))?.holder !== null);
  await live.rest("POST", "demo/rooms/", { name: "a" });
  // Where it is stored: of other types, it goes on in memory.
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
  const { webhooks } = live.app.store;
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
  // The beats of the first webhook do not keep the second one from being held.
  await until(() => second.got.length === 1 && first.got.length === 1);
});

void t.test("settings that change during a try that fails", async (t) => {
  const live = await sending(t);
  const { got, url } = await receiver(t, 500);
  const draft = { url, types: ["room.*"] };
  const { body } = await live.rest("POST", "demo/webhooks/", draft);
  const id = body.id as string;
  const { webhooks } = live.app.store;
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
  const { webhooks } = live.app.store;
  const hook = () => webhooks.get("demo", id);
  await until(async () => (await hook())?.last_status === 410);
  // Its holder stores a last position when it ends.
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
  const stored = () => live.app.store.webhooks.get("demo", body.id as string);
  const hour = 3_600_000;
  let ahead = 3 * 24 * hour;
  Date.now = () => now() + ahead;
  // The clock may have been set, or the server may have been off.
  for (let tries = 2; tries < 8; tries++) {
    await until(async () => (await stored())?.attempts === tries);
    t.ok((await hook()).enabled, `after ${tries} tries`);
    ahead += 8 * hour;
    // Its holder looks at the clock again.
    await live.rest("PATCH", at, { description: `${tries}` });
  }
  await until(async () => !(await hook()).enabled);
  t.match((await hook()).state, { failing_since, next_try_at: null });
  // A try beside a change of the settings does not count.
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
    ...{ name: "a", module_config: [{ type: "chat.native" }] },
  });
  const { body } = await live.rest("POST", "demo/webhooks/", {
    ...{ url, types: ["chat.message"] },
  });
  const ada = await live.person({ uid: "ada", traits: ["admin"] });
  await ada.do("user.update", { profile: { display_name: "Ada" } });
  await ada.do("chat.join", { channel: room.body.id });
  const content = { type: "text", body: "my secret" };
  const sent = await ada.do("chat.send", {
    ...{ channel: room.body.id as string, event_type: "channel.message" },
    content,
  });
  await until(() => got.length === 1);
  t.equal(got[0]!.body.data.data.content.body, "my secret");
  const { event_id } = sent.event;
  await ada.do("chat.send", {
    ...{ channel: room.body.id as string, event_type: "channel.message" },
    ...{ content: { type: "deleted" }, replaces: event_id as number },
  });
  const again = { enabled: true };
  await live.rest("PATCH", `demo/webhooks/${body.id}/`, again);
  await until(() => got.length === 2);
  t.notMatch(got[1]!.text, /my secret/);
  t.equal(got[0]!.headers["webhook-id"], got[1]!.headers["webhook-id"]);
});

void t.test("failures are repeated ever later", async (t) => {
  const times = [1, 2, 3, 4, 5, 6, 7, 8, 99];
  const minutes = (random: number) =>
    times.map((n) => delayAfter(n, () => random) / 60_000);
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
  const { log, webhooks } = live.app.store;
  const make = (name: string) => live.rest("POST", "demo/rooms/", { name });
  const since = log.since.bind(log);
  let reads = 0;
  log.since = (...values) => {
    reads++;
    return since(...values);
  };
  await until(async () => (await webhooks.get("demo", id))?.holder !== null);
  await until(() => reads > 0);
  // What came while it was taken over may need some.
  await until(async () => {
    reads = 0;
    for (let i = 0; i < 5; i++) {
      await make(`other ${i}`);
      // Longer than entries gather for a read.
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
  const { store } = live.app;
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
  const live = await serving(t, before.dataDir, []);
  await live.rest("POST", "demo/rooms/", { name: "a" });
  const at = `demo/webhooks/${made.body.id}/`;
  const state = async () => (await live.rest("GET", at)).body.state;
  await until(async () => (await state()).failing_since !== null);
  t.match(await state(), {
    ...{ last_error: "address_not_allowed", last_status: null },
  });
  t.equal(got.length, 0);
});
