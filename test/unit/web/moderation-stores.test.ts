import { get } from "svelte/store";
import t, { type Test } from "tap";
import { memoryShelf } from "../../../web/lib/storage.js";
import { ChatStore } from "../../../web/state/chat.js";
import { openReports, ReportBoard } from "../../../web/state/reports.js";
import { changeRooms, withTemplate } from "../../../web/state/room-editor.js";
import type { Session } from "../../../web/state/session.js";
import { until } from "../../support/helper.js";
import { startServer } from "../../support/server.js";
import { newWorld } from "./world.js";

// The pages' stores of reports, held messages, and slow mode.

const server = await startServer(t, { worlds: [] });

async function open(t: Test, config: object) {
  const { world, rooms, open } = await newWorld(t, server);
  const module = { type: "chat.native", config };
  const { id } = (await rooms.create(world, { name: "Hall", module_config: [module] })).value;
  const [host, ann, bob] = (await Promise.all(
    ["host", "ann", "bob"].map((uid) => open(uid, uid === "host" ? ["admin", "api"] : [])),
  )) as [Session, Session, Session];
  await until(() => [host, ann, bob].every(({ live }) => live.state?.rooms.length === 1));
  return { world, rooms, id, host, ann, bob };
}

function chatOf(t: Test, { live, people, world }: Session, id: string): ChatStore {
  const parts = { live, people, world, shelf: memoryShelf(), maxBytes: 10, upload: async () => "" };
  const chat = new ChatStore(parts, id);
  t.teardown(chat.open());
  return chat;
}

const text = (body: string) => ({ type: "text", body });
const bodiesOf = (chat: ChatStore) =>
  get(chat).rows.flatMap((row) => (row.is === "message" ? [row.event.content["body"]] : []));
const heldBy = (chat: ChatStore) => get(chat.held).messages.map(({ content }) => content["body"]);

void t.test("messages wait for a moderator, whose decisions everybody sees", async (t) => {
  const { id, host, ann, bob } = await open(t, { hold: true });
  const [mods, anns, bobs] = [host, ann, bob].map((it) => chatOf(t, it, id)) as [
    ChatStore,
    ChatStore,
    ChatStore,
  ];
  await until(() => [mods, anns, bobs].every((it) => get(it).is === "ready"));
  for (const body of ["one", "two", "three"]) anns.send(text(body));
  await until(() => heldBy(mods).length === 3);
  t.strictSame(heldBy(anns), ["one", "two", "three"]);
  t.strictSame(get(anns).waiting, [], "they are no longer being sent");
  t.strictSame(get(bobs.held).count, 0);

  const [one, two, three] = get(mods.held).messages;
  await mods.held.approve(one!.id);
  await until(() => bodiesOf(bobs).includes("one"));
  await mods.held.reject(two!.id, "Off topic");
  await mods.held.reject(three!.id);
  await until(() => get(anns.held).rejected.length === 2);
  t.match(get(anns.held).rejected, [
    { message: { content: { body: "two" } }, reason: "Off topic" },
    { message: { content: { body: "three" } }, reason: "" },
  ]);
  t.strictSame(
    [mods, anns].map((it) => get(it.held).count),
    [0, 0],
  );
  anns.held.forget(two!.id);
  t.equal(get(anns.held).rejected.length, 1);
  await t.rejects(mods.held.approve(one!.id), { code: "chat.unknown_event" }, "decided already");

  await until(() => anns.lastOwn !== undefined);
  const { event_id: event } = anns.lastOwn!;
  await anns.edit(event, "uno");
  await anns.edit(event, "eins");
  await until(() => heldBy(mods).join() === "eins");
  await until(() => heldBy(anns).join() === "eins");
  t.equal(get(anns.held).rejected.length, 1, "an edit that another one replaced was not rejected");
  t.match(get(mods.held).messages, [{ replaces: event }]);
  t.ok(bodiesOf(bobs).includes("one"), "the old text stays");
  await mods.held.approve(get(mods.held).messages[0]!.id);
  await until(() => bodiesOf(bobs).includes("eins"));
});

void t.test("slow mode tells when the user may write again", async (t) => {
  const { id, ann } = await open(t, { slow_mode: 60 });
  const chat = chatOf(t, ann, id);
  await until(() => get(chat).is === "ready");
  t.equal(get(chat.wroteAt), 0);
  const before = Date.now();
  chat.send(text("one"));
  await until(() => bodiesOf(chat).includes("one"));
  const wrote = get(chat.wroteAt);
  t.ok(wrote >= before && wrote <= Date.now(), "from now on");
  chat.send(text("two"));
  await until(() => get(chat).waiting[0]?.error !== undefined);
  t.match(get(chat).waiting, [{ state: "failed", error: { code: "chat.slow_mode" } }]);
  t.ok(Math.abs(get(chat.wroteAt) - wrote) < 5000, "as the server says");
  const again = chatOf(t, ann, id);
  await until(() => get(again.wroteAt) > 0);
  t.ok(get(again.wroteAt) <= Date.now(), "a page that is opened later knows, too");
});

void t.test("reports are counted and decided", async (t) => {
  const { id, host, ann, bob } = await open(t, {});
  const count = openReports(host);
  t.teardown(count.subscribe(() => {}));
  t.teardown(openReports(bob).subscribe(() => {}));
  const board = new ReportBoard(host.live);
  t.teardown(() => board.close());
  await ann.live.channel(id).join();
  const event = await ann.live.channel(id).send("Spam");
  const report = { channel: id, event: event!.event_id, reason: "spam" } as const;
  await bob.live.call("chat.report", report);
  await until(() => get(count) === 1);
  await until(() => get(board).reports?.length === 1);
  t.match(get(board), { more: false, reports: [{ kind: "message", content: { body: "Spam" } }] });
  t.equal(get(openReports(bob)), 0, "nobody else counts them");
  await bob.live.call("user.report", { user: ann.me!.id, reason: "privacy" });
  await until(() => get(board).reports?.length === 2);
  const [person, message] = get(board).reports!;
  await board.resolve(message!.id, "deleted");
  await until(() => get(count) === 1);
  t.match(get(board).reports, [{ id: person!.id, state: "open" }]);
  board.show({ state: undefined });
  await until(() => get(board).reports?.length === 2);
  t.match(get(board).reports, [{ state: "open" }, { state: "deleted" }]);
  await t.rejects(board.resolve(message!.id, "banned"), { code: "report.unknown" });
});

void t.test("several rooms change together", async (t) => {
  const { world, rooms, id, host } = await open(t, { slow_mode: 5 });
  const page = { type: "page.markdown", config: { content: "Hi" } };
  const other = (await rooms.create(world, { name: "Page", module_config: [page] })).value.id;
  const typesOf = async (room: string) =>
    (await rooms.get(world, room))!.value.module_config.map(({ type }) => type);
  const change = (isExact: boolean) =>
    changeRooms(host, [id, "no-room", other], ({ module_config }) => ({
      module_config: withTemplate(module_config, "talk", isExact),
    }));
  t.strictSame([...(await change(false)).keys()], ["no-room"], "the others change nevertheless");
  t.strictSame(await typesOf(id), ["chat.native", "livestream.native"]);
  t.match((await rooms.get(world, id))!.value.module_config[0], { config: { slow_mode: 5 } });
  t.strictSame(await typesOf(other), ["page.markdown", "livestream.native", "chat.native"]);
  await change(true);
  t.strictSame(await typesOf(other), ["livestream.native", "chat.native"]);
});
