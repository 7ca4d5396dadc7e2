import type { Author } from "../../../db/contract/author.js";
import type { Store } from "../../../db/contract/store.js";
import { worldOf } from "../../support/helper.js";
import { chatting, DELETED, text } from "./store-contract/chat-setup.js";

/** Fills a store with something of everything. */
export async function fill(store: Store) {
  await store.worlds.create(worldOf("demo"));
  const { room, ada, bob, cy, say } = await chatting(store);
  const { event: first } = await say("first");
  await say("to be edited");
  const { event: wrong } = await say("shameful");
  const edit = { replaces: first.id, content: text("first, edited") };
  await say("", edit);
  await say("", { replaces: wrong.id, content: DELETED });
  await store.chat.react("demo", room, first.id, {
    user: bob,
    reaction: "+1",
    remove: false,
    volatile: false,
  });
  const { channel } = await store.chat.direct("demo", ada, [ada, bob], false);
  const direct = { sender: ada, content: text("hello") };
  await store.chat.send("demo", channel.id, direct);
  const module_config = [{ type: "chat.native", config: {} }];
  await store.rooms.create("demo", { name: "Chat", module_config });
  // The audit keeps what the log has no more.
  await store.log.prune("demo", Date.now() + 1000);
  for (const name of ["b", "a"]) {
    const uploader = { clientId: "x", traits: new Set<string>() };
    const file = { key: `pub/demo/${name}`, size: 3, sha256: "0".repeat(64) };
    await store.files.add("demo", uploader, file, 100);
  }
  const question = await store.questions.create("demo", room, {
    sender: ada,
    content: "why?",
    state: "visible",
  });
  await store.questions.vote("demo", room, question.id, bob, true, false);
  const options = [{ content: "a" }, { content: "b" }];
  const poll = await store.polls.create("demo", room, {
    content: "which?",
    options,
    state: "open",
    poll_type: "multi",
  });
  await store.polls.vote("demo", room, poll.id, cy, [poll.options[0]!.id]);
  await store.users.update("demo", ada, {
    profile: { display_name: "Ada", fields: { city: "Straße" } },
  });
  await store.users.block("demo", ada, bob);
  await store.announcements.create("demo", {
    text: "A\u0001 🎈",
    show_until: null,
    state: "active",
  });
  await store.program.createSpeaker("demo", { name: "Ada" }, []);
  const made = await store.program.createSession("demo", { title: "Talk" });
  if ("faults" in made) throw new Error("The session was refused.");
  await store.program.favor("demo", ada, made.session.value.id, true);
  await store.programLinks.link("demo", ada, false);
  await store.attendance.sample("demo", 0, [{ room, people: 2 }]);
  await store.attendance.note("demo", [{ user: ada, room, from: 1, to: 2 }]);
  await store.push.keep("", { publicKey: "p", privateKey: "q" });
  const browser = { endpoint: "https://e/1", p256dh: "p", auth: "a" };
  await store.push.subscribe("demo", ada, browser, 1);
  await store.push.claim("demo", "message 1", 1);
  await store.invites.link("demo", room, { now: 1, soon: 2, ends: 3 });
  const hook = { url: "https://a.example.org/", types: ["*"] };
  const by: Author = { kind: "api", token: "0".repeat(32), uid: "shop" };
  await store.webhooks.create("demo", { ...hook, enabled: true, description: "" }, "whsec_x", by);
  return { room, ada, cy };
}
