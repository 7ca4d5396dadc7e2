import t from "tap";
import type { Json } from "../../../conformance/client.js";
import { signInvitation } from "../../../db/world-management.js";
import { type Bend, SoftKey } from "../../support/authenticator.js";
import { keyOf } from "../../support/helper.js";
import { demo, type Server, startServer } from "../../support/server.js";

const ORIGIN = "https://events.example.org";
const env = { PUBLIC_URL: ORIGIN };
const PASSKEYS = "/api/v1/worlds/demo/passkeys/";

/** The requests of a page. */
function pageOf({ call }: Pick<Server, "call">, world = "demo") {
  const url = PASSKEYS.replace("demo", world);
  const send = async (method: string, path: string, body?: unknown, as?: string) => {
    const answer = await call({ method, url: url + path, as, body });
    return { status: answer.status, body: (answer.body ?? null) as Json };
  };
  const page = {
    send,
    list: async (as: string) => (await send("GET", "", undefined, as)).body.results as Json[],
    options: async (as: string) => (await send("POST", "options/", undefined, as)).body,
    async add(as: string, key: SoftKey, bend?: Bend, name?: string) {
      const { options, state } = await page.options(as);
      return send("POST", "", { state, name, response: key.create(options, bend) }, as);
    },
    loginOptions: async () => (await send("POST", "login/options/")).body,
    async logIn(key: SoftKey, bend?: Bend) {
      const { options, state } = await page.loginOptions();
      return send("POST", "login/", { state, response: key.get(options, bend) });
    },
  };
  return page;
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());

void t.test("a person signs in with a passkey, with the rights of today", async (t) => {
  const server = await startServer(t, { env });
  const page = pageOf(server);
  const person = { uid: "ann", traits: ["attendee"], profile: { display_name: "Ann" } };
  const ann = await server.person(person);
  const as = `Bearer ${server.tokenOf(person)}`;
  const key = new SoftKey(ORIGIN);
  const { options } = await page.options(as);
  t.match(options, {
    rp: { id: "events.example.org", name: "demo" },
    user: { name: "Ann · demo", displayName: "Ann" },
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  const added = await page.add(as, key, {}, "Laptop");
  t.match(added, {
    status: 201,
    body: { id: key.id, name: "Laptop", host: "events.example.org", used_at: null },
  });
  const again = await page.options(as);
  t.match(again.options.excludeCredentials, [{ id: key.id, transports: ["internal"] }]);

  const first = await page.logIn(key);
  t.equal(first.status, 200);
  t.match(claimsOf(first.body.token), { uid: "ann", traits: ["attendee"] });
  t.match(await page.list(as), [{ id: key.id, used_at: /^2/ }]);
  // Her next token has different traits.
  await server.person({ ...person, traits: ["speaker"] });
  const second = await page.logIn(key);
  t.match(claimsOf(second.body.token), { uid: "ann", traits: ["speaker"] });
  const client = await server.connect();
  const [answer] = await client.login({ token: second.body.token });
  t.equal(answer, "authenticated");

  const audit = await server.rest("GET", "demo/audit/");
  const { id } = ann.hello["user.config"];
  const acts = audit.body.results as Json[];
  t.match(
    acts.find(({ type }) => type === "passkey.created"),
    { subject: { user_id: id } },
  );
});

void t.test("a guest signs in as the same guest", async (t) => {
  const server = await startServer(t, { env });
  const page = pageOf(server);
  await server.guest("ann-s-browser");
  const key = new SoftKey(ORIGIN);
  t.equal((await page.add("Client ann-s-browser", key)).status, 201);
  t.strictSame((await page.logIn(key)).body, { client_id: "ann-s-browser" });
});

void t.test("a passkey is refused", async (t) => {
  const other = demo({ id: "other" });
  const server = await startServer(t, { env, worlds: [demo(), other] });
  const page = pageOf(server);
  const person = { uid: "ann", traits: ["attendee"] };
  const as = `Bearer ${server.tokenOf(person)}`;
  await server.person(person);
  const key = new SoftKey(ORIGIN);
  await page.add(as, key);

  const bends: Record<string, Bend> = {
    "on a page of another origin": { origin: "https://evil.example.org" },
    "on a page of the same host and another port": { origin: `${ORIGIN}:8443` },
    "for another host": { host: "example.org" },
    "with another challenge": { challenge: Buffer.alloc(32).toString("base64url") },
    "with a signature that is not its own": { signature: Buffer.alloc(70, 1) },
    "that nobody unlocked": { isVerified: false },
    "as if it were added": { type: "webauthn.create" },
    "with the handle of another person": { userHandle: "AAAAAAAAAAAAAAAAAAAAAA" },
    "without a handle": { userHandle: undefined },
    "that nobody has added": { id: "AAAAAAAAAAAAAAAAAAAAAA" },
  };
  for (const [name, bend] of Object.entries(bends)) {
    await t.test(name, async (t) => {
      const { status, body } = await page.logIn(key, bend);
      t.strictSame(
        [status, body.detail],
        [401, "This passkey does not sign anyone in here."],
        "each gets the same answer",
      );
      const added = await page.add(as, new SoftKey(ORIGIN), bend);
      const isFault = !["userHandle", "signature", "type", "id"].some((it) => it in bend);
      if (isFault) t.equal(added.status, 400);
    });
  }

  await t.test("in another event of the server", async (t) => {
    const elsewhere = pageOf(server, "other");
    t.equal((await elsewhere.logIn(key)).status, 401);
    const { options, state } = await page.loginOptions();
    const body = { state, response: key.get(options) };
    t.equal((await elsewhere.send("POST", "login/", body)).status, 400, "a state of this event");
    const token = `Bearer ${server.tokenOf({ uid: "u", world: "other" })}`;
    t.equal((await page.send("GET", "", undefined, token)).status, 403);
  });

  await t.test("when the answer is sent again", async (t) => {
    const { options, state } = await page.loginOptions();
    const body = { state, response: key.get(options) };
    t.equal((await page.send("POST", "login/", body)).status, 200);
    t.equal((await page.send("POST", "login/", body)).status, 401);
    const later = { state, response: key.get(options) };
    t.equal((await page.send("POST", "login/", later)).status, 401, "the challenge is used up");
  });

  await t.test("when its counter goes back", async (t) => {
    t.equal((await page.logIn(key, { counter: 50 })).status, 200);
    for (const counter of [0, 49, 50]) {
      t.equal((await page.logIn(key, { counter })).status, 401, `at ${counter}`);
    }
    t.equal((await page.logIn(key, { counter: 51 })).status, 200);
    key.counter = 51;
  });

  await t.test("with the state of another ceremony, or none", async (t) => {
    const adding = await page.options(as);
    const { options } = await page.loginOptions();
    for (const state of [adding.state, "", "x", `${adding.state}x`]) {
      const body = { state, response: key.get(options) };
      t.match(await page.send("POST", "login/", body), { status: 400, body: { state: [/./] } });
    }
    const bob = { uid: "bob" };
    await server.person(bob);
    const forBob = await page.options(`Bearer ${server.tokenOf(bob)}`);
    const response = new SoftKey(ORIGIN).create(forBob.options);
    const body = { state: forBob.state, response };
    t.equal((await page.send("POST", "", body, as)).status, 400, "the state of another person");
  });

  await t.test("with a body that is no answer", async (t) => {
    const { state } = await page.loginOptions();
    const bodies = [
      {},
      { state },
      { state, response: null },
      { state, response: { id: "a", rawId: "a", type: "public-key", response: {} } },
      { state, response: { id: "a b", rawId: "a", type: "public-key", response: {} } },
    ];
    for (const body of bodies) t.equal((await page.send("POST", "login/", body)).status, 400);
    const response: object = { clientDataJSON: "e30", authenticatorData: "", signature: "" };
    const odd = { id: key.id, rawId: key.id, type: "public-key", response };
    t.equal((await page.send("POST", "login/", { state, response: odd })).status, 401);
    const adding = await page.options(as);
    const body = { state: adding.state, response: { ...odd, response } };
    t.equal((await page.send("POST", "", body, as)).status, 400);
  });
});

void t.test("a passkey ends with what it was based on", async (t) => {
  const keys = [keyOf("demo")];
  const server = await startServer(t, { env });
  const page = pageOf(server);
  const enter = async (uid: string, traits = ["attendee"]) => {
    const person = { uid, traits };
    const as = `Bearer ${server.tokenOf(person)}`;
    const client = await server.person(person);
    const key = new SoftKey(ORIGIN);
    t.equal((await page.add(as, key)).status, 201);
    return { as, key, id: client.hello["user.config"].id as string };
  };

  await t.test("a ban", async (t) => {
    const { id, key, as } = await enter("banned");
    const state = (moderation_state: string) =>
      server.rest("PATCH", `demo/users/${id}/`, { moderation_state });
    await state("banned");
    t.match(await page.logIn(key), { status: 403 });
    t.equal((await page.send("GET", "", undefined, as)).status, 403);
    await state("none");
    t.equal((await page.logIn(key)).status, 200);
  });

  await t.test("an erasure", async (t) => {
    const { id, key } = await enter("erased");
    await server.rest("POST", "demo/delete_user", { user_id: id });
    t.equal((await page.logIn(key)).status, 401);
  });

  await t.test("its own removal, by its owner only", async (t) => {
    const { as, key } = await enter("owner");
    const { as: another } = await enter("another");
    const remove = (token: string) => page.send("DELETE", `${key.id}/`, undefined, token);
    t.equal((await remove(another)).status, 403);
    t.equal((await page.logIn(key)).status, 200);
    t.equal((await remove(as)).status, 204);
    t.equal((await remove(as)).status, 403);
    t.equal((await page.logIn(key)).status, 401);
  });

  await t.test("the key that signed the token of its owner", async (t) => {
    const { key } = await enter("signed");
    const config = (secrets: object[]) =>
      server.store.worlds.update("demo", { config: { JWT_secrets: secrets as never } });
    const fresh = { issuer: "fresh", audience: "fresh", secret: "f".repeat(64) };
    await config([fresh, ...keys]);
    t.equal((await page.logIn(key)).status, 200, "a new key in front");
    await config([fresh]);
    t.equal((await page.logIn(key)).status, 403);
    await config(keys);
  });

  await t.test("the limit of ten", async (t) => {
    const { as, key } = await enter("collector");
    for (let i = 2; i <= 10; i++) await page.add(as, new SoftKey(ORIGIN));
    t.equal((await page.list(as)).length, 10);
    t.match(await page.add(as, new SoftKey(ORIGIN)), { status: 409, body: { code: "quota" } });
    t.match(await page.add(as, key), { status: 409 });
  });
});

void t.test("an invited person", async (t) => {
  const server = await startServer(t, { env });
  const page = pageOf(server);
  const { invitations, worlds } = server.store;
  // Without SMTP_URL, an e-mail address is no way to return.
  const none = { passkeys: 0, email: false, mail: false, recovery: false, invitation: null };
  const WAYS = "/api/v1/worlds/demo/ways/";
  const ways = async (as: string) => (await server.call({ url: WAYS, as })).body;
  const recover = async (as: string) => {
    const { status, body } = await server.call({ method: "POST", url: `${WAYS}recovery/`, as });
    return { status, url: (body as Json).url as string };
  };
  const logIn = async (token: string) => (await (await server.connect()).login({ token }))[0];
  const invite = async (role: string) => {
    const [invitation] = await invitations.create("demo", [{ role, name: "Ann" }]);
    const world = (await worlds.get("demo"))!.value;
    const token = await signInvitation(world, invitation!, "link");
    t.equal(await logIn(token), "authenticated");
    return { id: invitation!.id, as: `Bearer ${token}`, key: new SoftKey(ORIGIN) };
  };

  await t.test("signs in with the role of today", async (t) => {
    const { id, as, key } = await invite("speaker");
    t.strictSame(await ways(as), { ...none, invitation: id });
    t.equal((await page.add(as, key)).status, 201);
    await invitations.update("demo", id, { role: "moderator", email: "ann@example.org" });
    const { token } = (await page.logIn(key)).body;
    t.match(claimsOf(token), { traits: ["moderator"], jti: new RegExp(`^${id}\\.s`) });
    t.match(await ways(`Bearer ${token}`), { passkeys: 1, email: false, recovery: false });
    await invitations.renew("demo", id, "link");
    t.equal((await page.logIn(key)).status, 200, "the passkey survives a new link");
  });

  await t.test("is out once the invitation is revoked", async (t) => {
    const { id, as, key } = await invite("speaker");
    await page.add(as, key);
    const { token } = (await page.logIn(key)).body;
    await invitations.update("demo", id, { revoked: true });
    t.equal((await page.logIn(key)).status, 403);
    t.equal((await page.send("GET", "", undefined, `Bearer ${token}`)).status, 401);
    await invitations.update("demo", id, { revoked: false });
    t.equal((await page.logIn(key)).status, 403, "also when it is restored");
  });

  await t.test("is out once the invitation has ended or is gone", async (t) => {
    const { id, as, key } = await invite("speaker");
    await page.add(as, key);
    await invitations.update("demo", id, { expires_at: Date.now() - 1 });
    t.equal((await page.logIn(key)).status, 403);
    await invitations.update("demo", id, { expires_at: null });
    t.equal((await page.logIn(key)).status, 200);
    await invitations.remove("demo", id);
    t.equal((await page.logIn(key)).status, 403);
  });

  await t.test("has one recovery link", async (t) => {
    const { as } = await invite("admin");
    const first = await recover(as);
    t.match(first.url, `${ORIGIN}/w/demo/console#token=`);
    const tokenIn = (url: string) => url.split("#token=")[1]!;
    t.equal(await logIn(tokenIn(first.url)), "authenticated");
    t.match(await ways(as), { recovery: true });
    const second = await recover(`Bearer ${tokenIn(first.url)}`);
    t.equal(await logIn(tokenIn(first.url)), "error", "a new one ends the one before");
    t.equal(await logIn(tokenIn(second.url)), "authenticated");
    t.equal((await ways(as)) !== undefined, true, "the first link stays");
    t.match((await recover((await invite("attendee")).as)).url, `${ORIGIN}/w/demo/#token=`);
  });

  await t.test("differs from others, who have no recovery link", async (t) => {
    await server.person("bob");
    const as = `Bearer ${server.tokenOf({ uid: "bob" })}`;
    t.strictSame(await ways(as), none);
    t.equal((await recover(as)).status, 409);
  });
});

void t.test("ceremonies count once on all processes, and after a restart", async (t) => {
  const server = await startServer(t, { processes: 2 });
  const person = { uid: "ann" };
  await server.person(person);
  const as = `Bearer ${server.tokenOf(person)}`;
  const page = pageOf(server);
  const key = new SoftKey(server.baseUrl);
  t.equal((await page.add(as, key)).status, 201);
  const { options, state } = await page.loginOptions();
  const body = { state, response: key.get(options) };
  const all = await Promise.all([1, 2, 3, 4, 5, 6].map(() => page.send("POST", "login/", body)));
  t.equal(all.filter(({ status }) => status === 200).length, 1);
  await server.restart();
  t.equal((await page.send("POST", "login/", body)).status, 401);
  t.equal((await page.logIn(key)).status, 200);
});
