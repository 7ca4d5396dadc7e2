import t from "tap";
import type { Client } from "../live/client.js";
import { commands } from "./commands.js";
import { startVotes } from "./kit.js";

// Sections 9, 10, B and 3.1: who may give which command.

void t.test("who may do what", async (t) => {
  const votes = await startVotes(t);
  const { live } = votes;

  /** Compares the answer to each command with the keys of its sender. */
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

  await t.test("B chat.moderate of the room counts, too", async (t) => {
    const room = await votes.room({ rules: { "chat.moderate": ["local"] } });
    const local = await votes.person("local", ["local"]);
    const first = await check(local, room, all, "local");
    t.same(first.found, first.wanted, "of the room");
    const admin = await votes.person("mod", ["admin"]);
    const second = await check(admin, room, open, "admin");
    t.same(second.found, second.wanted, "instead of the rule of the world");
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
