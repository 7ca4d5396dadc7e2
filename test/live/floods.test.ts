import { setTimeout as delay } from "node:timers/promises";
import t from "tap";
import { type Client, demo, makeRoom, startLive } from "./client.js";

// What one user asks for again and again, and what it costs everybody else.

const large = { display_name: "Big", text: "x".repeat(16_000) };

/** Sends commands all at once. @returns the codes of their answers. */
async function codesOf(
  client: Client,
  commands: [action: string, payload: object][],
): Promise<string[]> {
  commands.forEach(([action, payload], i) =>
    client.sendFrame(action, `c${i}`, payload),
  );
  const codes: string[] = [];
  for (const i of commands.keys()) {
    const [name, , result] = await client.answered(`c${i}`);
    codes.push(name === "success" ? "ok" : (result as { code: string }).code);
  }
  return codes;
}

void t.test("entering again and again", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  const admin = await live.admin();
  await admin.do("room.enter", { room });
  const guest = await live.guest();
  await guest.do("user.update", { profile: large });
  const told = async () => {
    await live.settled();
    const names = await admin.names();
    return names.filter((name) => name === "room.viewer.added").length;
  };

  const enter: [string, object] = ["room.enter", { room }];
  const same = await codesOf(guest, Array(200).fill(enter));
  t.same([...new Set(same)], ["ok"], "who is there may enter again");
  let most = await told();
  t.ok(most >= 1 && most <= 20, `${most} pushes for 200 entries`);

  const other = await live.guest();
  await other.do("user.update", { profile: large });
  const leave: [string, object] = ["room.leave", { room }];
  const codes = await codesOf(other, Array(100).fill([enter, leave]).flat());
  t.ok(codes.includes("protocol.rate_limited"), "in and out is limited");
  most = await told();
  t.ok(most >= 1 && most <= 20, `${most} pushes for 100 times in and out`);

  const second = await live.guest("second");
  await second.do("room.enter", { room });
  t.equal(await told(), 1, "others are told of as ever");
  const browser = await live.guest("second");
  await browser.do("room.enter", { room });
  t.equal(await told(), 1, "and so is their second browser");
});

void t.test("in and out of many rooms", async (t) => {
  const worlds = [demo(), demo({ id: "other" })];
  const live = await startLive(t, { commandsPerSecond: 1000 }, worlds);
  const rooms: string[] = [];
  for (let i = 0; i < 20; i++) {
    rooms.push(await makeRoom(live, { name: `R${i}` }));
  }
  const { crowds } = live.app.live;
  const listener = await live.guest();
  const foreign = await live.guest("foreign", "other");
  const guest = await live.guest();
  const all = (action: string) =>
    codesOf(
      guest,
      rooms.map((room) => [action, { room }]),
    );
  // Slower than what is sent together, and faster than anybody wants to know.
  for (let round = 0; round < 5; round++) {
    await all("room.enter");
    await delay(300);
    await all("room.leave");
    await delay(300);
  }
  for (const room of rooms) {
    await listener.next(
      "world.user_count_change",
      (data) => data.room === room && data.users === "none",
    );
  }
  const rest = await listener.names();
  const more = rest.filter((name) => name === "world.user_count_change");
  t.ok(more.length <= rooms.length, `${more.length} beside the last ones`);
  t.same(await foreign.all(), []);
  t.equal(crowds.changes("other"), 0, "another world has not changed");
  t.not(crowds.changes("demo"), 0);
});
