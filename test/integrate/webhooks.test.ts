import { Webhook } from "standardwebhooks";
import t from "tap";
import type { Json } from "../../conformance/client.js";
import { receiver } from "./receivers.js";
import { until } from "../helper.js";
import { Site } from "../program/site.js";

// Webhooks and the audit, over HTTP.

const secretOf = ({ secret }: Json): string => secret;

void t.test("a webhook from its making to its end", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const { got, url } = await receiver(t, 302, 204);
  const draft = { url, types: ["room.*"], description: "Ours" };
  const made = await site.api("webhooks/", { method: "POST", body: draft });
  t.match(made, {
    status: 201,
    headers: Headers,
    body: { ...draft, enabled: true, secret: /^whsec_/ },
  });
  const { secret, ...hook } = made.body;
  const path = `webhooks/${hook.id}/`;
  t.match(made.headers.get("location"), new RegExp(`/demo/${path}$`));
  const read = await site.save("GET", path);
  t.strictSame(Object.keys(read).sort(), Object.keys(hook).sort());
  const noTries = {
    delivered_at: null,
    failing_since: null,
    last_status: null,
  };
  const none = { ...noTries, last_error: null, next_try_at: null };
  t.match(read.state, { cursor: String, ...none });
  const list = await site.save("GET", "webhooks/?page_size=1");
  t.match(list, { count: 1, next: null, results: [{ id: hook.id }] });
  t.notMatch(JSON.stringify([read, list]), secret.slice(6));

  // A failure, and a delay that `redeliver` ends.
  await site.room("A");
  await until(() => got.length === 1);
  const state = async () => (await site.save("GET", path)).state;
  await until(async () => (await state()).failing_since !== null);
  t.match(await state(), {
    ...{ last_status: 302, last_error: "status_302", next_try_at: String },
  });
  await site.save("POST", `${path}redeliver`, { after: hook.state.cursor });
  await until(() => got.length === 2);
  const [first, again] = got.map(({ headers }) => headers["webhook-id"]);
  t.equal(first, again);
  t.match(first, new RegExp(`^demo\\.\\d+\\.${hook.id}$`));
  await until(async () => (await state()).delivered_at !== null);
  t.equal((await state()).failing_since, null);
  for (const after of ["x", "-1", "99999999", ""]) {
    const call = { method: "POST", body: { after } };
    t.match(await site.api(`${path}redeliver`, call), {
      ...{ status: 400, body: { after: [/./] } },
    });
  }

  // A disabled one can be tried, and goes on where it was.
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
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1,10.0.0.0/8" });
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
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const host = await site.user("admin", "admin", "editor");
  const ada = await site.user("ada", "reader");
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
  await site.fetch("/api/v1/worlds/demo/results/people/?format=csv", {
    headers: { authorization: `Bearer ${await tokenOf(site)}` },
  });
  await host.do("user.silence", { id: ada.id });
  t.equal(
    (await site.command("world", "update", "demo", "--title", "By hand")).code,
    0,
  );
  t.equal((await site.command("world", "export", "demo")).code, 0);
  await ada
    .do("user.update", { profile: { display_name: "Ada" } })
    .catch(() => {});

  const all = await site.save("GET", "audit/?page_size=1000");
  const entries = (type: string): Json[] =>
    all.results.filter((entry: Json) => entry.type === type);
  const rows: [type: string, entry: object][] = [
    [
      "room.created",
      { subject: { room_id: room }, by: { kind: "api", token_id: "admin" } },
    ],
    [
      "room.updated",
      { changes: [{ field: "name", before: "Hall", after: "Stage" }] },
    ],
    ["webhook.created", { subject: { webhook_id: hook.id } }],
    [
      "webhook.updated",
      { changes: [{ field: "enabled", before: true, after: false }] },
    ],
    ["webhook.deleted", { subject: { webhook_id: hook.id } }],
    ["token.created", { by: { token_id: "admin" } }],
    ["results.exported", { by: { token_id: "admin" } }],
    [
      "user.moderated",
      { subject: { user_id: ada.id }, by: { kind: "user", user_id: host.id } },
    ],
    ["world.exported", { by: { kind: "command" } }],
    [
      "world.updated",
      {
        by: { kind: "command" },
        changes: [{ field: "title", after: "By hand" }],
      },
    ],
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

  // It outlives its author, without a name.
  await site.save("POST", "delete_user", { user_id: host.id });
  const kept = (await only("type=user.moderated"))[0]!;
  t.match(kept.by, { kind: "user", user_id: host.id, token_id: null });
  await site.kill();
  await site.start();
  t.same((await only("type=user.moderated"))[0], kept, "and a kill");
  for (const format of ["--csv", "--json"]) {
    const printed = await site.command("audit", "list", "demo", format);
    t.match(printed, { code: 0, stdout: /token\.created/ }, format);
    t.notOk(printed.stdout.includes(secret));
  }
});

void t.test("without an audit", async (t) => {
  const site = await Site.start(t, { AUDIT_DAYS: "0" });
  await site.room("A");
  t.match((await site.api("audit/")).body, { count: 0, results: [] });
  const { stdout } = await site.command("audit", "list", "demo", "--json");
  t.same(JSON.parse(stdout), []);
});

async function tokenOf(site: Site): Promise<string> {
  const draft = { uid: "admin", traits: ["admin", "editor"], expires_in: 600 };
  return (await site.save("POST", "tokens/", { ...draft, page: null })).token;
}
