import t from "tap";
import { ask } from "../system/chatter.js";
import type { Person } from "../system/person.js";
import {
  createRoom,
  type Node,
  SECONDS,
  startNode,
  startSite,
  within,
} from "./kit.js";
import { personAt } from "./talk.js";

// A node sleeps while others write: a virtual machine that is moved, or a laptop that is
// shut. When it wakes up, its people get what they missed, and nothing that they may not
// see any more.

/** How many messages are sent meanwhile: more than one read of the log takes. */
const MESSAGES = 400;

/** What happens to the links of a node while it sleeps. */
const FATES = {
  "its links live": () => {},
  "its links are reset": ({ links }: Node) => {
    links.valkey.reset();
    links.postgres.reset();
  },
  "its links die in silence": ({ links }: Node) => {
    links.valkey.hang();
    links.postgres.hang();
  },
};

const send = (person: Person, channel: string, body: string) =>
  ask(person, "chat.send", {
    channel,
    event_type: "channel.message",
    content: { type: "text", body },
  });

interface Event {
  channel: string;
  event_type: string;
  content: { body: string };
}

const bodies = (events: readonly Event[]): string[] =>
  events
    .filter(({ event_type }) => event_type === "channel.message")
    .map(({ content }) => content.body);

/** The texts that a user got in a channel, in order. */
const heard = (person: Person, channel: string): string[] =>
  bodies(
    (person.all("chat.event") as unknown as Event[]).filter(
      (event) => event.channel === channel,
    ),
  );

/** Asks for the last events of a channel. */
const last = (channel: string) => ({ channel, count: 10, before_id: 2 ** 40 });

for (const [fate, befall] of Object.entries(FATES)) {
  void t.test(`a node sleeps, and ${fate}`, async (t) => {
    const limit = 20 * SECONDS;
    const site = await startSite(t);
    const awake = await startNode(t, site);
    const sleeper = await startNode(t, site);
    const [hall, secret] = [
      await createRoom(awake, "Hall"),
      await createRoom(awake, "Secret"),
    ];
    const host = await personAt(t, awake, "host", "admin");
    const viewers = async () => {
      const entered = await ask(host, "room.enter", { room: hall });
      return (entered.viewers as unknown[]).length;
    };
    const witness = await personAt(t, awake, "witness");
    const ann = await personAt(t, sleeper, "ann");
    const [eve, bob] = [
      await personAt(t, sleeper, "eve"),
      await personAt(t, sleeper, "bob"),
    ];
    for (const person of [host, witness, ann, eve, bob]) {
      await ask(person, "chat.join", { channel: hall });
      await ask(person, "chat.join", { channel: secret });
    }
    await ask(ann, "room.enter", { room: hall });
    await within(limit, "the host sees her", async () => {
      return (await viewers()) === 2;
    });
    await send(host, hall, "before");
    await send(host, secret, "public");
    for (const person of [ann, eve, bob]) {
      await within(10 * SECONDS, "all hear what is public", () =>
        [hall, secret].every((room) => heard(person, room).length === 1),
      );
    }

    sleeper.signal("SIGSTOP");
    t.teardown(() => sleeper.signal("SIGCONT"));
    befall(sleeper);
    const sent = Array.from({ length: MESSAGES }, (_, i) => `message ${i}`);
    for (const body of sent) await send(host, hall, body);
    const { status } = await awake.api("PATCH", `rooms/${secret}/`, {
      permission_config: { "room.view": ["admin"], "chat.read": ["admin"] },
    });
    t.equal(status, 200);
    await ask(host, "user.ban", { id: bob.user });
    for (let i = 0; i < 5; i++) await send(host, secret, `secret ${i}`);
    await send(host, hall, "after the ban");
    // These wait in the sockets, and are the first that the node reads.
    const answers: string[] = [];
    const early = { event_type: "channel.message", channel: hall };
    const content = { type: "text", body: "from the banned" };
    for (const [person, action, payload] of [
      [eve, "chat.fetch", last(secret)],
      [bob, "chat.fetch", last(hall)],
      [bob, "chat.send", { ...early, content }],
    ] as const) {
      void person
        .call(action, payload)
        .then((answer) => answers.push(JSON.stringify(answer)));
    }
    await within(limit, "others no longer believe that it lives", async () => {
      return (await viewers()) === 1;
    });

    sleeper.signal("SIGCONT");
    if (fate === "its links die in silence") {
      await within(limit, "it notices that it is cut off", async () => {
        return (await sleeper.status("/readyz")) === 503;
      });
    }
    sleeper.links.valkey.heal();
    sleeper.links.postgres.heal();
    const took = await within(limit, "everybody has what was missed", () =>
      heard(ann, hall).includes("after the ban"),
    );
    t.comment(`caught up after ${Math.round(took)} ms`);
    const isOut = () => bob.closed !== undefined;
    await within(limit, "the banned one is out", isOut);

    t.equal(ann.closed, undefined, "who asks nothing stays");
    await send(host, hall, "awake again");
    await send(ann, hall, "me, too");
    await within(limit, "the node takes part again", () =>
      [ann, witness].every((person) => heard(person, hall).includes("me, too")),
    );
    const all = ["before", ...sent, "after the ban", "awake again", "me, too"];
    t.strictSame(heard(ann, hall), all, "all came, once and in order");
    t.strictSame(heard(witness, hall), all, "as where nothing happened");
    for (const person of [ann, eve, bob]) {
      t.strictSame(heard(person, secret), ["public"], "nothing that is hidden");
    }
    t.notOk(heard(bob, hall).includes("after the ban"), "nothing after it");
    t.notMatch(answers.join(), /secret|after the ban/, "no answer tells it");

    // A node without its database closes the connections that ask for something.
    if (eve.closed) t.equal(eve.closed.code, 1013, "she may come back");
    const back = eve.closed ? await personAt(t, sleeper, "eve") : eve;
    const fetched = await ask(back, "chat.fetch", last(hall));
    t.strictSame(bodies(fetched.results as Event[]), all.slice(-10));
    const { code } = await back.call("chat.fetch", last(secret));
    t.equal(code, "protocol.denied", "what is hidden stays so");
  });
}
