import t from "tap";
import writeExcelFile from "write-excel-file/node";
import type { Json } from "../../../conformance/client.js";
import { nearNames } from "../../../schemas/plain/sheets/near-names.js";
import { pretalx } from "../../support/program-documents.js";
import { startServer } from "../../support/server.js";

// Import previews: the listed changes, the organizer's choices, and tables saved by spreadsheet
// programs.

const server = await startServer(t, { people: [] });
const { rest } = server;
const token = server.tokenOf({ uid: "admin", traits: ["admin", "api"] });

async function put(
  document: Uint8Array | string,
  query: string,
  choices?: unknown,
  name = "a.csv",
) {
  const form = new FormData();
  form.append(
    "document",
    new Blob([typeof document === "string" ? document : Buffer.from(document)]),
    name,
  );
  if (choices !== undefined) form.append("choices", JSON.stringify(choices));
  const answer = await fetch(`${server.baseUrl}/api/v1/worlds/demo/program/?${query}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}` },
    body: form,
  });
  return { status: answer.status, body: await answer.json() };
}

const list = async (kind: string): Promise<Json[]> =>
  (await rest("GET", `demo/${kind}/?page_size=500`)).body.results;

const named = (records: Json[], name: string) =>
  records.find((record) => (record.title ?? record.name) === name);

void t.test("a preview lists what changes, and choices decide", async (t) => {
  const hall = (
    await rest("POST", "demo/rooms/", {
      name: "Main Hall",
      module_config: [{ type: "chat.native", config: { volatile: true } }],
    })
  ).body.id;
  const mei = (await rest("POST", "demo/speakers/", { name: "Mei Tanaka" })).body.id;
  const text =
    "title,start,end,room,speakers\n" +
    "Maps,2027-03-01 10:00,2027-03-01 11:00,Main Hal,Mei Tanka; Leo New\n" +
    "Walks,2027-03-01 12:00,2027-03-01 13:00,Main Hall,Mei Tanaka\n" +
    "Talks,,,Salon,\n";
  const preview = await put(text, "preview=true");
  t.equal(preview.status, 200);
  t.match(preview.body.changes, {
    sessions: [
      { change: "created", title: "Maps", line: 2 },
      { title: "Walks" },
      { title: "Talks" },
    ],
    speakers: [
      { change: "created", name: "Mei Tanka", near: [{ id: mei, name: "Mei Tanaka" }] },
      { change: "created", name: "Leo New", near: [] },
    ],
    rooms: [
      { name: "Main Hal", sessions: 1, near: [{ id: hall, name: "Main Hall" }] },
      { name: "Salon", sessions: 1, near: [] },
    ],
  });
  t.same(await list("sessions"), [], "a preview changes nothing");
  const old = await rest("PUT", "demo/program/?dry_run=true", { sessions: [{ title: "x" }] });
  t.same(Object.keys(old.body).sort(), [
    ...["created", "deleted", "problems", "rooms_created", "unchanged", "updated"],
  ]);

  const choices = {
    rooms: [
      { name: "Main Hal", room_id: hall },
      { name: "Salon", like: hall },
    ],
    speakers: [{ name: "Mei Tanka", speaker_id: mei }],
  };
  t.match((await put(text, "create_rooms=true", choices)).body, { created: 3, rooms_created: 1 });
  const sessions = await list("sessions");
  t.equal(named(sessions, "Maps")!.room_id, hall);
  t.equal(named(sessions, "Maps")!.speaker_ids[0], mei);
  const rooms = await list("rooms");
  t.same(rooms.map(({ name }) => name).sort(), ["Main Hall", "Salon"]);
  t.match(named(rooms, "Salon")!.module_config, [{ type: "chat.native" }], "like Main Hall");
  t.equal((await list("speakers")).length, 2);

  const stage = await put("title,room\nS,Big", "create_rooms=true", {
    rooms: [{ name: "big", template: "stage" }],
  });
  t.match(stage.body, { rooms_created: 1 });
  t.match(named(await list("rooms"), "Big")!.module_config, [
    { type: "livestream.native" },
    {},
    {},
  ]);

  const spelled = await put("title,room\nT1,Harbour\nT2,Harbor\nT3,Harbr", "create_rooms=true", {
    rooms: [
      { name: "Harbour", template: "talk" },
      { name: "harbor", same_as: "Harbour" },
      { name: "Harbr", same_as: "harbour" },
    ],
  });
  t.match(spelled.body, { rooms_created: 1 }, "three spellings of one new room");
  const talks = await list("sessions");
  const harbor = named(await list("rooms"), "Harbour")!;
  t.match(harbor.module_config, [{ type: "livestream.native" }, { type: "chat.native" }]);
  t.same(
    ["T1", "T2", "T3"].map((title) => named(talks, title)!.room_id),
    [harbor.id, harbor.id, harbor.id],
  );

  const none = await put("title,room\nN1,Nowhere\nN2,Atrium", "create_rooms=true", {
    rooms: [{ name: "Nowhere", room_id: null }],
  });
  t.match(none.body, { rooms_created: 1, problems: [] }, "what is no room makes none");
  t.equal(named(await list("sessions"), "N1")!.room_id, null);

  for (const [name, sent] of [
    ["no JSON", "{"],
    ["another shape", { rooms: [{ name: 1 }] }],
    ["an unknown template", { rooms: [{ name: "a", template: "castle" }] }],
    ["unknown keys", { rights: ["admin"] }],
  ] as const) {
    const form = new FormData();
    form.append("document", new Blob(["title\nx"]), "a.csv");
    form.append("choices", typeof sent === "string" ? sent : JSON.stringify(sent));
    const answer = await fetch(`${server.baseUrl}/api/v1/worlds/demo/program/`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}` },
      body: form,
    });
    t.equal(answer.status, 400, name);
  }
  t.equal((await put("title\nx", "preview=true", { rooms: [] }, "a.exe")).status, 400);
});

void t.test("corrections by hand survive another import", async (t) => {
  const document = JSON.stringify(pretalx());
  t.equal((await put(document, "", undefined, "a.json")).status, 200);
  const [session] = (await list("sessions")).filter(({ import_id }) => import_id?.includes("-"));
  await rest("PATCH", `demo/sessions/${session!.id}/`, { title: "Corrected" });
  const preview = await put(document, "preview=true&keep_edits=true", undefined, "a.json");
  t.match(preview.body.changes.sessions, [
    {
      id: session!.id,
      change: "kept",
      fields: [{ field: "title", before: "Corrected", after: session!.title, kept: true }],
    },
  ]);
  t.equal(preview.body.updated, 0);
  await put(document, "keep_edits=true", undefined, "a.json");
  t.ok(named(await list("sessions"), "Corrected"));
  await put(document, "keep_edits=true", { replace: [session!.id] }, "a.json");
  t.notOk(named(await list("sessions"), "Corrected"), "ticked, it is replaced");
});

void t.test("tables as spreadsheet programs save them", async (t) => {
  const time = new Date(Date.UTC(2026, 10, 28, 9, 30));
  const workbook = await writeExcelFile([
    ["Titel", "Datum", "Beginn", "Dauer", "Raum"].map((value) => ({ value })),
    [
      { value: "Aus Excel" },
      { value: new Date(Date.UTC(2026, 10, 28)), type: Date, format: "dd.mm.yyyy" },
      { value: "9:30" },
      { value: 45, type: Number },
      null,
    ],
    [
      { value: "Mit Zeit" },
      null,
      { value: time, type: Date, format: "dd.mm.yyyy hh:mm" },
      { value: 30, type: Number },
      null,
    ],
  ]).toBuffer();
  const german =
    "Titel;Beginn;Ende;Sprecher\r\nGr\u00f6\u00dfe;28.11.2026 09:30;28.11.2026 10:15;J\u00f6rg M\u00fcller\r\n";
  for (const [name, document, file, title, starts] of [
    ["a workbook", workbook, "a.xlsx", "Aus Excel", "2026-11-28T09:30:00.000Z"],
    ["a workbook with times", workbook, "a.xlsx", "Mit Zeit", "2026-11-28T09:30:00.000Z"],
    [
      "German Excel",
      Buffer.from(german, "latin1"),
      "a.csv",
      "Gr\u00f6\u00dfe",
      "2026-11-28T09:30:00.000Z",
    ],
    [
      "US Excel",
      "Title,Start Time,End Time\nUS,11/28/2026 9:30 AM,11/28/2026 1:05 PM",
      "a.csv",
      "US",
      "2026-11-28T09:30:00.000Z",
    ],
    [
      "tabs",
      "title\tdate\tstart\tend\nTab\t28/11/26\t9.30\t10:15",
      "a.csv",
      "Tab",
      "2026-11-28T09:30:00.000Z",
    ],
  ] as const) {
    const { status, body } = await put(document, "", undefined, file);
    t.equal(status, 200, `${name}: ${JSON.stringify(body)}`);
    t.equal(named(await list("sessions"), title)?.starts_at, starts, name);
  }
  for (const [name, document, file, sentence] of [
    ["a picture", Buffer.from("\x89PNG\r\n", "latin1"), "a.png", /none of the files/],
    ["an old workbook", Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 1, 2]), "a.xls", /old Excel file/],
    ["a broken workbook", workbook.subarray(0, 500), "a.xlsx", /damaged/],
    ["a list of guests", "Name;E-Mail\nx;y", "a.csv", /Only the title is required/],
  ] as const) {
    const { status, body } = await put(document, "", undefined, file);
    t.equal(status, 400, name);
    t.match(JSON.stringify(body), sentence, name);
  }
});

void t.test("near names", (t) => {
  const known = ["Main Hall", "Room 1", "Saal A", "Mei Tanaka", "Günther Groß", "Ann"].map(
    (name) => ({ name }),
  );
  const near = nearNames(known);
  for (const [name, ...found] of [
    ["Main Hal", "Main Hall"],
    ["Hall, Main", "Main Hall"],
    ["Room 2"],
    ["Saal B"],
    ["Tanaka, Mei", "Mei Tanaka"],
    ["Mei K. Tanaka", "Mei Tanaka"],
    ["Guenther Gross", "Günther Groß"],
    ["Gunther Gross", "Günther Groß"],
    ["Ana"],
    ["Harbour Room"],
  ] as const) {
    t.strictSame(
      near(name).map(({ name }) => name),
      found,
      name,
    );
  }
  const many = Array.from({ length: 5000 }, (_, i) => ({ name: `Person Number${i} Longname` }));
  const began = performance.now();
  const find = nearNames(many);
  for (const { name } of many) find(`${name}x`);
  t.ok(performance.now() - began < 20_000, "the work does not grow with the pairs");
  t.end();
});
