import t from "tap";
import type { Json } from "../../conformance/client.js";
import { until } from "../helper.js";
import { keyServer, makeKey } from "../plugins/auth/issuer.js";
import { Site } from "../program/site.js";
import { Browser, startProvider } from "./provider.js";

// What hosts do over HTTP, and people who come with tokens of other issuers.

const MODULES = ["chat.native", "question", "poll"].map((type) => ({
  ...{ type, config: { active: true, requires_moderation: false } },
}));

void t.test("calls of hosts reach people at every process", async (t) => {
  const site = await Site.start(t);
  const room: string = (
    await site.save("POST", "rooms/", { name: "=Hall", module_config: MODULES })
  ).id;
  const people = await Promise.all([
    site.user("ada", "reader"),
    site.user("bob", "reader"),
  ]);
  for (const person of people) {
    await person.do("chat.join", { channel: room });
    await person.do("room.enter", { room });
  }
  const [ada] = people;
  const pushed = async (name: string, fits?: (data: Json) => boolean) =>
    Promise.all(people.map((person) => person.next(name, fits)));
  const ofType = (type: string) => (data: Json) => data.content.type === type;

  const draft = { text: "Lunch", state: "active" };
  const made = await site.save("POST", "announcements/", draft);
  t.match(await pushed("announcement.created_or_updated"), [draft, draft]);
  t.match(await site.save("GET", `announcements/${made.id}/`), draft);

  const messages = `rooms/${room}/messages/`;
  const content = { type: "text", body: "=Hello" };
  const sent = await site.save("POST", messages, { content });
  t.match(await pushed("chat.event", ofType("text")), [
    { content },
    { content },
  ]);
  const users = await site.save("GET", "changes/?after=0&types=user.created");
  const kinds = users.results.map(({ by }: Json) => by.kind);
  t.same(kinds, ["user", "user", "api"], "the call made the last of them");
  const read = await site.save("GET", `${messages}?after=0&limit=1`);
  t.match(read.results, [{ event_id: Number }]);
  const chat = await site.save("GET", `${messages}?before=999999&limit=10`);
  t.ok(chat.results.some((event: Json) => event.event_id === sent.event_id));
  const { status } = await site.api(`${messages}${sent.event_id}/`, {
    method: "DELETE",
  });
  t.equal(status, 204);
  await pushed("chat.event", ofType("deleted"));

  const { question } = await ada.do("question.ask", { room, content: "Why?" });
  await ada.do("question.vote", { room, id: question.id, vote: true });
  const admin = await site.user("admin", "admin", "editor");
  const { poll } = await admin.do("poll.create", {
    ...{ room, content: "Which?", state: "open", poll_type: "choice" },
    options: [{ content: "A", order: 0 }],
  });
  const [{ id: option }] = poll.options;
  await ada.do("poll.vote", { room, id: poll.id, options: [option] });
  await until(async () => {
    const { results } = await site.save("GET", `rooms/${room}/polls/`);
    return results[0].results?.[option] === 1;
  });
  await until(async () => {
    const { results } = await site.save("GET", `rooms/${room}/questions/`);
    return results[0].score === 1;
  });

  const moderate = (moderation_state: string) =>
    site.save("PATCH", `users/${ada.id}/`, { moderation_state });
  t.match(await moderate("silenced"), { moderation_state: "silenced" });
  await ada.closed;
  const silent = await site.user("ada", "reader");
  const message = { channel: room, event_type: "channel.message", content };
  t.equal(await silent.code("chat.send", message), "protocol.denied");
  await moderate("banned");
  await silent.closed;
});

void t.test("tokens of other issuers", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const [rs, es] = await Promise.all([
    makeKey("RS256", "rs"),
    makeKey("ES256", "es"),
  ]);
  const keys = await keyServer(t, [rs.jwk, es.jwk]);
  const issuer = "https://login.example.org";
  const entry = {
    ...{ issuer, audience: "foyer", jwks_url: keys.url },
    traits: {
      ...{ always: ["reader"], claim: "realm_access.roles" },
      map: { board: ["admin"] },
    },
  };
  const configure = (config: object) => site.save("PATCH", "", { config });
  await configure({ JWT_issuers: [entry] });
  await configure({ theme: {} });
  const kept = (await site.save("GET", "")).config;
  t.strictSame(kept.JWT_issuers, [entry], "another PATCH keeps them");
  const named = { iss: issuer, aud: "foyer", sub: "7", name: "Ada" };
  const board = { realm_access: { roles: ["board"] } };
  const rows: [name: string, token: string, status: number][] = [
    ["RS256", await rs.sign({ ...named, ...board }), 200],
    ["no such role", await rs.sign(named), 403],
    ["another audience", await rs.sign({ ...named, aud: "x" }), 401],
  ];
  const statusOf = async (address: string, token: string) => {
    const answer = await fetch(`${address}/api/v1/worlds/demo/`, {
      headers: { authorization: `Bearer ${token}`, connection: "close" },
    });
    return answer.status;
  };
  for (const [name, token, status] of rows) {
    for (const address of site.addresses) {
      t.equal(await statusOf(address, token), status, name);
    }
  }
  const people = await Promise.all(
    [1, 2].map(async () => site.enter({ token: await es.sign(named) })),
  );
  for (const { hello } of people) {
    t.match(hello["user.config"].profile, { display_name: "Ada" });
  }
  const users = await site.save("GET", "users/");
  t.match(users, { count: 1, results: [{ token_id: `${issuer}#7` }] });
  // Both processes have the keys, whichever took what came before.
  await until(async () => {
    await Promise.all(
      site.addresses.map((address) => statusOf(address, rows[0]![1])),
    );
    return keys.asked >= 2;
  });
  keys.answer = { status: 503 };
  await site.enter({ token: await rs.sign(named) });
  const asked = keys.asked;
  for (let i = 0; i < 20; i++) {
    const unknown = await rs.sign(named, { kid: `x${i}` });
    const answer = await site.fetch("/api/v1/worlds/demo/", {
      headers: { authorization: `Bearer ${unknown}` },
    });
    t.equal(answer.status, 401);
  }
  t.ok(keys.asked <= asked + 2, "once a minute, at each process");
  await configure({ JWT_issuers: [] });
  await Promise.all(people.map(({ closed }) => closed));
  t.pass("its users are out");
});

void t.test("people sign in at a provider", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const path = "/w/demo/sign-in/sso/";
  const [begins, ends] = [site.addresses[0]!, site.addresses.at(-1)!];
  const provider = await startProvider(t, [`${begins}${path}callback`]);
  provider.claims = { name: "Ada" };
  const sso = {
    ...{ id: "sso", name: "Example", issuer: provider.issuer },
    ...{ client_id: "foyer", client_secret: "a-secret-of-the-client" },
    traits: { always: ["reader"] },
  };
  await site.save("PATCH", "", { config: { oidc: [sso] } });
  const browser = new Browser();
  const back = await browser.until(begins + path, /\/callback\?/);
  // Cookies belong to a host, whatever its port.
  const there = back.replace(begins, ends);
  const { location } = await browser.get(there, browser.cookies(back));
  const [, token] = location!.split("#token=");
  const person = await site.enter({ token });
  t.match(person.hello["user.config"].profile, { display_name: "Ada" });
  const again = await browser.get(there, browser.cookies(back));
  t.match(again.location, /\?sign-in=/, "a callback counts once");
});
