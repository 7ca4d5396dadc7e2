import t from "tap";
import { crowdOf, each, faultsOf, type Listener, speaker } from "./crowd.js";
import { startTalk } from "./talk.js";

// A pass over many people takes turns of the event loop. Some go meanwhile.

void t.test("in the middle of a pass", async (t) => {
  const long = 1_000_000_000;
  const talk = await startTalk(t, { pingInterval: long, authTimeout: long });
  const { live } = talk;
  const channel = await talk.room();
  const ears = await crowdOf(120, live.port, (i) => ({
    client_id: `ear-${i}`,
  }));
  await each(ears, (ear) => ear.do("chat.subscribe", { channel }));
  const ann = await speaker(live, "ann", channel);
  t.teardown(() => [...ears, ann].forEach(({ ws }) => ws.terminate()));
  const now = performance.now.bind(performance);
  let leap = 0;
  // After each person, other work gets its turn.
  const value = () => now() + (leap += 10);
  const { restore } = t.intercept(performance, "now", { value });
  t.teardown(restore);
  const [first] = ears as [Listener];
  const moving = ears.slice(-30);
  for (let round = 0; round < 5; round++) {
    const said = ann.say(channel, `round ${round}`);
    const before = first.frames.length;
    await first.until("an event", () => first.frames.length > before);
    await each(moving, async (ear) => {
      const unsubscribed = ear.do("chat.unsubscribe", { channel });
      await Promise.all([unsubscribed, ear.do("chat.subscribe", { channel })]);
    });
    const id = await said;
    for (const ear of ears.slice(0, -30)) await ear.reached(channel, id);
  }
  const last = await ann.say(channel, "the end");
  for (const ear of ears) await ear.reached(channel, last);
  const page = { after: 0, limit: 1000 };
  const found = await live.app.store.chat.events("demo", channel, page);
  const truth = found.map(({ id }) => id);
  const faults = ears.flatMap((ear) => faultsOf(ear, channel, truth));
  t.strictSame(faults.slice(0, 5), []);
});
