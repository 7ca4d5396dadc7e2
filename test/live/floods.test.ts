import t from "tap";
import { type Client, makeRoom, startLive } from "./client.js";

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
