import t from "tap";
import { sheetRows } from "../../../schemas/plain/sheets/sheets.js";
import { startServer } from "../../support/server.js";

void t.test("results for people", async (t) => {
  const server = await startServer(t, { people: ["ann", "bob"] });
  const { rest, people } = server;
  const [ann, bob] = [people["ann"]!, people["bob"]!];
  const token = server.tokenOf({ uid: "admin", traits: ["admin", "api"] });
  const world = (await rest("GET", "demo/")).body;
  const config = { ...world.config, timezone: "America/Toronto", attendance: "numbers" };
  await rest("PATCH", "demo/", { config });
  const room = (
    await rest("POST", "demo/rooms/", {
      name: "Hall",
      module_config: [{ type: "chat.native", config: { volatile: true } }],
    })
  ).body.id as string;
  const send = async (who: typeof ann, body: string) =>
    (
      (await who.do("chat.send", {
        ...{ channel: room, event_type: "channel.message" },
        content: { type: "text", body },
      })) as { event: { event_id: number } }
    ).event.event_id;
  for (const person of [ann, bob]) {
    await person.do("room.enter", { room });
    await person.do("chat.subscribe", { channel: room });
    await person.do("chat.join", { channel: room });
  }
  await send(ann, `Hello @${bob.id}, Günther`);
  await send(ann, '=HYPERLINK("http://evil")');
  const gone = await send(bob, "Delete me");
  await bob.do("chat.send", {
    ...{ channel: room, event_type: "channel.message", replaces: gone },
    content: { type: "deleted" },
  });
  const get = async (kind: string, query: string) => {
    const url = `${server.baseUrl}/api/v1/worlds/demo/results/${kind}/?${query}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    t.equal(answer.status, 200, `${kind} ${query}`);
    return Buffer.from(await answer.arrayBuffer());
  };

  const rows = await sheetRows(await get("chat", "format=xlsx&columns=readable"));
  t.strictSame(rows[0], [
    "Room",
    "Time (America/Toronto)",
    "Name",
    "Message",
    "Files",
    "Edited (America/Toronto)",
  ]);
  t.equal(rows.length, 3, "without deleted messages, and without those who joined");
  t.match(rows[1], ["Hall", /^\d{4}-\d\d-\d\dT\d\d:\d\d/, "ann", "Hello @bob, Günther"]);
  const shown = new Date(`${rows[1]![1]!}Z`).getTime();
  const hours = (Date.now() - shown) / 3_600_000;
  t.ok(hours > 3.9 && hours < 5.1, "a time of Toronto");
  t.notMatch(JSON.stringify(rows), /[0-9a-f]{8}-[0-9a-f]{4}-/, "no ids");

  const csv = (await get("chat", "format=csv&columns=readable&locale=de")).toString();
  t.ok(csv.startsWith("\uFEFFRaum,Zeit (America/Toronto),Name,Nachricht"), csv.slice(0, 60));
  t.match(csv, /'=HYPERLINK/, "no formula");
  t.match((await get("people", "format=csv&columns=readable&locale=de")).toString(), /Name,Rollen/);
  t.match(
    (await sheetRows(await get("attendance", "format=xlsx&columns=readable&locale=de")))[1]![0]!,
    /nicht festgehalten/,
  );
  const technical = (await get("chat", "format=csv")).toString();
  t.ok(technical.startsWith("event_id,channel,room,"), "without it, as ever");
  t.match(technical, /deleted/);
});
