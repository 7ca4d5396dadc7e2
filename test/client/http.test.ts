import { openAsBlob } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import t, { type Test } from "tap";
import { Foyer, FoyerError } from "../../client/index.js";
import { keyOf, listen, serve, tokenOf } from "../helper.js";
import { usersOf } from "../listed.js";

/** A PDF, as far as anybody looks. */
const PDF = "%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF\n";

async function connect(t: Test) {
  const { app, store } = await serve(t);
  const baseUrl = `http://127.0.0.1:${await listen(app)}`;
  const token = tokenOf(keyOf("demo"), { uid: "7", traits: ["admin", "api"] });
  const foyer = new Foyer({ baseUrl, world: "demo", token: () => token });
  return { foyer, baseUrl, store };
}

async function refusal(call: Promise<unknown>): Promise<FoyerError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof FoyerError) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

void t.test("worlds and rooms", async (t) => {
  const { foyer } = await connect(t);
  const world = await foyer.getWorld();
  t.equal(world.title, "The demo");
  const renamed = await foyer.updateWorld(
    { ...world, title: "New" },
    { ifMatch: world.etag },
  );
  t.equal(renamed.title, "New");
  t.not(renamed.etag, world.etag);

  const room = await foyer.createRoom({ name: "Hall" });
  t.same(await foyer.getRoom(room.id), room);
  const changed = await foyer.updateRoom(room.id, { ...room, name: "Lobby" });
  t.equal(changed.name, "Lobby");
  const late = foyer.deleteRoom(room.id, { ifMatch: room.etag });
  t.equal((await refusal(late)).status, 412);
  await foyer.deleteRoom(room.id, { ifMatch: changed.etag });
  t.equal((await refusal(foyer.getRoom(room.id))).status, 403);
});

void t.test("all rooms, page by page", async (t) => {
  const { foyer } = await connect(t);
  const names = Array.from({ length: 7 }, (_, i) => `Room ${i}`);
  for (const name of names) await foyer.createRoom({ name });
  const seen: string[] = [];
  for await (const { name } of foyer.rooms({
    page_size: 3,
    ordering: "name",
  })) {
    seen.push(name);
  }
  t.same(seen, names);
  const { count, results } = await foyer.listRooms({ search: "room 3" });
  t.match({ count, results }, { count: 1, results: [{ name: "Room 3" }] });
});

void t.test("uploads, and who made them", async (t) => {
  const { foyer, baseUrl, store } = await connect(t);
  const path = join(t.testdirName, "slides.pdf");
  await writeFile(path, PDF);
  for (const [name, upload] of Object.entries({
    "a file on the disk": foyer.upload(await openAsBlob(path), "slides.pdf"),
    "a blob": foyer.upload(new Blob([PDF]), "slides.pdf"),
    "a file": foyer.upload(new File([PDF], "slides.pdf")),
    "another name": foyer.upload(new File([PDF], "slides"), "slides.pdf"),
    "a guest": new Foyer({ baseUrl, world: "demo", clientId: "me" }).upload(
      new File([PDF], "slides.pdf"),
    ),
  })) {
    const answer = await fetch(await upload);
    t.equal(await answer.text(), PDF, name);
  }
  t.equal((await usersOf(store, "demo")).length, 2);
  const users = [];
  for await (const user of foyer.users({ page_size: 1 })) users.push(user);
  t.same(users.map(({ token_id }) => token_id).sort(), ["7", null]);
  const files = [];
  for await (const file of foyer.files({ page_size: 3 })) files.push(file);
  t.equal(files.length, 5);
  await foyer.deleteFile(files[0]!.id);
  t.equal((await fetch(files[0]!.url)).status, 404);
  const twice = foyer.deleteFile(files[0]!.id);
  t.equal((await refusal(twice)).status, 403);
  t.match(await foyer.listFiles(), { count: 4 });
  await foyer.deleteUser({ token_id: "7" });
  t.equal((await usersOf(store, "demo")).length, 1);
});

void t.test("what a refusal says", async (t) => {
  const { foyer, baseUrl } = await connect(t);
  const nobody = new Foyer({ baseUrl, world: "demo" });
  const cases: [name: string, call: () => Promise<unknown>, wanted: object][] =
    [
      [
        "bad data",
        () => foyer.createRoom({ name: "", domain: "No" }),
        { status: 400, fields: { name: ["May not be empty."] } },
      ],
      [
        "no token",
        () => nobody.getWorld(),
        {
          status: 401,
          detail: "Authentication credentials were not provided.",
          code: "unauthenticated",
        },
      ],
      ["no room", () => foyer.getRoom("x"), { status: 403, fields: {} }],
      [
        "no right to upload",
        () => nobody.upload(new Blob(["x"]), "x.pdf"),
        { status: 403 },
      ],
      [
        "a file of no type",
        () => foyer.upload(new Blob(["x"]), "x.exe"),
        { status: 400, detail: "file.type", code: "file.type" },
      ],
    ];
  for (const [name, call, wanted] of cases) {
    const error = await refusal(call());
    t.match({ ...error }, wanted, name);
    t.ok(error.message.startsWith(String(error.status)), name);
  }
});
