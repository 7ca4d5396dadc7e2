import { connect } from "node:net";
import t from "tap";
import {
  admin,
  keyOf,
  listen,
  serve,
  tokenOf,
  type TestServer,
  until,
  worldOf,
} from "../helper.js";
import {
  fileForm,
  finished,
  follow,
  MP4,
  PDF,
  unfinished,
  upload,
  urlOf,
} from "../files.js";

const url = "/api/v1/worlds/demo/files/";
const as = admin("demo");
const ABSENT = "00000000-0000-4000-8000-000000000000";

interface File {
  id: string;
  url: string;
  size: number;
  type: string;
  user_id: string | null;
  uploaded_at: string;
}

interface List {
  count: number;
  next: string | null;
  previous: string | null;
  results: File[];
}

const list = async ({ call }: TestServer, query = "") =>
  (await call({ url: url + query, as })).body as List;

const remove = ({ call }: TestServer, id: string, body?: unknown) =>
  call({ method: "DELETE", url: `${url}${id}/`, as, body });

const uploaded = async (
  server: TestServer,
  name = "a.pdf",
  bytes: string | Buffer = PDF,
  options: Parameters<typeof upload>[2] = {},
) => urlOf(await upload(server, fileForm(name, bytes), options));

const idIn = (link: string) => /([0-9a-f-]{36})\./.exec(link)![1]!;

void t.test("the files of a world, the newest first", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")]);
  const at = (host: string) => ({ headers: { host } });
  t.strictSame(await list(server), {
    count: 0,
    next: null,
    previous: null,
    results: [],
  });
  const before = Date.now();
  const links = [
    await uploaded(server, "a.pdf", PDF, at("demo.example.org")),
    await uploaded(server, "B.MP4", MP4, {
      as: `Bearer ${tokenOf(keyOf("demo"), { uid: "ada" })}`,
      ...at("demo.example.org"),
    }),
  ].reverse();
  await uploaded(server, "c.pdf", PDF, at("other.example.org"));
  const { users } = await server.store.users.list("demo", {
    page: 1,
    pageSize: 9,
  });
  const userOf = (name: string) =>
    users.find(({ token_id, client_id }) => (token_id ?? client_id) === name)!
      .id;

  const got = await server.call({
    url,
    as,
    headers: { host: "demo.example.org" },
  });
  t.equal(got.headers["cache-control"], "private, no-cache");
  const { results, ...page } = got.body as List;
  t.strictSame(page, { count: 2, next: null, previous: null });
  t.strictSame(
    results.map(({ uploaded_at: _, ...file }) => file),
    [
      {
        id: idIn(links[0]!),
        url: links[0],
        size: MP4.length,
        type: "video/mp4",
        user_id: userOf("ada"),
      },
      {
        id: idIn(links[1]!),
        url: links[1],
        size: PDF.length,
        type: "application/pdf",
        user_id: userOf("guest-1"),
      },
    ],
  );
  for (const { url, uploaded_at } of results) {
    t.equal((await follow(server, url)).status, 200, "where it says");
    t.match(uploaded_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const time = Date.parse(uploaded_at);
    t.ok(time >= before && time <= Date.now());
  }

  await server.store.users.erase("demo", { token_id: "ada" });
  const [erased] = (await list(server)).results;
  t.match(erased, { id: idIn(links[0]!), user_id: null }, "without a user");
  t.equal((await remove(server, erased!.id)).status, 204);
});

void t.test("files and users come by pages", async (t) => {
  const server = await serve(t);
  for (let i = 0; i < 5; i++) {
    await uploaded(server, "a.pdf", PDF, { as: `Client c${i}` });
  }
  for (const kind of ["files", "users"]) {
    const path = `/api/v1/worlds/demo/${kind}/`;
    const link = (page: number) =>
      `http://localhost:8375${path}?page_size=2&page=${page}`;
    const got = await server.call({ url: `${path}?page_size=2&page=2`, as });
    const { results, ...rest } = got.body as List;
    t.strictSame(rest, { count: 5, next: link(3), previous: link(1) }, kind);
    t.equal(results.length, 2, kind);
    const bad = await server.call({ url: `${path}?page=0&page_size=1001`, as });
    t.equal(bad.status, 400, kind);
    t.same(Object.keys(bad.body as object).sort(), ["page", "page_size"]);
  }
});

void t.test("a file is deleted", async (t) => {
  const server = await serve(t, [worldOf("demo"), worldOf("other")]);
  const at = (host: string) => ({ headers: { host } });
  const link = await uploaded(server, "a.pdf", PDF, at("demo.example.org"));
  const kept = await uploaded(server, "a.pdf", PDF, at("demo.example.org"));
  const foreign = await uploaded(server, "a.pdf", PDF, at("other.example.org"));
  const missing = { detail: "There is no such file.", code: "missing" };
  const id = idIn(link);
  for (const [name, odd] of [
    ["unknown", ABSENT],
    ["of another world", idIn(foreign)],
    [
      "with its secret",
      link
        .split("/")
        .at(-1)!
        .replace(/\.pdf$/, ""),
    ],
    ["in upper case", id.toUpperCase()],
    ["a pattern", "%25"],
    ["a path", `..%2Fother%2F${idIn(foreign)}`],
  ] as const) {
    const got = await remove(server, odd);
    t.equal(got.status, 403, name);
    t.match(got.body, missing, name);
  }
  t.equal((await finished(server.dataDir)).length, 3);

  const gone = await remove(server, id, { ignored: true });
  t.equal(gone.status, 204);
  t.equal(gone.text, "");
  for (const method of ["GET", "HEAD"] as const) {
    t.equal((await follow(server, link, {}, method)).status, 404);
  }
  const again = await remove(server, id);
  t.equal(again.status, 403, "twice");
  t.match(again.body, missing);
  t.match(await list(server), { count: 1, results: [{ id: idIn(kept) }] });
  t.equal((await follow(server, kept)).status, 200);
  t.equal((await follow(server, foreign)).status, 200);
  t.equal(await server.store.files.size("demo"), PDF.length);
  t.equal((await finished(server.dataDir)).length, 2);
  t.strictSame(await unfinished(server.dataDir), [], "nothing is under way");

  const wrong = await server.call({ url: `${url}${id}/`, as });
  t.equal(wrong.status, 405);
  t.equal(wrong.headers.allow, "DELETE");
});

void t.test("files come and go at once", async (t) => {
  const server = await serve(t);
  const links = await Promise.all(
    Array.from({ length: 10 }, () => uploaded(server)),
  );
  const [kept, statuses] = await Promise.all([
    Promise.all(Array.from({ length: 10 }, () => uploaded(server))),
    Promise.all(
      links
        .flatMap((link) => [link, link, link])
        .map((link) => remove(server, idIn(link))),
    ).then((answers) => answers.map(({ status }) => status)),
  ]);
  t.strictSame(
    statuses.sort(),
    [204, 403, 403].flatMap((status) => links.map(() => status)).sort(),
    "each is deleted once",
  );
  const { count, results } = await list(server);
  t.equal(count, kept.length);
  t.strictSame(results.map(({ id }) => id).sort(), kept.map(idIn).sort());
  t.equal((await finished(server.dataDir)).length, kept.length);
  t.equal(await server.store.files.size("demo"), kept.length * PDF.length);
  t.strictSame(await unfinished(server.dataDir), []);
});

void t.test("who is reading a file may finish", async (t) => {
  const server = await serve(t);
  const bytes = Buffer.concat([MP4, Buffer.alloc(8 * 1024 * 1024, 7)]);
  const link = await uploaded(server, "a.mp4", bytes);
  const socket = connect(await listen(server.app), "127.0.0.1");
  t.teardown(() => socket.destroy());
  let size = 0;
  let ended = false;
  socket.on("end", () => (ended = true));
  socket.write(
    `GET ${new URL(link).pathname} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  // The first bytes, and then nothing is taken from the socket for a while.
  await new Promise<void>((resolve) =>
    socket.once("data", (chunk: Buffer) => {
      size += chunk.length;
      socket.pause();
      resolve();
    }),
  );
  t.equal((await remove(server, idIn(link))).status, 204);
  t.strictSame(await finished(server.dataDir), []);
  socket.on("data", (chunk: Buffer) => (size += chunk.length));
  socket.resume();
  await until(() => ended);
  t.ok(size > bytes.length, `${size} bytes came`);
  t.equal((await follow(server, link)).status, 404);
});

void t.test("links of the list follow PUBLIC_URL", async (t) => {
  const server = await serve(t, [worldOf("demo")], {
    config: { publicUrl: "https://files.example.org" },
  });
  const link = await uploaded(server);
  const { results, next } = await list(server, "?page_size=1");
  t.equal(next, null);
  t.equal(results[0]!.url, link);
  t.match(link, /^https:\/\/files\.example\.org\/media\/pub\/demo\//);
});
