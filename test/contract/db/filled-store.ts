import type { Store } from "../../../db/contract/store.js";
import { worldOf } from "../../support/helper.js";
import { resources } from "../../support/resources.js";
import { chatting, DELETED, text } from "./store-contract/chat-setup.js";

/** Fills a store with a bit of everything. */
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
  // The audit keeps entries that the log no longer has.
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
  await store.polls.vote("demo", room, poll.id, cy, { options: [poll.options[0]!.id] });
  const cloud = await store.polls.create("demo", room, {
    content: "Which word?",
    options: [],
    state: "open",
    poll_type: "words",
  });
  await store.polls.vote("demo", room, cloud.id, cy, { answers: ["Straße", "rude"], at: 5 });
  await store.polls.hideAnswer("demo", room, cloud.id, "rude", true);
  await store.users.update("demo", ada, {
    profile: { display_name: "Ada", fields: { city: "Straße" } },
  });
  await store.users.block("demo", ada, bob);
  const troll = { clientId: "troll", traits: new Set<string>(), network: "192.0.2.0/24" };
  const { id: banned } = await store.users.enter("demo", troll);
  await store.users.moderate("demo", banned, { state: "banned", networkUntil: 4e12 });
  await store.announcements.create("demo", {
    text: "A\u0001 🎈",
    show_until: null,
    state: "active",
  });
  await store.program.createSpeaker("demo", { name: "Ada" }, []);
  const made = await store.program.createSession("demo", { title: "Talk" });
  if ("faults" in made) throw new Error("The session was refused.");
  await store.program.favor("demo", ada, made.session.value.id, true);
  const imported = await store.program.createSpeaker("demo", { name: "Bo", import_id: "b" }, []);
  if ("faults" in imported) throw new Error("The speaker was refused.");
  await store.program.updateSpeaker("demo", imported.value.id, { name: "Boe" }, []);
  const rating = { session: made.session.value.id, stars: 4, text: "Lively!" };
  await store.ratings.rate("demo", ada, rating, 1);
  await store.programLinks.link("demo", ada, false);
  await store.attendance.sample("demo", 0, [{ room, people: 2 }]);
  await store.attendance.note("demo", [{ user: ada, room, from: 1, to: 2 }]);
  await store.push.keep("", { publicKey: "p", privateKey: "q" });
  const browser = { endpoint: "https://e/1", p256dh: "p", auth: "a" };
  await store.push.subscribe("demo", ada, browser, 1);
  await store.push.claim("demo", "message 1", 1);
  const device = {
    identity: `${ada}:1`,
    user: ada,
    hidden: false,
    access: { traits: [] },
    ends: 9,
  };
  await store.calls.issued("demo", room, device, { now: 1 });
  const visit = { identity: device.identity, session: "s1" };
  await store.calls.joined("demo", room, visit, { at: 1, now: 1 });
  await store.calls.left("demo", room, visit, { at: 2, now: 2 });
  await store.calls.joined("demo", room, { ...visit, session: "s2" }, { at: 3, now: 3 });
  await store.calls.stage("demo", room, ada, true, 3);
  await store.calls.raise("demo", room, bob, 3);
  await store.invites.link("demo", room, { now: 1, soon: 2, ends: 3 });
  await store.screens.show("demo", room, { show: "black" });
  const line = { lang: "en", text: "Hello.", final: true, at: 1 };
  await store.captions.add("demo", room, [line, { ...line, text: "And", final: false }], ada, 1);
  const slow = { seconds: 10, at: 1 };
  await store.chat.hold("demo", room, { sender: ada, content: text("waits"), slow }, 1);
  const complaint = { by: bob, reason: "spam", text: "Look!", at: 1 } as const;
  const message = { kind: "message", room, channel: room, event: first.id } as const;
  await store.reports.create("demo", message, complaint);
  await store.reports.create("demo", { kind: "user", room: null, user: ada }, complaint);
  for (const { fill } of resources) await fill?.(store);
  return { room, ada, cy };
}
