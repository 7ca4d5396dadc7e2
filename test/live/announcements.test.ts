import { randomUUID } from "node:crypto";
import t from "tap";
import { startLive } from "./client.js";

const invalid = "protocol.invalid_payload";

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
