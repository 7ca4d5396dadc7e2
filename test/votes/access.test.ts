import t from "tap";
import type { Client } from "../live/client.js";
import { commands } from "./commands.js";
import { byTrait, startVotes } from "./kit.js";

// Sections 9, 10, B and 3.1: who may give which command.

void t.test("who may do what", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;

  /** Holds the answer to each command against the keys that somebody holds. */
  const check = async (
    client: Client,
    room: string,
    held: readonly string[],
    name: string,
  ) => {
    const wanted: Record<string, string> = {};
    const found: Record<string, string> = {};
    for (const { action, key, payload, passes } of commands) {
      const may = held.some(
        (one) => one === key || (one.endsWith(".") && key.startsWith(one)),
      );
      wanted[action] = may ? passes : "protocol.denied";
      found[action] = await client.code(action, { room, ...payload });
    }
    return { found, wanted, name };
  };
  const open = [
    "question.read",
    "question.ask",
    "question.vote",
    "poll.read",
    "poll.vote",
  ];
  const all = ["question.", "poll."];

  await t.test("B the default rules", async (t) => {
    const room = await votes.room();
    const silenced = async (uid: string, traits: string[]) => {
      const { id } = await votes.person(uid, traits);
      await (await votes.host()).do("user.silence", { id });
      return votes.person(uid, traits);
    };
    const rows: [name: string, client: Client, held: string[]][] = [
      ["attendee", await votes.person("attendee"), open],
      ["guest", await live.guest(), open],
      ["api", await votes.person("api", ["api"]), open],
      ["chat.moderate", await votes.person("mod", ["admin"]), all],
      ["silenced", await silenced("quiet", []), ["question.read", "poll.read"]],
      [
        "silenced moderator",
        await silenced("quiet mod", ["admin"]),
        ["question.read", "poll.read"],
      ],
    ];
    for (const [name, client, held] of rows) {
      const { found, wanted } = await check(client, room, held, name);
      t.same(found, wanted, name);
    }
  });

  await t.test("B one rule of a room for each key", async (t) => {
    const room = await votes.room({ rules: byTrait });
    for (const key of Object.keys(byTrait)) {
      const client = await votes.person(`only ${key}`, [key]);
      const { found, wanted } = await check(client, room, [key], key);
      t.same(found, wanted, key);
    }
    const admin = await votes.person("boss", ["admin"]);
    const { found, wanted } = await check(admin, room, [], "admin");
    t.same(found, wanted, "chat.moderate does not count beside an own rule");
  });

  await t.test("B chat.moderate of the room counts, too", async (t) => {
    const room = await votes.room({ rules: { "chat.moderate": ["local"] } });
    const local = await votes.person("local", ["local"]);
    const first = await check(local, room, all, "local");
    t.same(first.found, first.wanted, "of the room");
    const admin = await votes.person("mod", ["admin"]);
    const second = await check(admin, room, open, "admin");
    t.same(second.found, second.wanted, "instead of that of the world");
  });

  await t.test("B every key takes room.view", async (t) => {
    const room = await votes.room({ rules: { "room.view": ["secret"] } });
    const admin = await votes.person("mod", ["admin"]);
    const { found, wanted } = await check(admin, room, [], "admin");
    t.same(found, wanted);
  });

  await t.test("3.1 other commands of the modules", async (t) => {
    const client = await live.guest();
    for (const kind of ["question", "poll"]) {
      for (const word of ["create_all", "", "get", "__proto__", "result"]) {
        const code = await client.code(`${kind}.${word}`, {});
        t.equal(code, `${kind}.unsupported_command`, `${kind}.${word}`);
      }
    }
  });
});
