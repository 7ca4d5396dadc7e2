import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import {
  createRoom,
  NIGHT,
  type Node,
  SECONDS,
  type Site,
  startSite,
  within,
  WORLD,
} from "./kit.js";
import { Talk } from "./talk.js";
import type { Client } from "../../conformance/client.js";
import { keyOf, tokenOf } from "../support/helper.js";
import { pathOf, upload } from "../system/requests.js";

/** The number of listeners at the node that is killed. */
const CROWD = !NIGHT ? 300 : 1000;

interface Event {
  channel: string;
  event_type: string;
  content: { body: string };
}

/** A user who does not reconnect, and the events that this user has received. */
interface Person {
  client: Client;
  events: Event[];
}

async function personAt(node: Node, uid: string, ...traits: string[]): Promise<Person> {
  const profile = { display_name: uid };
  const client = await node.logIn({ token: tokenOf(keyOf(WORLD), { uid, traits, profile }) });
  const events: Event[] = [];
  client.ws.on("message", (data: Buffer) => {
    const [name, event] = JSON.parse(data.toString()) as [string, Event];
    if (name === "chat.event") events.push(event);
  });
  return { client, events };
}

void t.test("kill -9 of a node", async (t) => {
  const site = await startSite(t, 2);
  const [doomed, other] = site.nodes as [Node, Node];
  const talk = await Talk.start(t, [doomed, other], CROWD);

  // Users who do not reconnect.
  const lobby = await createRoom(other, "Lobby");
  const host = await personAt(other, "host", "admin");
  const viewers = async () => {
    const entered = await host.client.do("room.enter", { room: lobby });
    return (entered.viewers as { id: string }[]).length;
  };
  for (const uid of ["ann", "bob", "eve"]) {
    const ghost = await personAt(doomed, uid);
    await ghost.client.do("room.enter", { room: lobby });
  }
  await within(2 * SECONDS, "the host sees them", async () => {
    return (await viewers()) === 4;
  });

  talk.begin();
  await talk.goOn(60);
  const tell = (took: number) =>
    t.comment(`${CROWD} clients were back after ${Math.round(took)} ms`);
  const survived = talk.survives(doomed, 5 * SECONDS);
  survived.catch(() => {});
  const gone = await within(
    6 * SECONDS,
    "users who do not come back are gone",
    async () => (await viewers()) === 1,
  );
  tell(await survived);
  t.comment(`the others were gone after ${Math.round(gone)} ms`);
  await talk.goOn(60);

  // The other node is killed as soon as the first one has been replaced.
  const next = await site.startNode({ PORT: `${doomed.port}` });
  tell(await talk.survives(other, 5 * SECONDS));
  await talk.goOn(60);
  await talk.end();
  t.equal(await next.status("/readyz"), 200);
});

// A node sleeps while others write, like a virtual machine that is migrated or a laptop with its
// lid closed. When it wakes up, its users receive what they missed, but nothing that they may no
// longer see.

/** The number of messages sent during the sleep: more than a single read of the log returns. */
const MESSAGES = 400;

/** Faults in a node's links while it sleeps. */
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
  person.client.do("chat.send", {
    channel,
    event_type: "channel.message",
    content: { type: "text", body },
  });

const bodies = (events: readonly Event[]): string[] =>
  events
    .filter(({ event_type }) => event_type === "channel.message")
    .map(({ content }) => content.body);

/** Returns the texts that a user has received in a channel, in order. */
const heard = (person: Person, channel: string): string[] =>
  bodies(person.events.filter((event) => event.channel === channel));

/** Returns a query for the last events of a channel. */
const last = (channel: string) => ({ channel, count: 10, before_id: 2 ** 40 });

for (const [fate, befall] of Object.entries(FATES)) {
  void t.test(`a node sleeps, and ${fate}`, async (t) => {
    const limit = 20 * SECONDS;
    const site = await startSite(t, 2);
    const [awake, sleeper] = site.nodes as [Node, Node];
    const [hall, secret] = [await createRoom(awake, "Hall"), await createRoom(awake, "Secret")];
    const host = await personAt(awake, "host", "admin");
    const viewers = async () => {
      const entered = await host.client.do("room.enter", { room: hall });
      return (entered.viewers as unknown[]).length;
    };
    const witness = await personAt(awake, "witness");
    const ann = await personAt(sleeper, "ann");
    const [eve, bob] = [await personAt(sleeper, "eve"), await personAt(sleeper, "bob")];
    for (const person of [host, witness, ann, eve, bob]) {
      await person.client.do("chat.join", { channel: hall });
      await person.client.do("chat.join", { channel: secret });
    }
    await ann.client.do("room.enter", { room: hall });
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
    await host.client.do("user.ban", { id: bob.client.id });
    for (let i = 0; i < 5; i++) await send(host, secret, `secret ${i}`);
    await send(host, hall, "after the ban");
    // These requests wait in the sockets, and are the first thing that the node reads.
    const answers: string[] = [];
    const early = { event_type: "channel.message", channel: hall };
    const content = { type: "text", body: "from the banned" };
    for (const [person, action, payload] of [
      [eve, "chat.fetch", last(secret)],
      [bob, "chat.fetch", last(hall)],
      [bob, "chat.send", { ...early, content }],
    ] as const) {
      person.client.call(action, payload).then(
        (answer) => answers.push(JSON.stringify(answer)),
        () => {}, // The connection was closed first.
      );
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
    await within(limit, "the banned one is out", () => !bob.client.isOpen);

    t.ok(ann.client.isOpen, "who asks nothing stays");
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

    // A node without a database closes any connection that sends a request.
    const isOut = !eve.client.isOpen;
    if (isOut) t.match(await eve.client.closed, { code: 1013 }, "she may come back");
    const back = isOut ? await personAt(sleeper, "eve") : eve;
    const fetched = await back.client.do("chat.fetch", last(hall));
    t.strictSame(bodies(fetched.results as Event[]), all.slice(-10));
    const code = await back.client.code("chat.fetch", last(secret));
    t.equal(code, "protocol.denied", "what is hidden stays so");
  });
}

/** Waits until every object has a record and every record an object. */
async function expectMatch(t: Test, node: Node, site: Site): Promise<void> {
  let keys: string[] = [];
  let recorded: string[] = [];
  const isSo = async () => {
    const { body } = await node.api("GET", "files/?page_size=500");
    const { results } = body as { results: { url: string }[] };
    recorded = results.map(({ url }) => new URL(url, node.address).pathname);
    keys = await site.objects();
    return keys.length === recorded.length;
  };
  await within(15 * SECONDS, "what has no record goes", isSo).catch((error: unknown) =>
    t.fail(error as Error),
  );
  const names = (paths: string[]) => paths.map((path) => path.split("/").at(-1)).sort();
  t.same(names(keys), names(recorded));
}

void t.test("nodes are killed while files come in", async (t) => {
  const site = await startSite(t, 1);
  const stays = site.nodes[0]!;
  for (let round = 0; round < (!NIGHT ? 2 : 5); round++) {
    const doomed = await site.startNode();
    let taken = 0;
    const senders = Array.from({ length: 6 }, async () => {
      for (;;) {
        const answer = await upload(doomed).catch(() => undefined);
        if (!answer) return;
        if (answer.status === 201) taken++;
      }
    });
    await within(60 * SECONDS, "uploads", () => taken > 20);
    await delay(Math.random() * 50);
    doomed.signal("SIGKILL");
    await Promise.all(senders);
  }
  await site.startNode();
  await expectMatch(t, stays, site);
});

void t.test("the database goes while files come in", async (t) => {
  const site = await startSite(t, 1);
  const node = site.nodes[0]!;
  const paths: string[] = [];
  const statuses = new Set<number>();
  let isOver = false;
  const senders = Array.from({ length: 6 }, async () => {
    while (!isOver) {
      const answer = await upload(node);
      if (answer.status === 201) paths.push(pathOf(answer));
      statuses.add(answer.status);
    }
  });
  await within(60 * SECONDS, "uploads", () => paths.length > 20);
  await site.postgres.kill();
  await within(60 * SECONDS, "a refusal", () => statuses.has(503));
  await site.postgres.start();
  const before = paths.length;
  await within(60 * SECONDS, "more", () => paths.length > before + 20);
  isOver = true;
  await Promise.all(senders);
  t.same([...statuses].sort(), [201, 503]);
  await site.startNode();
  await expectMatch(t, node, site);
  for (const path of paths) {
    const status = await node.status(path);
    if (status !== 200) t.fail(`${path} is lost: ${status}`);
  }
});
