import t from "tap";
import { LiveKit } from "../../plugins/calls/livekit.js";
import { CallPage, noChromium, openCallBrowser } from "../support/call-page.js";
import { keyOf, tokenOf } from "../support/helper.js";
import { noLiveKit, startLiveKit } from "../support/servers/livekit.js";
import { freePort } from "../support/servers/port.js";
import { type Node, SECONDS, startSite, within, WORLD } from "./kit.js";

// Every node enforces the rights in a call, with the real media server: a person who entered
// through one node loses rights through a write on another node, which knows about the person only
// from the log.

/** Maximum time until rights are enforced after a write or an expiry, in milliseconds. */
const SOON = 1 * SECONDS;

/** Lifetime of the shortest login, in seconds: browsers have to enter before it ends. */
const SHORT = 45;

const options = { skip: noLiveKit || noChromium, timeout: 600_000 };

void t.test("rights in a call, with two nodes", options, async (t) => {
  const port = await freePort();
  // All webhooks go to the first node, so the other node learns from the log who is in the call.
  const webhook = `http://127.0.0.1:${port}/api/v1/calls/livekit/`;
  const engine = await startLiveKit(t, { webhook });
  const site = await startSite(t, 1, { ...engine.variables, PORT: `${port}` });
  const first = site.nodes[0]!;
  const second = await site.startNode({ PORT: "0" });
  const livekit = new LiveKit(engine.settings);
  t.teardown(() => livekit.close());
  const browser = await openCallBrowser(t);
  const module_config = [{ type: "call.native", config: {} }];
  const made = await second.api("POST", "rooms/", { name: "Call", module_config });
  const room = (made.body as { id: string }).id;

  const device = async (identity: string) =>
    (await livekit.participants(`${WORLD}/${room}`)).find((it) => it.identity === identity);

  /** Enters with a microphone through a node, and closes the websocket. */
  async function enter(node: Node, uid: string, seconds = 3600) {
    const exp = Math.floor(Date.now() / 1000) + seconds;
    const profile = { display_name: uid };
    const client = await node.logIn({ token: tokenOf(keyOf(WORLD), { uid, profile, exp }) });
    const ticket = await client.do("call.join", { room });
    const page = await CallPage.open(t, browser);
    await page.enter(ticket);
    await page.publish("microphone");
    const { id } = client;
    client.close();
    await client.closed;
    return { id, exp, page, identity: ticket.identity as string };
  }

  const decide = async (node: Node, { id }: { id: string }, moderation_state: string) => {
    const { status } = await node.api("PATCH", `users/${id}/`, { moderation_state });
    t.equal(status, 200);
  };

  const ann = await enter(first, "ann");
  const bob = await enter(first, "bob");
  const eve = await enter(first, "eve");
  const dan = await enter(first, "dan");
  const sees = (people: number) =>
    within(10 * SECONDS, `the second node sees ${people} people`, async () => {
      const { body } = await second.api("GET", `rooms/${room}/call/`);
      return (body as { people: number }).people === people;
    });
  await sees(4);

  async function loses(what: string, since: number, isLost: () => Promise<boolean>) {
    const took = await within(SOON, what, isLost, since);
    t.comment(`${what} after ${Math.round(took)} ms`);
  }
  const silenced = (person: typeof ann) => async () => {
    const found = await device(person.identity);
    if (!found) throw new Error("A silenced person was removed.");
    return found.sources.length === 0 && found.tracks.length === 0;
  };
  const removed = (person: typeof ann) => async () => !(await device(person.identity));

  let since = performance.now();
  await decide(second, ann, "silenced");
  await loses("a silence takes the microphone", since, silenced(ann));
  // A device that has not learned of the change would not publish again.
  await within(SOON, "her device knows", async () => (await ann.page.published()) === 0);
  await t.rejects(ann.page.publish("microphone"), "and holds");

  since = performance.now();
  await decide(second, bob, "banned");
  await loses("a ban removes", since, removed(bob));
  await sees(3);

  const zoe = await enter(first, "zoe", SHORT);
  await sees(4);
  first.signal("SIGKILL");
  await first.finished;
  t.ok(await device(eve.identity), "the call goes on without the first node");

  since = performance.now();
  await decide(second, eve, "silenced");
  await loses(
    "a silence takes the microphone of one who entered through a dead node",
    since,
    silenced(eve),
  );

  since = performance.now();
  await decide(second, dan, "banned");
  await loses("a ban removes one who entered through a dead node", since, removed(dan));

  t.ok(await device(zoe.identity), "a login holds until it expires");
  since = performance.now() + zoe.exp * 1000 - Date.now();
  await within(SHORT * SECONDS, "the login expires", () => performance.now() >= since);
  await loses("an expired login removes one who entered through a dead node", since, removed(zoe));
  t.ok(await device(ann.identity), "the silenced still listen");
});
