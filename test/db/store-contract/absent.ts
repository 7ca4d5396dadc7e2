import type { PollChanges } from "../../../db/contract/polls.js";
import { ABSENT, type Contract, fails } from "./setup.js";

/** A write says what is absent: the live layer answers each with another code. */
export async function absentContract(contract: Contract): Promise<void> {
  await contract("absent names what is not there", async (t, store) => {
    const { worlds, rooms, users, announcements, files, chat } = store;
    const { questions, polls } = store;
    const ada = { tokenId: "ada", traits: new Set<string>() };
    const { id } = await users.enter("demo", ada);
    const name = { user_id: ABSENT };
    const room = (await rooms.create("demo", { name: "R" })).value.id;
    await chat.join("demo", room, id);
    const draft = { sender: id, content: { type: "text", body: "x" } };
    const by = { user: id, reaction: "x", remove: false, volatile: false };
    const question = { sender: id, content: "x", state: "visible" } as const;
    const poll = await polls.create("demo", room, {
      content: "x",
      options: [],
    });
    const change = (options: PollChanges["options"]) =>
      polls.update("demo", room, poll.id, { options }, id);
    const writes: [field: string, write: Promise<unknown>][] = [
      ["world", worlds.update("none", {})],
      ["world", worlds.configure("none", {})],
      ["world", worlds.delete("none")],
      ["world", rooms.create("none", { name: "R" })],
      ["world", rooms.open("none", { name: "R" })],
      ["world", users.enter("none", ada)],
      ["world", announcements.create("none", { text: "x" })],
      ["room", rooms.update("demo", ABSENT, {})],
      ["room", rooms.schedule("demo", ABSENT, null)],
      ["room", rooms.delete("demo", ABSENT)],
      ["user", users.update("demo", ABSENT, {})],
      ["user", users.moderate("demo", ABSENT, "banned")],
      ["user", users.block("demo", id, ABSENT)],
      ["user", users.erase("demo", name)],
      ["file", files.delete("demo", "none")],
      ["announcement", announcements.update("demo", ABSENT, {})],
      ["room", chat.send("demo", ABSENT, draft)],
      ["room", chat.join("demo", ABSENT, id)],
      ["room", chat.leave("demo", ABSENT, id, false)],
      ["room", chat.react("demo", ABSENT, 1, by)],
      ["user", chat.join("demo", room, ABSENT)],
      ["user", chat.empty("demo", ABSENT, 0)],
      ["event", chat.send("demo", room, { ...draft, replaces: 99 })],
      ["event", chat.react("demo", room, 99, by)],
      ["room", questions.create("demo", ABSENT, question)],
      ["room", questions.update("demo", ABSENT, ABSENT, {}, id)],
      ["room", questions.delete("demo", ABSENT, ABSENT)],
      ["room", questions.vote("none", room, ABSENT, id, true, false)],
      ["room", questions.pin("demo", ABSENT, null, id)],
      ["question", questions.update("demo", room, ABSENT, {}, ABSENT)],
      ["question", questions.delete("demo", room, ABSENT)],
      ["question", questions.vote("demo", room, ABSENT, ABSENT, true, false)],
      ["question", questions.pin("demo", room, ABSENT, id)],
      ["user", questions.create("demo", room, { ...question, sender: ABSENT })],
      ["user", questions.pin("demo", room, null, ABSENT)],
      ["room", polls.create("none", room, { content: "x", options: [] })],
      ["room", polls.update("demo", ABSENT, poll.id, {}, id)],
      ["room", polls.delete("demo", ABSENT, poll.id)],
      ["room", polls.vote("demo", ABSENT, poll.id, id, [])],
      ["room", polls.pin("demo", ABSENT, null, id)],
      ["poll", polls.update("demo", room, ABSENT, {}, ABSENT)],
      ["poll", polls.delete("demo", room, ABSENT)],
      ["poll", polls.vote("demo", room, ABSENT, ABSENT, [])],
      ["poll", polls.pin("demo", room, ABSENT, id)],
      ["user", polls.update("demo", room, poll.id, {}, ABSENT)],
      ["user", polls.vote("demo", room, poll.id, ABSENT, [])],
      ["user", polls.pin("demo", room, poll.id, ABSENT)],
      ["user", polls.pin("demo", room, null, ABSENT)],
      ["option", change([{ content: "x" }, { id: ABSENT }])],
      ["option", change([{}])],
    ];
    // Some fail while an earlier one is awaited.
    for (const [, write] of writes) write.catch(() => {});
    for (const [field, write] of writes) {
      await fails(t, write, "absent", field);
    }
  });
}
