import type { Locator } from "playwright-core";
import { until } from "../support/helper.js";
import { noLiveKit } from "../support/servers/livekit.js";
import { type Media, openCallSite, receivedBy, watchMedia } from "./call-site.js";
import { type Bearer, type Visitor, type VisitorOptions, type World } from "./kit.js";
import t, { test as browserTest } from "./tap.js";

// Calls and stages in the pages, with a real LiveKit.

const test: typeof browserTest = (name, work) =>
  noLiveKit ? void t.test(name, { skip: noLiveKit }, async () => {}) : browserTest(name, work);

const open = noLiveKit ? undefined : await openCallSite(t);
const world = (await open?.site.world(t)) as World;

const chat = { type: "chat.native", config: { volatile: false } };

/** Opens a room for a person, with a camera and a microphone. */
async function enter(
  world: World,
  room: string,
  bearer: Bearer,
  options: VisitorOptions = {},
): Promise<Visitor> {
  const visitor = await world.visitor(options);
  await watchMedia(visitor, open!.livekit);
  await visitor.page.goto(world.link(bearer, room));
  await visitor.arrived();
  return visitor;
}

const controls = ({ page }: Visitor): Locator =>
  page.getByRole("toolbar", { name: "Controls of the call" });

async function join(visitor: Visitor): Promise<void> {
  await visitor.button("Join the call").click();
  await controls(visitor).waitFor();
}

/** Waits until a visitor receives more media than a moment ago. */
async function receives(visitor: Visitor, ...kinds: (keyof Media)[]): Promise<void> {
  const before = await receivedBy(visitor);
  await until(async () => {
    const now = await receivedBy(visitor);
    return kinds.every((kind) => now[kind] > before[kind] + 5);
  });
}

test("two people see and hear each other", async (t) => {
  const during = world.during(t);
  const room = await world.room("Table", [{ type: "call.native", config: {} }, chat]);
  await world.room("Elsewhere", [chat]);
  const ann = await enter(during, room, { uid: "ann", name: "Ann" });
  const loaded: string[] = [];
  ann.page.on("request", (request) => loaded.push(request.url()));
  await ann.page.getByRole("meter", { name: "Microphone level" }).waitFor();
  t.notOk(
    loaded.some((url) => /livekit/.test(url)),
    "the client of the engine loads after the preview",
  );
  await ann.page.getByText("Nobody is here yet.").waitFor();
  await join(ann);
  const ben = await enter(during, room, { uid: "ben", name: "Ben" });
  await ben.page.getByText("1 person is here").waitFor();
  await join(ben);
  await Promise.all([receives(ann, "frames", "packets"), receives(ben, "frames", "packets")]);
  await ben.rooms.getByText("2 people in the call").first().waitFor({ state: "attached" });
  t.same(await ben.faults(), [], "axe");

  await ben.page.locator("body").press("m");
  await ben.button("Turn on the microphone").waitFor();
  await ann.page.getByText("Ben turned off the microphone").waitFor({ state: "attached" });

  await ben.enter("Elsewhere");
  const small = ben.page.getByRole("complementary", { name: "Call in Table" });
  await small.waitFor();
  await receives(ben, "packets");
  await small.getByRole("button", { name: "Turn on the microphone" }).click();
  await ann.page.getByText("Ben turned on the microphone").waitFor({ state: "attached" });
  await small.getByRole("link", { name: "Return", exact: true }).click();
  await controls(ben).waitFor();

  await ben.button("Leave").click();
  await ben.button("Join the call").waitFor();
  await ann.page.getByText("Ben left").waitFor({ state: "attached" });
});

test("a stage", async (t) => {
  const during = world.during(t);
  const stage = { type: "call.native", config: { mode: "stage" } };
  const room = await world.room("Talk", [stage, chat]);
  const host = await enter(during, room, { uid: "host", name: "Hanna", traits: ["moderator"] });
  await join(host);
  const eve = await enter(during, room, { uid: "eve", name: "Eve" });
  await eve.button("Watch the stage").click();
  await receives(eve, "frames", "packets");
  t.equal(await eve.button("Turn on the microphone").count(), 0, "the audience only listens");

  await eve.button("Raise hand").click();
  await eve.page.getByText("Your hand is up: number 1").waitFor();
  await host.page.evaluate((id) => (location.hash = `#/rooms/${id}/host`), room);
  const hands = host.page.getByRole("list", { name: "Raised hands" });
  await hands.getByText("Eve").waitFor();
  await hands.getByRole("button", { name: "Invite to the stage: Eve" }).click();

  const invited = eve.dialog("You are invited to the stage");
  await invited.getByRole("meter").waitFor();
  const people = host.page.getByRole("region", { name: "Picture" });
  t.equal(
    await people.getByText("Eve", { exact: true }).count(),
    0,
    "nobody sees her before she agrees",
  );
  await invited.getByRole("button", { name: "Go on stage" }).click();
  await eve.button("Turn off the microphone").waitFor();
  await receives(host, "frames", "packets");

  const actions = host.page.getByRole("button", { name: "Actions for Eve" });
  await actions.click();
  await host.page.getByRole("menuitem", { name: "Mute Eve" }).click();
  await eve.page.getByText("A moderator turned off your microphone.").waitFor();

  await actions.click();
  await host.page.getByRole("menuitem", { name: "Back to the audience" }).click();
  await eve.button("Raise hand").waitFor();
  await until(async () => (await people.getByText("Eve", { exact: true }).count()) === 0);

  await host.page.getByRole("list", { name: "On the stage" }).waitFor({ state: "detached" });
});

test("a direct call", async (t) => {
  const during = world.during(t);
  const room = await world.room("Foyer", [{ type: "call.native", config: {} }, chat]);
  const [kim, lee] = [
    { uid: "kim", name: "Kim" },
    { uid: "lee", name: "Lee" },
  ];
  const other = await during.live(lee);
  const caller = await during.live(kim);
  const users = [other.state!.user.id];
  const { id } = await caller.call("chat.direct.create", { users, hide: false });
  caller.close();
  other.close();
  const a = await enter(during, room, kim);
  const b = await enter(during, room, lee);
  await a.page.evaluate((id) => (location.hash = `#/messages/${id}`), id);
  await a.button("Call").click();
  await a.button("Call now").click();
  await b.dialog("Kim is calling").getByRole("button", { name: "Accept" }).click();
  await Promise.all([receives(a, "packets"), receives(b, "packets")]);
  await b.button("Leave").click();
  await a.button("Leave").click();
  const line = b.log.getByText("Call, 1 minute");
  await line.waitFor();
  await a.log.getByText("Call, 1 minute").waitFor();
  t.equal(await b.log.getByText("edited").count(), 0, "nobody edited it");
});

test("removed, ended, and an engine that is gone", async (t) => {
  const during = world.during(t);
  const room = await world.room("Circle", [{ type: "call.native", config: {} }]);
  const host = await enter(during, room, { uid: "boss", name: "Bo", traits: ["moderator"] });
  const dan = await enter(during, room, { uid: "dan", name: "Dan" });
  await join(host);
  await join(dan);
  await host.button("Actions for Dan").click();
  await host.page.getByRole("menuitem", { name: "Remove from the call" }).click();
  await host.dialog("Remove from the call").getByRole("button", { name: "Remove" }).click();
  await dan.page.getByText("A moderator removed you from the call.").waitFor();
  await dan.button("Join again").click();
  await join(dan);

  for (const { watch } of [host, dan]) watch.tolerate(/./);
  await open!.livekit.stop();
  await dan.page.getByText("The connection was lost.").waitFor();
  await open!.livekit.restart();
  await receives(dan, "frames", "packets");

  await controls(host).getByRole("button", { name: "More" }).click();
  await host.page.getByRole("menuitem", { name: "End for everyone" }).click();
  await host.dialog("End for everyone").getByRole("button", { name: "End for everyone" }).click();
  await dan.page.getByText("The call has ended.").waitFor();
});
