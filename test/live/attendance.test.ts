import t from "tap";
import { until } from "../helper.js";
import { makeRoom, startLive } from "./client.js";

void t.test(
  "who was where is kept only if the world asks for it",
  async (t) => {
    const live = await startLive(t);
    const { store } = live.app;
    const room = await makeRoom(live, { name: "A" });
    const visits = () => store.attendance.visits("demo", room, undefined, 10);
    const guest = await live.guest();
    await guest.do("room.enter", { room });
    await guest.do("room.leave", { room });
    await store.worlds.configure("demo", { config: { attendance: "people" } });
    const person = await live.person({ uid: "u" });
    await person.do("room.enter", { room });
    await until(async () => (await visits()).length === 1);
    const [first] = await visits();
    t.equal(first!.user, person.id);
    await person.do("room.leave", { room });
    await until(async () => (await visits())[0]!.last > first!.last);
    t.equal((await visits()).length, 1, "one row, and none of the guest");
  },
);
