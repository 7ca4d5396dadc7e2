import t from "tap";
import { get } from "svelte/store";
import { newsOf, type RoomNews } from "../../web/state/room-news.js";
import { House, hurry } from "../client/house.js";
import { until } from "../helper.js";

void t.test("what is new in other rooms", async (t) => {
  hurry(t);
  const house = await House.open(t, { "question.moderate": ["moderator"] });
  const { live } = await house.visit({ traits: ["moderator"] });
  const { hall, attic } = house;
  for (const channel of [hall, attic])
    await live.call("chat.join", { channel });
  let open: string | undefined = attic;
  const news = newsOf({
    live,
    open: () => open,
    isHidden: () => false,
    pace: 20,
  });
  t.teardown(news.subscribe(() => {}));
  const inHall = () => get(news).get(hall);
  const shows = (messages: number, questions = 0) =>
    until(() => {
      const { messages: m, questions: q } =
        inHall() ?? ({ messages: 0, questions: 0 } satisfies RoomNews);
      return m === messages && q === questions;
    });

  const ids = await house.say(hall, "one", "two");
  await house.say(attic, "seen");
  await shows(2);
  // The server tells of the first message only.
  await house.say(hall, "three");
  await shows(3);
  await house.put(hall, house.ben, { type: "text", body: "2" }, ids[1]);
  await house.put(hall, house.ben, { type: "deleted" }, ids[0]);
  await house.put(hall, live.state!.user.id, { type: "text", body: "mine" });
  await shows(2);
  t.notOk(get(news).has(attic), "nothing is new in the room that is open");

  const { rooms } = house.store;
  await rooms.update(house.world, hall, {
    module_config: [
      { type: "chat.native", config: {} },
      { type: "question", config: { active: true, requires_moderation: true } },
    ],
  });
  const { live: asker } = await house.visit({ uid: "asker" });
  await asker.call("question.ask", { room: hall, content: "Why?" });
  await shows(2, 1);
  const last = (await house.say(hall, "last"))[0]!;
  await live.call("chat.mark_read", { channel: hall, id: last });
  await shows(0, 1);
  await house.say(hall, ...Array.from({ length: 130 }, (_, n) => `${n}`));
  await until(() => (inHall()?.messages ?? 0) > 99);
  open = hall;
  await shows(0, 0);
});
