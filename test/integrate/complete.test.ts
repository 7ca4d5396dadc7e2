import t from "tap";
import { importDocument } from "../../db/program-imports.js";
import type { Store } from "../../db/contract/store.js";
import { type Entry, INDEX } from "../../db/log/entries.js";
import { published } from "../../db/log/published.js";
import type { FeedType } from "../../schemas/plain/feed.js";
import { openStore } from "../database.js";
import { documentOf } from "../db/store-contract/program.js";
import { worldOf } from "../helper.js";
import { testdir } from "../testdir.js";

// Every write of the store is in the change feed, or here with the reason why not.

/** The methods of all parts of the store. */
type Method = {
  [P in keyof Store]-?: Store[P] extends (...args: never[]) => unknown
    ? never
    : `${P}.${keyof NonNullable<Store[P]> & string}`;
}[keyof Store];

/** What a write shows, in the order of the entries. */
type Shown = [write: () => Promise<unknown>, ...types: FeedType[]];

/** A read, or why a write shows nothing. */
type Silent = "reads" | { not: string };

const reads = "reads";
const OF_SERVER = { not: "The feed of a world begins and ends with it." };
const OWN = { not: "Only its user sees it." };
const AUDITED = { not: "It is in the audit, as an act that changes no data." };
const AGED = { not: "Retention ends what is too old for all readers." };
const STATE = { not: "It is what the server keeps for its own work." };

const silent = {
  "worlds.get": reads,
  "worlds.at": reads,
  "worlds.list": reads,
  "worlds.issuing": reads,
  "worlds.export": reads,
  "worlds.create": OF_SERVER,
  "worlds.clone": OF_SERVER,
  "worlds.import": OF_SERVER,
  "worlds.delete": OF_SERVER,
  "rooms.get": reads,
  "rooms.list": reads,
  "rooms.all": reads,
  "users.get": reads,
  "users.find": reads,
  "users.getMany": reads,
  "users.byPretalx": reads,
  "users.search": reads,
  "users.list": reads,
  "users.blocked": reads,
  "users.block": OWN,
  "users.unblock": OWN,
  "files.has": reads,
  "files.get": reads,
  "files.list": reads,
  "files.keys": reads,
  "files.size": reads,
  "announcements.list": reads,
  "attendance.counts": reads,
  "attendance.visits": reads,
  "attendance.sample": { not: "Attendance has answers of its own." },
  "attendance.note": { not: "Attendance has answers of its own." },
  "attendance.prune": AGED,
  "chat.lastId": reads,
  "chat.channel": reads,
  "chat.events": reads,
  "chat.sent": reads,
  "chat.event": reads,
  "chat.deliveries": reads,
  "chat.isMember": reads,
  "chat.members": reads,
  "chat.memberships": reads,
  "chat.unread": reads,
  "chat.react": { not: "Reactions are not shown to programs." },
  "chat.direct": { not: "Direct channels are never in the feed." },
  "chat.mark": OWN,
  "chat.empty": { not: "`user.erased` says whose messages have no text." },
  "chat.expire": AGED,
  "questions.get": reads,
  "questions.seen": reads,
  "questions.ofUser": reads,
  "questions.list": reads,
  "polls.get": reads,
  "polls.list": reads,
  "polls.ballots": reads,
  "polls.voters": reads,
  "program.get": reads,
  "program.rooms": reads,
  "program.references": reads,
  "program.favorites": reads,
  "program.favor": OWN,
  "programLinks.user": reads,
  "programLinks.link": OWN,
  "invites.find": reads,
  "invites.of": reads,
  "invites.link": AUDITED,
  "invites.end": AUDITED,
  "push.key": reads,
  "push.of": reads,
  "push.due": reads,
  "push.keep": STATE,
  "push.subscribe": OWN,
  "push.forget": OWN,
  "push.claim": STATE,
  "webhooks.list": reads,
  "webhooks.get": reads,
  "webhooks.enabled": reads,
  "webhooks.create": AUDITED,
  "webhooks.update": AUDITED,
  "webhooks.delete": AUDITED,
  "webhooks.hold": STATE,
  "webhooks.beat": STATE,
  "webhooks.note": STATE,
  "webhooks.disable": AUDITED,
  "audit.list": reads,
  "audit.callers": reads,
  "audit.record": AUDITED,
  "audit.prune": AGED,
  "log.heads": reads,
  "log.since": reads,
  "log.floor": reads,
  "log.state": reads,
  "log.history": reads,
  "log.prune": AGED,
} satisfies Partial<Record<Method, Silent>>;

/** The writes that are shown: all others. */
type ShownWrites = Record<Exclude<Method, keyof typeof silent>, Shown[]>;

void t.test("every write is shown, or has a reason", async (t) => {
  const entries: Entry[] = [];
  const store = openStore(t, testdir(t), {
    onAppended: (hints) => {
      entries.push(...hints.map(({ entry }) => entry));
      return undefined;
    },
  });
  const { worlds, rooms, users, files, announcements } = store;
  const { chat, questions, polls, program } = store;
  await worlds.create(worldOf("demo"));
  const visitor = { tokenId: "ada", traits: new Set<string>() };
  const { id: ada } = await users.enter("demo", visitor);
  const { id: bob } = await users.enter("demo", { ...visitor, tokenId: "bob" });
  const key = "pub/demo/0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10.secret.png";
  const file = { key, size: 1, sha256: "00" };
  await files.add("demo", visitor, file, 1e9);
  const room = (await rooms.create("demo", { name: "R" })).value.id;
  const question = await questions.create("demo", room, {
    ...{ sender: ada, content: "q", state: "visible" },
  });
  const poll = await polls.create("demo", room, {
    ...{ content: "p", state: "open", options: [{ content: "o" }] },
  });
  const made = await announcements.create("demo", {
    ...{ text: "a", state: "draft", show_until: null },
  });
  const valueOf = <T>(answer: T) => answer as Exclude<T, { faults: unknown }>;
  const speakerWith = async (fields: object) =>
    valueOf(
      await program.createSpeaker("demo", { name: "x", ...fields }, [
        "demo.example",
      ]),
    ).value.id;
  const speaker = await speakerWith({});
  await speakerWith({ user_id: bob });
  await speakerWith({ picture: `https://demo.example/media/${key}` });
  const session = valueOf(
    await program.createSession("demo", {
      ...{ title: "s", speaker_ids: [speaker], room_id: room },
    }),
  ).session.value.id;
  const sight = { sees: () => true, hosts: [] };
  const message = { sender: ada, content: { type: "text", body: "x" } };
  await chat.join("demo", room, ada);
  const { event } = await chat.send("demo", room, message);

  const writes: ShownWrites = {
    "worlds.update": [
      [() => worlds.update("demo", { title: "b" }), "world.updated"],
    ],
    "worlds.configure": [
      [() => worlds.configure("demo", { title: "c" }), "world.updated"],
    ],
    "rooms.create": [
      [() => rooms.create("demo", { name: "S" }), "room.created"],
    ],
    "rooms.open": [[() => rooms.open("demo", { name: "T" }), "room.created"]],
    "rooms.update": [
      [() => rooms.update("demo", room, { name: "U" }), "room.updated"],
    ],
    "rooms.schedule": [
      [() => rooms.schedule("demo", room, { session: 1 }), "room.updated"],
    ],
    "rooms.reorder": [[() => rooms.reorder("demo", [room]), "rooms.reordered"]],
    "users.enter": [
      [
        () => users.enter("demo", { ...visitor, tokenId: "cy" }),
        "user.created",
      ],
      [
        () => users.enter("demo", { tokenId: "cy", traits: new Set(["x"]) }),
        "user.updated",
      ],
    ],
    "users.update": [
      [
        () => users.update("demo", ada, { profile: { display_name: "A" } }),
        "user.updated",
      ],
    ],
    "users.moderate": [
      [() => users.moderate("demo", bob, "silenced"), "user.moderated"],
    ],
    "users.moderateNamed": [
      [
        () => users.moderateNamed("demo", "later", "banned"),
        ...(["user.created", "user.moderated"] as const),
      ],
    ],
    "users.erase": [
      [
        () => users.erase("demo", { user_id: bob }),
        ...(["user.erased", "speaker.updated"] as const),
      ],
    ],
    "files.add": [
      [
        () => files.add("demo", visitor, { ...file, key: `${key}.jpeg` }, 1e9),
        "file.added",
      ],
    ],
    "files.delete": [
      [
        () => files.delete("demo", "0d6f1a3e-8c1b-4a55-9f5e-2f6d4c7a9b10"),
        ...(["file.deleted", "speaker.updated"] as const),
      ],
    ],
    "announcements.create": [
      [
        () =>
          announcements.create("demo", {
            ...{ text: "b", state: "draft", show_until: null },
          }),
        "announcement.created",
      ],
    ],
    "announcements.update": [
      [
        () => announcements.update("demo", made.id, { text: "c" }),
        "announcement.updated",
      ],
    ],
    "chat.join": [
      [
        async () =>
          chat.join(
            "demo",
            room,
            (await users.find("demo", { tokenId: "cy" }))!.id,
          ),
        "chat.joined",
      ],
    ],
    "chat.send": [
      [() => chat.send("demo", room, message), "chat.message"],
      [
        () => chat.send("demo", room, { ...message, replaces: event.id }),
        "chat.edited",
      ],
      [
        () =>
          chat.send("demo", room, {
            ...{ sender: ada, content: { type: "deleted" } },
            replaces: event.id,
          }),
        "chat.deleted",
      ],
    ],
    "chat.leave": [[() => chat.leave("demo", room, ada, false), "chat.left"]],
    "questions.create": [
      [
        () =>
          questions.create("demo", room, {
            ...{ sender: ada, content: "r", state: "visible" },
          }),
        "question.created",
      ],
    ],
    "questions.update": [
      [
        () =>
          questions.update("demo", room, question.id, { answered: true }, ada),
        "question.updated",
      ],
    ],
    "questions.vote": [
      [
        () => questions.vote("demo", room, question.id, ada, true, false),
        "question.votes",
      ],
    ],
    "questions.pin": [
      [() => questions.pin("demo", room, question.id, ada), "question.updated"],
    ],
    "questions.delete": [
      [() => questions.delete("demo", room, question.id), "question.deleted"],
    ],
    "polls.create": [
      [
        () => polls.create("demo", room, { content: "q", options: [] }),
        "poll.created",
      ],
    ],
    "polls.update": [
      [
        () => polls.update("demo", room, poll.id, { content: "r" }, ada),
        "poll.updated",
      ],
    ],
    "polls.vote": [
      [
        () => polls.vote("demo", room, poll.id, ada, [poll.options[0]!.id]),
        "poll.votes",
      ],
    ],
    "polls.pin": [
      [() => polls.pin("demo", room, poll.id, ada), "poll.updated"],
    ],
    "polls.delete": [
      [() => polls.delete("demo", room, poll.id), "poll.deleted"],
    ],
    "program.createSession": [
      [() => program.createSession("demo", { title: "t" }), "session.created"],
    ],
    "program.updateSession": [
      [
        () => program.updateSession("demo", session, { title: "u" }),
        "session.updated",
      ],
    ],
    "program.createSpeaker": [
      [
        () => program.createSpeaker("demo", { name: "y" }, []),
        "speaker.created",
      ],
    ],
    "program.updateSpeaker": [
      [
        () => program.updateSpeaker("demo", speaker, { name: "z" }, []),
        "speaker.updated",
      ],
    ],
    "program.deleteSpeaker": [
      [
        () => program.deleteSpeaker("demo", speaker),
        ...(["session.updated", "speaker.deleted"] as const),
      ],
    ],
    "rooms.delete": [
      [
        () => rooms.delete("demo", room),
        ...(["room.deleted", "session.updated"] as const),
      ],
    ],
    "program.deleteSession": [
      [() => program.deleteSession("demo", session), "session.deleted"],
    ],
    "program.import": [
      [
        () =>
          importDocument(
            store,
            "demo",
            documentOf(["a"]),
            { createRooms: true },
            sight,
          ),
        ...(["room.created", "speaker.created", "session.created"] as const),
      ],
      [
        async () => {
          const changed = documentOf(["b"]);
          changed.speakers[0]!.fields.name = "new";
          return importDocument(store, "demo", changed, {}, sight);
        },
        ...(["speaker.updated", "session.updated"] as const),
      ],
    ],
  };
  for (const [name, all] of Object.entries(writes)) {
    for (const [write, ...types] of all) {
      entries.length = 0;
      await write();
      const shown = entries
        .filter(({ world }) => world !== INDEX)
        .flatMap((entry) => published(entry)?.type ?? []);
      t.strictSame(shown, types, name);
    }
  }
  const methods = Object.entries(store).flatMap(([part, of]) =>
    of instanceof Function || of === undefined
      ? []
      : Object.keys(of).map((method) => `${part}.${method}`),
  );
  const named = [...Object.keys(silent), ...Object.keys(writes)];
  const unnamed = methods.filter((method) => !named.includes(method));
  t.strictSame(unnamed, [], "all methods are named");
});
