import t from "tap";
import type { Json } from "../../conformance/client.js";
import { until } from "../helper.js";
import { Site } from "../program/site.js";
import { Browser, startProvider } from "./provider.js";

// What hosts do over HTTP, and people who sign in at a provider.

const MODULES = ["chat.native", "question", "poll"].map((type) => ({
  ...{ type, config: { active: true, requires_moderation: false } },
}));

void t.test("calls of hosts reach people at every process", async (t) => {
  const site = await Site.start(t);
  const room: string = (
    await site.save("POST", "rooms/", { name: "=Hall", module_config: MODULES })
  ).id;
  const people = await Promise.all([
    site.user("ada", "reader"),
    site.user("bob", "reader"),
  ]);
  for (const person of people) {
    await person.do("chat.join", { channel: room });
    await person.do("room.enter", { room });
  }
  const [ada] = people;
  const pushed = async (name: string, fits?: (data: Json) => boolean) =>
    Promise.all(people.map((person) => person.next(name, fits)));
  const ofType = (type: string) => (data: Json) => data.content.type === type;

  const draft = { text: "Lunch", state: "active" };
  const made = await site.save("POST", "announcements/", draft);
  t.match(await pushed("announcement.created_or_updated"), [draft, draft]);
  t.match(await site.save("GET", `announcements/${made.id}/`), draft);

  const messages = `rooms/${room}/messages/`;
  const content = { type: "text", body: "=Hello" };
  const sent = await site.save("POST", messages, { content });
  t.match(await pushed("chat.event", ofType("text")), [
    { content },
    { content },
  ]);
  const users = await site.save("GET", "changes/?after=0&types=user.created");
  const kinds = users.results.map(({ by }: Json) => by.kind);
  t.same(kinds, ["user", "user", "api"], "the call made the last of them");
  const read = await site.save("GET", `${messages}?after=0&limit=1`);
  t.match(read.results, [{ event_id: Number }]);
  const chat = await site.save("GET", `${messages}?before=999999&limit=10`);
  t.ok(chat.results.some((event: Json) => event.event_id === sent.event_id));
  const { status } = await site.api(`${messages}${sent.event_id}/`, {
    method: "DELETE",
  });
  t.equal(status, 204);
  await pushed("chat.event", ofType("deleted"));

  const { question } = await ada.do("question.ask", { room, content: "Why?" });
  await ada.do("question.vote", { room, id: question.id, vote: true });
  const admin = await site.user("admin", "admin", "editor");
  const { poll } = await admin.do("poll.create", {
    ...{ room, content: "Which?", state: "open", poll_type: "choice" },
    options: [{ content: "A", order: 0 }],
  });
  const [{ id: option }] = poll.options;
  await ada.do("poll.vote", { room, id: poll.id, options: [option] });
  await until(async () => {
    const { results } = await site.save("GET", `rooms/${room}/polls/`);
    return results[0].results?.[option] === 1;
  });
  await until(async () => {
    const { results } = await site.save("GET", `rooms/${room}/questions/`);
    return results[0].score === 1;
  });

  const moderate = (moderation_state: string) =>
    site.save("PATCH", `users/${ada.id}/`, { moderation_state });
  t.match(await moderate("silenced"), { moderation_state: "silenced" });
  await ada.closed;
  const silent = await site.user("ada", "reader");
  const message = { channel: room, event_type: "channel.message", content };
  t.equal(await silent.code("chat.send", message), "protocol.denied");
  await moderate("banned");
  await silent.closed;
});

void t.test("people sign in at a provider", async (t) => {
  const site = await Site.start(t, { WEBHOOK_ALLOW: "127.0.0.1" });
  const path = "/w/demo/sign-in/sso/";
  const [begins, ends] = [site.addresses[0]!, site.addresses.at(-1)!];
  const provider = await startProvider(t, [`${begins}${path}callback`]);
  provider.claims = { name: "Ada" };
  const sso = {
    ...{ id: "sso", name: "Example", issuer: provider.issuer },
    ...{ client_id: "foyer", client_secret: "a-secret-of-the-client" },
    traits: { always: ["reader"] },
  };
  await site.save("PATCH", "", { config: { oidc: [sso] } });
  const browser = new Browser();
  const back = await browser.until(begins + path, /\/callback\?/);
  // Cookies belong to a host, whatever its port.
  const there = back.replace(begins, ends);
  const { location } = await browser.get(there, browser.cookies(back));
  const [, token] = location!.split("#token=");
  const person = await site.enter({ token });
  t.match(person.hello["user.config"].profile, { display_name: "Ada" });
  const again = await browser.get(there, browser.cookies(back));
  t.match(again.location, /\?sign-in=/, "a callback counts once");
});
