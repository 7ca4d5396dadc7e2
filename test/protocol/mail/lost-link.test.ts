import t, { type Test } from "tap";
import type { Json } from "../../../conformance/client.js";
import { until } from "../../support/helper.js";
import { startMailServer } from "../../support/mail-server.js";
import { openWorld } from "../../support/open-world.js";
import { startServer } from "../../support/server.js";

// Links by e-mail, for people who lost theirs.

const mail = await startMailServer(t);
const publicUrl = "https://rooms.example.org";
const server = await startServer(t, {
  config: { publicUrl, mail: mail.settings(), trustProxy: ["loopback"] },
});

let network = 0;

async function openEvent() {
  const world = await openWorld(server, {});
  // Each event receives requests from a different network.
  const headers = { "x-forwarded-for": `203.0.113.${++network}` };
  const post = (path: string, body: object, more: Record<string, string> = {}) =>
    server.call({
      method: "POST",
      url: `/api/v1/worlds/${world.id}/${path}`,
      headers: { ...headers, ...more },
      body,
    });
  const invite = async (draft: object): Promise<Json> =>
    (await world.rest("POST", "invitations/", { role: "attendee", ...draft })).body;
  const ask = (email: string, more: object = {}) => post("login-mails/", { email, ...more });
  const redeem = (code: string) => post("logins/", { code });
  /** Waits for the nth mail to an address, and returns the code in it. */
  const codeTo = async (to: string, nth = 1) => {
    const own = () => mail.mails.filter((it) => it.to === to);
    await until(() => own().length >= nth);
    const { text } = own()[nth - 1]!;
    return /#login=([\w-]+)/.exec(text)![1]!;
  };
  return { world, post, invite, ask, redeem, codeTo };
}

void t.test("a link by e-mail signs in once", async (t) => {
  const { world, post, invite, ask, redeem, codeTo } = await openEvent();
  await invite({ name: "Ada", email: "Ada@One.example.org", language: "de" });
  const forged = { host: "evil.example.org", "x-forwarded-host": "evil.example.org" };
  const body = { email: "aDA@one.EXAMPLE.org", page: "console" };
  const asked = await post("login-mails/", body, forged);
  t.match(asked, { status: 202, body: {} });
  const code = await codeTo("Ada@One.example.org");
  const { text, headers } = mail.mails.at(-1)!;
  t.match(text, "Guten Tag Ada,");
  t.ok(text.includes(`${publicUrl}/w/${world.id}/console#login=${code}\n`), "not of the request");
  t.notOk("list-unsubscribe" in headers);
  t.notMatch(JSON.stringify(await world.rest("GET", "audit/")), code);
  const { status, body: login } = await redeem(code);
  t.equal(status, 200);
  const { token, url } = login as Json;
  t.equal(url, `${publicUrl}/w/${world.id}/console#token=${token}`);
  const ada = await world.connect();
  await ada.login({ token });
  t.match(ada.hello["user.config"].profile, { display_name: "Ada" });
  t.equal((await redeem(code)).status, 401, "a second time");
  await ask("ada@one.example.org");
  const both = await codeTo("Ada@One.example.org", 2);
  const answers = await Promise.all([redeem(both), redeem(both), redeem(both)]);
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 401, 401]);
});

void t.test("a code of a revoked invitation, or of another event, lets nobody in", async (t) => {
  const one = await openEvent();
  const other = await openEvent();
  const { id } = await one.invite({ email: "eve@two.example.org" });
  await one.ask("eve@two.example.org");
  const code = await one.codeTo("eve@two.example.org");
  t.equal((await other.redeem(code)).status, 401);
  await one.world.rest("PATCH", `invitations/${id}/`, { revoked: true });
  t.equal((await one.redeem(code)).status, 401);
  await one.world.rest("PATCH", `invitations/${id}/`, { revoked: false });
  t.equal((await one.redeem(code)).status, 401, "it was used up");
  for (const [what, to, ...changes] of [
    ["revoked and restored", "ed@two.example.org", { revoked: true }, { revoked: false }],
    ["with another address", "el@two.example.org", { email: "new@two.example.org" }],
  ] as const) {
    const { id } = await one.invite({ email: to });
    await one.ask(to);
    const code = await one.codeTo(to);
    for (const change of changes) {
      t.equal((await one.world.rest("PATCH", `invitations/${id}/`, change)).status, 200);
    }
    t.equal((await one.redeem(code)).status, 401, what);
  }
  for (const wrong of ["", "x", "x".repeat(43), "../..", "x".repeat(201)]) {
    t.ok([400, 401].includes((await one.redeem(wrong)).status), wrong);
  }
  const nowhere = { method: "POST", url: "/api/v1/worlds/none/logins/", body: { code } };
  t.equal((await server.call(nowhere)).status, 401);
});

void t.test("each person with an address gets a link", async (t) => {
  const { world, invite, ask } = await openEvent();
  await invite({ name: "Ann", email: "team@three.example.org" });
  await invite({ name: "Bob", email: "team@three.example.org", role: "speaker" });
  const gone = await invite({ name: "Cy", email: "team@three.example.org" });
  await world.rest("PATCH", `invitations/${gone.id}/`, { revoked: true });
  await ask("team@three.example.org");
  const own = () => mail.mails.filter(({ to }) => to === "team@three.example.org");
  await until(() => own().length === 2);
  t.strictSame(
    own()
      .map(({ text }) => text.split("\n")[0])
      .sort(),
    ["Hello Ann,", "Hello Bob,"],
  );
});

/** Returns the store calls that result from a request for a link. */
async function workFor(t: Test, email: string, isKnown: boolean): Promise<string[]> {
  const made: string[] = [];
  let isRecording = false;
  const own = await startMailServer(t);
  const { call, rest, store } = await startServer(t, {
    config: { publicUrl, mail: own.settings() },
    faults: {
      wrap: (store) =>
        new Proxy(store, {
          get(target, part: keyof typeof store) {
            const methods = target[part] as Record<string, unknown>;
            if (!["mails", "invitations"].includes(part)) return methods;
            return new Proxy(methods, {
              get(inner, name: string) {
                const method = inner[name];
                if (typeof method !== "function") return method;
                return (...args: unknown[]) => {
                  if (isRecording) made.push(`${part}.${name}`);
                  return (method as (...args: unknown[]) => unknown).apply(inner, args);
                };
              },
            });
          },
        }),
    },
  });
  const draft = { role: "attendee", email: "known@four.example.org" };
  await rest("POST", "demo/invitations/", draft);
  isRecording = true;
  const url = "/api/v1/worlds/demo/login-mails/";
  const answer = await call({ method: "POST", url, body: { email } });
  t.strictSame([answer.status, answer.text], [202, "{}"]);
  await until(() => made.filter((name) => name === "mails.settle").length === 1);
  isRecording = false;
  t.equal(own.mails.length, isKnown ? 1 : 0);
  const { waiting } = await store.mails.counts("demo");
  t.equal(waiting, 0);
  // The frequency of queue checks depends on time alone.
  return made.filter((name) => !/^mails\.(due|nextAt|turn|claimed)$/.test(name));
}

void t.test("an address that nobody has makes the same answer and the same work", async (t) => {
  const known = await workFor(t, "known@four.example.org", true);
  const unknown = await workFor(t, "unknown@four.example.org", false);
  t.strictSame(unknown, known);
  t.ok(known.includes("mails.issue"));
});

void t.test("requests are limited by address, in silence, and by network", async (t) => {
  const { invite, ask, codeTo, post, world } = await openEvent();
  await invite({ email: "often@five.example.org" });
  for (let i = 0; i < 5; i++) t.match(await ask("often@five.example.org"), { status: 202 });
  await codeTo("often@five.example.org", 3);
  for (const often of ["OFTEN@five.example.org", "often@ﬁve.example.org"]) {
    t.equal((await ask(often)).status, 202, "another spelling of the address");
  }
  for (let i = 7; i < 30; i++) t.equal((await ask(`x${i}@five.example.org`)).status, 202);
  const limited = await ask("x@five.example.org");
  t.match(limited, { status: 429, headers: { "retry-after": "900" } });
  t.equal((await ask("often@five.example.org")).status, 429, "also for known addresses");
  const elsewhere = { "x-forwarded-for": "198.51.100.7" };
  const other = await post("login-mails/", { email: "y@five.example.org" }, elsewhere);
  t.equal(other.status, 202);
  t.equal(mail.mails.filter(({ to }) => to === "often@five.example.org").length, 3);
  for (const body of [
    {},
    { email: "x" },
    { email: "a@b\r\nBcc: c@d" },
    { email: "a@b", page: "x" },
  ]) {
    t.equal((await post("login-mails/", body, elsewhere)).status, 400, JSON.stringify(body));
  }
  const url = "/api/v1/worlds/none/login-mails/";
  const nowhere = await server.call({ method: "POST", url, body: { email: "a@b.org" } });
  t.match(nowhere, { status: 202, body: {} }, "an event that does not exist");
  t.ok(world.id);
});

void t.test("codes cannot be guessed quickly", async (t) => {
  const { redeem } = await openEvent();
  const answers = await Promise.all(
    Array.from({ length: 125 }, (_, i) => redeem(`${i}`.padStart(43, "x"))),
  );
  const count = (wanted: number) => answers.filter(({ status }) => status === wanted).length;
  t.strictSame([count(401), count(429)], [120, 5]);
});
