import t, { type Test } from "tap";
import { get } from "svelte/store";
import { Live } from "../../client/index.js";
import { startTestServer } from "../../testing.js";
import { Directory } from "../../web/state/directory.js";
import { Session } from "../../web/state/session.js";
import { until } from "../helper.js";

async function start(t: Test, traits: string[]) {
  const server = await startTestServer();
  t.teardown(() => server.close());
  await server.createWorld({ id: "demo" });
  const { baseUrl } = server;
  const visit = async (uid: string, traits: string[]) => {
    const profile = { display_name: uid };
    const token = await server.token("demo", { uid, traits, profile });
    const live = new Live({ baseUrl, world: "demo", token });
    t.teardown(() => live.close());
    return { live, id: (await live.connected()).user.id };
  };
  const ben = await visit("ben", ["attendee"]);
  const token = await server.token("demo", { uid: "ada", traits });
  const session = new Session({ baseUrl, world: "demo", identity: { token } });
  t.teardown(() => session.close());
  await session.live.connected();
  const directory = new Directory(session);
  const row = (id: string) => get(directory).people?.find((it) => it.id === id);
  return { server, session, directory, ben, row };
}

void t.test("the people of a world, with what REST knows", async (t) => {
  const { directory, ben, row, session } = await start(t, ["admin", "api"]);
  t.equal(get(directory).people, undefined);
  await directory.show("", 1);
  t.match(get(directory), { count: 2, isLast: true, isLoading: false });
  t.match(row(ben.id), {
    tokenId: "ben",
    traits: ["attendee"],
    state: "",
    isOnline: true,
    lastSeen: /^20/,
  });

  await directory.silence(ben.id);
  t.equal(row(ben.id)?.state, "silenced");
  await directory.ban(ben.id);
  t.equal(row(ben.id)?.state, "banned");
  await until(async () => {
    await directory.refresh();
    return row(ben.id)?.isOnline === false;
  });
  await directory.reactivate(ben.id);
  t.equal(row(ben.id)?.state, "");

  await directory.show("BE", 1);
  t.match(get(directory), { people: [{ id: ben.id }], count: undefined });
  t.match(row(ben.id), { traits: ["attendee"] }, "what is known stays known");
  await directory.show("nobody", 1);
  t.same(get(directory).people, []);

  await directory.show("", 1);
  await t.rejects(directory.ban(session.me!.id), { code: "user.ban.self" });
  await directory.erase(ben.id);
  t.equal(row(ben.id), undefined);
  await directory.show("", 1);
  t.equal(row(ben.id), undefined);
});

void t.test("without the right to REST's list", async (t) => {
  const { directory, ben, row } = await start(t, []);
  await directory.show("", 1);
  t.match(row(ben.id), {
    state: undefined,
    tokenId: undefined,
    traits: undefined,
    isOnline: true,
  });
  await t.rejects(directory.silence(ben.id), { code: "auth.denied" });
  await t.rejects(directory.erase(ben.id), { name: "FoyerError" });
  t.ok(row(ben.id), "it is still there");
});

void t.test("only the last question is answered", async (t) => {
  const { directory, ben } = await start(t, ["admin", "api"]);
  const first = directory.show("nobody", 1);
  const second = directory.show("ben", 1);
  await Promise.all([first, second]);
  t.match(get(directory), { term: "ben", people: [{ id: ben.id }] });
});
