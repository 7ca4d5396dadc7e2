import { randomUUID } from "node:crypto";
import t from "tap";
import { type Json, startLive } from "./client.js";

const keys = (value: object) => Object.keys(value).sort();
const SHAPE = ["id", "is_visible", "show_until", "state", "text"];
const PUSH = "announcement.created_or_updated";
const invalid = "protocol.invalid_payload";
const later = "2099-01-31T09:30:00.000Z";

void t.test("what becomes of announcements", async (t) => {
  const live = await startLive(t);
  const [admin, guest] = [await live.admin(), await live.guest()];
  const create = async (payload: object) =>
    (await admin.do("announcement.create", payload)).announcement;
  const update = async (payload: object) =>
    (await admin.do("announcement.update", payload)).announcement;
  const pushed = async () => {
    await live.settled();
    const [mine, theirs] = [await admin.all(), await guest.all()];
    t.same(mine, theirs, "everybody in the world gets the same");
    return theirs.map(([name, data]) => {
      t.equal(name, PUSH);
      return data;
    });
  };
  const draft = await create({ text: "One" });
  t.same(keys(draft), SHAPE);
  t.match(draft, {
    text: "One",
    show_until: null,
    state: "draft",
    is_visible: false,
  });
  t.same(await pushed(), [], "a draft is not pushed");
  t.match(await update({ id: draft.id, text: "Two" }), {
    text: "Two",
    state: "draft",
  });
  t.same(await pushed(), []);

  const active = await update({ ...draft, text: "Two", state: "active" });
  t.match(active, { state: "active", is_visible: true });
  const { is_visible: _, ...rest } = active;
  t.same(await pushed(), [rest], "without is_visible, as it was not visible");
  t.same((await live.guest()).hello.announcements, [active]);

  const same = await update(active);
  t.same(same, active, "the whole object with its state");
  t.same(await pushed(), [active], "with is_visible, as it was visible");
  const back = await update({ id: draft.id, state: "draft" });
  t.equal(back.state, "active", "never back");
  await pushed();
  const until = await update({ id: draft.id, show_until: later });
  t.match(until, { show_until: later, is_visible: true });
  await pushed();
  const over = await update({
    id: draft.id,
    show_until: "2020-01-01T00:00:00+00:00",
  });
  t.match(over, { show_until: "2020-01-01T00:00:00.000Z", is_visible: false });
  t.same(await pushed(), [over], "it was visible");
  t.same((await live.guest()).hello.announcements, []);
  await update({ id: draft.id, text: "Three" });
  t.same(await pushed(), [], "neither was nor is");
  const again = await update({ id: draft.id, show_until: null });
  t.match(again, { is_visible: true });
  await pushed();
  const archived = await update({ id: draft.id, state: "archived" });
  t.match(archived, { state: "archived", is_visible: false });
  t.same(await pushed(), [archived]);
  t.equal((await update({ id: draft.id, state: "active" })).state, "archived");
  t.equal((await update({ id: draft.id, text: "Four" })).text, "Four");
  t.same(await pushed(), []);

  const second = await create({
    text: "Now",
    state: "active",
    show_until: later,
  });
  t.match(second, { state: "active", is_visible: true });
  t.equal((await pushed()).length, 1, "state counts when it is created");
  const third = await create({ text: "Old", state: "archived" });
  t.equal(third.state, "archived");
  t.same(await pushed(), []);
  for (const payload of [null, {}]) {
    const list = await admin.do("announcement.list", payload);
    t.same(
      list.map(({ id }: Json) => id),
      [draft.id, second.id, third.id],
    );
    t.same(keys(list[0]), SHAPE);
  }
});

void t.test("what announcements refuse", async (t) => {
  const live = await startLive(t);
  const [admin, guest] = [await live.admin(), await live.guest()];
  const text = "x";
  const { announcement } = await admin.do("announcement.create", { text });
  const { id } = announcement;
  const creates: [payload: unknown, code: string][] = [
    [{ text, is_active: true }, "ok"],
    [{ text, show_until: "2027-01-31T09:30:00Z" }, "ok"],
    [{ text, show_until: "2027-01-31T09:30:00.123456+02:00" }, "ok"],
    [{ text, show_until: null }, "ok"],
    [{}, invalid],
    [{ text: "" }, invalid],
    [{ text: 5 }, invalid],
    [{ text: "a\0" }, invalid],
    [{ text, state: "visible" }, invalid],
    [{ text, state: null }, invalid],
    [{ text, show_until: "tomorrow" }, invalid],
    [{ text, show_until: "2027-13-01T00:00:00Z" }, invalid],
    [{ text, show_until: "2027-02-30T00:00:00Z" }, invalid],
    [{ text, show_until: "9999-12-31T23:59:59-23:59" }, invalid],
    [{ text, show_until: "0000-01-01T00:00:00+10:00" }, invalid],
    [{ text, show_until: 5 }, invalid],
    [{ text, show_until: "" }, invalid],
    [null, invalid],
    [[], invalid],
  ];
  for (const [payload, code] of creates) {
    const name = JSON.stringify(payload);
    t.equal(await admin.code("announcement.create", payload), code, name);
  }
  const updates: [payload: unknown, code: string][] = [
    [{ id }, "ok"],
    [{ id, is_visible: true, id_: 1 }, "ok"],
    [{ id: randomUUID() }, "announcement.unknown"],
    [{ id: "x" }, "announcement.unknown"],
    [{ id: 5, text }, "announcement.unknown"],
    [{ id: null, text }, "announcement.unknown"],
    [{ text }, invalid],
    [{ id, text: "" }, invalid],
    [{ id, text: null }, invalid],
    [{ id, state: 5 }, invalid],
    [{ id, show_until: "x" }, invalid],
    [null, invalid],
  ];
  for (const [payload, code] of updates) {
    const name = JSON.stringify(payload);
    t.equal(await admin.code("announcement.update", payload), code, name);
  }
  for (const word of ["create", "update", "list"]) {
    const [, , problem] = await guest.call(`announcement.${word}`, {
      id,
      text,
    });
    t.same(problem, { code: "auth.denied", message: "Permission denied." });
  }
});
