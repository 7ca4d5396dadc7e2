import t from "tap";
import { type Json, makeRoom, startLive } from "../live/client.js";

void t.test("the audit has who changed what, without secrets", async (t) => {
  const live = await startLive(t);
  const room = await makeRoom(live);
  await live.rest("PATCH", `demo/rooms/${room}/`, { name: "Renamed" });
  const { config } = (await live.rest("GET", "demo/")).body;
  config.JWT_secrets.push({
    ...{ issuer: "i", audience: "a", secret: "z".repeat(40) },
  });
  await live.rest("PATCH", "demo/", { title: "New title", config });
  const ada = await live.person({ uid: "ada", traits: ["admin"] });
  const eve = await live.person({ uid: "eve" });
  await eve.call("user.update", { profile: { display_name: "Eve" } });
  await ada.do("user.silence", { id: eve.id });
  const all = (await live.rest("GET", "demo/audit/")).body;
  t.match(all, {
    count: 4,
    results: [
      {
        ...{ type: "user.moderated", subject: { user_id: eve.id } },
        by: { kind: "user", user_id: ada.id, token_id: "ada" },
        changes: [{ field: "state", before: "none", after: "silenced" }],
        request_id: String,
      },
      {
        ...{ type: "world.updated", by: { kind: "api" } },
        changes: [{ field: "title", after: "New title" }, { field: "config" }],
      },
      {
        ...{ type: "room.updated", subject: { room_id: room } },
        changes: [{ field: "name", before: "Main stage", after: "Renamed" }],
      },
      { type: "room.created", by: { kind: "server" } },
    ],
  });
  t.notMatch(JSON.stringify(all), /zzzz|secret-x/);
  const query = async (text: string): Promise<Json> =>
    (await live.rest("GET", `demo/audit/?${text}`)).body;
  t.match(await query("type=room.*&page_size=1"), {
    ...{ count: 2, results: [{ type: "room.updated" }] },
  });
  t.match(await query(`user=${ada.id}`), { count: 1 });
  t.match(await query(`before=${all.results[1].at}`), { count: 2 });
  t.match(await query(`after=${all.results[2].at}&type=world.updated`), {
    count: 1,
  });
  t.match(await query("after=x"), { after: [String] });
});
