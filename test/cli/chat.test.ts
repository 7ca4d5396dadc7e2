import { shared } from "../shared.js";
import { openIn, openStoreIn } from "../stack.js";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { Store } from "../../db/contract/store.js";
import { textsBelow } from "../files.js";
import { foyer, until, worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

const WORLD = "demo";

const enter = (store: Store, tokenId: string) =>
  store.users.enter(WORLD, {
    tokenId,
    traits: new Set<string>(),
    profile: { display_name: `=${tokenId}, "the first"` },
  });

/** A folder with a world in which there was some chat. */
async function chatted(t: Test) {
  const dataDir = join(testdir(t), "data");
  const store = await openStoreIn(t, dataDir);
  await store.worlds.create(worldOf(WORLD));
  const { value: room } = await store.rooms.create(WORLD, { name: "Main" });
  const { value: quiet } = await store.rooms.create(WORLD, { name: "Quiet" });
  const ada = await enter(store, "ada");
  const bob = await enter(store, "bob");
  const eve = await enter(store, "eve");
  const gone = await enter(store, "gone");
  const { chat } = store;
  for (const { id } of [ada, bob, gone]) await chat.join(WORLD, room.id, id);
  const send = async (
    channel: string,
    sender: { id: string },
    content: Record<string, unknown>,
    more: object = {},
  ) => {
    const draft = { sender: sender.id, content, ...more };
    return (await chat.send(WORLD, channel, draft)).event.id;
  };
  const say = (
    channel: string,
    sender: { id: string },
    body: string,
    more = {},
  ) => send(channel, sender, { type: "text", body, "1": [null] }, more);
  const first = await say(room.id, ada, "=1+1\r\nof ada");
  const hello = await say(room.id, bob, "hello of bob", {
    mentioned: [ada.id],
  });
  const typo = await say(room.id, ada, "a tyop of ada");
  await say(room.id, ada, "a typo of ada", { replaces: typo });
  const doomed = await say(room.id, bob, "regretted by bob");
  await send(room.id, bob, { type: "deleted" }, { replaces: doomed });
  await say(room.id, gone, "said by gone");
  const files = [{ url: "/media/x.pdf", name: "x.pdf", mimeType: "x" }];
  await send(room.id, ada, { type: "files", files, body: '"look" of ada' });
  for (const user of [bob, ada, gone]) {
    for (const reaction of ["👏", "❤️"]) {
      await chat.react(WORLD, room.id, first, {
        ...{ user: user.id, reaction, remove: false, volatile: false },
      });
    }
  }
  const users = [ada.id, bob.id].sort();
  const { channel } = await chat.direct(WORLD, ada.id, users, true);
  await say(channel.id, ada, "a secret of ada");
  await chat.leave(WORLD, channel.id, bob.id, false);
  const mark = { world: WORLD, channel: room.id };
  await chat.mark([
    { ...mark, user: ada.id, pointer: first, listed: hello },
    { ...mark, user: eve.id, pointer: null, listed: 0 },
  ]);
  await store.users.erase(WORLD, { user_id: gone.id });
  return {
    ...{ dataDir, store, room, quiet, ada, bob, gone },
    direct: channel.id,
  };
}

void t.test("chat is exported for people", async (t) => {
  const { dataDir, store, room, quiet, ada, bob, gone, direct } =
    await chatted(t);
  const got = await foyer(dataDir, ["chat", "export", WORLD]);
  t.match(got, { code: 0, stderr: "" });
  const events = JSON.parse(got.stdout) as Record<string, unknown>[];

  const sent = await store.chat.events(WORLD, room.id, { after: 0, limit: 99 });
  t.strictSame(
    events.map(({ event_id }) => event_id),
    sent.map(({ id }) => id),
  );
  t.match(events, [
    { type: "channel.member", text: "join", sender: ada.id, room: "Main" },
    { type: "channel.member", sender_name: '=bob, "the first"' },
    { sender: gone.id, sender_name: null },
    { text: "=1+1\r\nof ada", files: [], edited: null, deleted: false },
    { text: "hello of bob", sender: bob.id, channel: room.id },
    { text: "a typo of ada", edited: /^20.*Z$/, replaces: null },
    { text: "a typo of ada", replaces: events[5]!.event_id },
    { text: null, deleted: true },
    { text: null, deleted: true, replaces: events[7]!.event_id },
    { text: "said by gone" },
    { files: [{ url: "/media/x.pdf", name: "x.pdf" }] },
  ]);
  const json = await foyer(dataDir, ["chat", "export", WORLD, "--json"]);
  t.equal(json.stdout, got.stdout);

  const csv = await foyer(dataDir, [
    ...["chat", "export", WORLD, "--format", "csv", "--room", "Main"],
  ]);
  const lines = csv.stdout.split("\r\n");
  t.equal(
    lines[0],
    "event_id,channel,room,timestamp,sender,sender_name,type,text,files,edited,replaces,deleted",
  );
  t.equal(lines.length, 1 + events.length + 1);
  t.match(
    lines[4],
    `,"'=ada, ""the first""",channel.message,"'=1+1\nof ada",,,,false`,
  );
  t.match(lines[11], `,"""look"" of ada",/media/x.pdf,,,false`);

  const all = await foyer(dataDir, ["chat", "export", WORLD, "--direct"]);
  t.match((JSON.parse(all.stdout) as unknown[]).slice(events.length), [
    { room: null, channel: direct, text: "join" },
    { text: "join" },
    { text: "a secret of ada", sender_name: /ada/ },
  ]);
  const one = await foyer(dataDir, [
    "chat",
    "export",
    WORLD,
    "--room",
    quiet.id,
  ]);
  t.equal(one.stdout, "[]\n");
  await store.rooms.create(WORLD, { name: "Main" });
  const wrong: [args: string[], code: number, stderr: RegExp][] = [
    [["--room", "Main"], 1, /2 rooms have this name: [\w-]+, [\w-]+\./],
    [["--room", "main"], 1, /There is no room main in demo/],
    [["--format", "xml"], 2, /format/],
    [["--format", "csv", "--json"], 2, /json/],
    [["--direct", "--room", room.id], 2, /direct/],
  ];
  for (const [args, code, stderr] of wrong) {
    const got = await foyer(dataDir, ["chat", "export", WORLD, ...args]);
    t.match(got, { code, stderr, stdout: "" }, args.join(" "));
  }
});

void t.test("the messages of a user are erased", async (t) => {
  const { dataDir, store, room, ada, bob, gone } = await chatted(t);
  const remove = (id: string, ...more: string[]) =>
    foyer(dataDir, ["user", "delete", WORLD, id, "--messages", ...more]);
  t.same(await remove(ada.id), {
    code: 0,
    stdout: `The user ${ada.id} is erased, with the content of 5 messages.\n`,
    stderr: "",
  });
  t.equal((await store.users.get(WORLD, ada.id))?.deleted, true);
  const own = (
    await store.chat.events(WORLD, room.id, { after: 0, limit: 99 })
  ).filter(
    ({ sender, type }) => sender === ada.id && type === "channel.message",
  );
  t.equal(own.length, 4);
  t.ok(own.every(({ content }) => content === '{"type":"deleted"}'));
  const again = await remove(ada.id, "--json");
  t.strictSame(JSON.parse(again.stdout), { deleted: ada.id, messages: 0 });
  t.match(await remove(gone.id), {
    code: 0,
    stdout: `The user ${gone.id} is erased, with the content of 1 message.\n`,
  });
  const kept = await foyer(dataDir, ["user", "delete", WORLD, bob.id]);
  t.equal(kept.stdout, `The user ${bob.id} is erased.\n`);
  t.match(await remove("none"), { code: 1, stderr: /no such user/ });
  t.match(
    await foyer(dataDir, ["user", "delete", "none", ada.id, "--messages"]),
    {
      code: 1,
      stderr: /There is no world none/,
    },
  );
  await store.close();
  t.strictSame(
    await textsBelow(dataDir, ["of ada", "tyop", "by gone", "hello of bob"]),
    shared ? [] : ["hello of bob"],
    "with all bytes",
  );
  t.match(await foyer(dataDir, ["check"]), { code: 0 });
});

void t.test("a server beside learns exactly what happened", async (t) => {
  const { dataDir, store, ada } = await chatted(t);
  await store.users.erase(WORLD, { user_id: ada.id });
  const engines = await openIn(t, dataDir);
  const seen: string[] = [];
  await engines.events.follow(WORLD);
  engines.events.subscribe((event) => {
    // Engines with a cache follow the log of all worlds, too.
    if (!("seq" in event) || event.world !== WORLD) return;
    seen.push(`${event.type} by ${event.by.kind}`);
  });
  const remove = ["user", "delete", WORLD, ada.id, "--messages"];
  const removed = await foyer(dataDir, remove);
  t.match(removed.stdout, "the content of 5 messages");
  await until(() => seen.length === 1);
  const { stdout } = await foyer(dataDir, [
    ...["world", "export", WORLD, "--with-history"],
  ]);
  await store.worlds.delete(WORLD);
  await until(() => seen.length === 3);
  await foyer(dataDir, ["world", "import", "-"], {}, stdout);
  await until(() => seen.length === 18);
  t.strictSame(
    [...seen.slice(0, 3), seen.at(-1)],
    [
      "chat.erased by command",
      "noted by command",
      "world.deleted by command",
      "world.created by command",
    ],
  );
  t.ok(seen.slice(3, -1).every((name) => name === "chat.event by user"));
});
