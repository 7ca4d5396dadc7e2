import t from "tap";
import { Subscription } from "../../live/modules/chat/audience.js";
import type { Piece } from "../../live/modules/chat/batch.js";
import { type Client, type Json, makeRoom, startLive } from "../live/client.js";

const chat = (config: object = {}) => ({
  module_config: [{ type: "chat.native", config }],
});

const named = (uid: string, traits: string[] = []) => ({
  uid,
  traits,
  profile: { display_name: uid },
});

const text = (body: string) => ({
  event_type: "channel.message",
  content: { type: "text", body },
});

const say = async (client: Client, channel: string, body: string) =>
  (await client.do("chat.send", { channel, ...text(body) })).event;

/** Whom an event tells of, by name. */
const toldOf = ({ users }: Json): string[] =>
  Object.values(users)
    .map((user) => (user as Json).profile.display_name as string)
    .sort();

void t.test("a connection gets each user once", async (t) => {
  const live = await startLive(t);
  const channel = await makeRoom(live, chat());
  const other = await makeRoom(live, chat());
  const [ada, ben, admin] = [
    await live.person(named("ada")),
    await live.person(named("ben")),
    await live.admin(),
  ];
  await ada.do("chat.join", { channel });
  await ben.do("chat.subscribe", { channel });
  await admin.do("chat.subscribe", { channel });
  await say(ada, channel, "one");
  const event = await ben.next("chat.event");
  t.same(toldOf(event), ["ada"]);
  t.notOk("token_id" in event.users[ada.id], "others see less");
  t.equal((await admin.next("chat.event")).users[ada.id].token_id, "ada");
  const two = await say(ada, channel, `two @${ben.id.toUpperCase()}`);
  t.same(toldOf(await ben.next("chat.event")), ["ben"]);
  await say(ada, channel, "three");
  t.same(toldOf(await ben.next("chat.event")), []);
  const page = { channel, count: 10, before_id: two.event_id + 1 };
  t.same(toldOf(await ben.do("chat.fetch", page)), []);

  await ben.do("chat.unsubscribe", { channel: other });
  await say(ada, channel, "four");
  t.same(toldOf(await ben.next("chat.event")), ["ada"], "of any channel");
  await ben.do("chat.subscribe", { channel: other });
  t.same(toldOf(await ben.do("chat.fetch", page)), ["ada", "ben"]);
  t.same(toldOf(await ben.do("chat.fetch", page)), [], "pages count, too");
  await say(ada, channel, "five");
  t.same(toldOf(await ben.next("chat.event")), [], "for pushes as well");
  const { users } = await ben.do("chat.subscribe", { channel, after: 0 });
  t.same(toldOf({ users }), ["ada", "ben"]);
  await say(ada, channel, "six");
  t.same(toldOf(await ben.next("chat.event")), []);
});

void t.test("what waits for a subscription comes in order", async (t) => {
  const got: string[] = [];
  const connection = { push: (frame: string) => void got.push(frame) };
  const subscription = new Subscription({ connection } as never);
  const piece = (id: number) =>
    ({ frames: [{ id, frame: `event ${id}` }] }) as unknown as Piece;
  for (const id of [3, 1, 2]) {
    t.equal(subscription.take(piece(id), 0), undefined);
  }
  subscription.start(1);
  t.same(got, ["event 2", "event 3"]);
});
