import t from "tap";
import { startLive } from "../live/client.js";

void t.test("the members of very many direct channels", async (t) => {
  const live = await startLive(t);
  const { users, chat } = live.app.store;
  const me = await live.guest("me");
  const large = { display_name: "n".repeat(500), text: "x".repeat(15_000) };
  const ids: string[] = [];
  for (let i = 0; i < 60; i++) {
    const visitor = {
      clientId: `c${i}`,
      traits: new Set<string>(),
      profile: large,
    };
    ids.push((await users.enter("demo", visitor)).id);
  }
  for (const id of ids) await chat.direct("demo", me.id, [me.id, id], true);
  const again = await live.guest("me");
  const channels = again.hello["chat.channels"] as {
    members: { id: string; profile: { display_name: string; text?: string } }[];
  }[];
  t.equal(channels.length, 60, "all are there");
  t.ok(JSON.stringify(channels).length < 512 * 1024);
  const others = channels.map(({ members }) =>
    members.find(({ id }) => id !== me.id)!,
  );
  const whole = others.filter(({ profile }) => profile.text !== undefined);
  t.ok(whole.length >= 10 && whole.length < 20, `${whole.length} are whole`);
  t.equal(whole.at(-1), others.at(-1), "the newest");
  t.equal(others[0]!.profile.display_name, "n".repeat(100), "a name at least");
});
