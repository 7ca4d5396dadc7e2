import assert from "node:assert/strict";
import t from "tap";
import type { Author } from "../../db/contract/author.js";
import { fileForm, PDF, upload, urlOf } from "../files.js";
import { admin, keyOf, type Request, serve, tokenOf } from "../helper.js";

// Who acted, as the log says of each route that writes. test/harness/authors.test.ts does
// the same for commands of the websocket.

const WORLD = "/api/v1/worlds/:world_id/";

void t.test("the author of what a route appends is its caller", async (t) => {
  const server = await serve(t);
  const { store } = server;
  const traits = ["admin", "api"];
  const person = { tokenId: "ada", traits: new Set(traits) };
  const { id: user } = await store.users.enter("demo", person);
  const ofUser = `Bearer ${tokenOf(keyOf("demo"), { uid: "ada", traits })}`;
  const ofStranger = `Bearer ${tokenOf(keyOf("demo"), { uid: "bob", traits })}`;
  const rooms = store.rooms;
  const room = async () => (await rooms.create("demo", { name: "a" })).value.id;
  const at = (path: string) => WORLD.replace(":world_id", "demo") + path;

  /** A request for each route that writes. */
  const requests: Record<string, () => Promise<Request>> = {
    [`PATCH ${WORLD}`]: async () => ({ url: at(""), body: { title: "New" } }),
    [`POST ${WORLD}rooms/`]: async () => ({
      url: at("rooms/"),
      body: { name: "b" },
    }),
    [`PATCH ${WORLD}rooms/:room_id/`]: async () => ({
      url: at(`rooms/${await room()}/`),
      body: { name: "c" },
    }),
    [`DELETE ${WORLD}rooms/:room_id/`]: async () => ({
      url: at(`rooms/${await room()}/`),
    }),
    [`POST ${WORLD}delete_user`]: async () => {
      const visitor = {
        clientId: `x${Math.random()}`,
        traits: new Set<string>(),
      };
      const { id } = await store.users.enter("demo", visitor);
      return { url: at("delete_user"), body: { user_id: id } };
    },
    [`DELETE ${WORLD}files/:file_id/`]: async () => {
      const headers = { host: "demo.example.org" };
      const sent = await upload(server, fileForm("a.pdf", PDF), {
        as: ofUser,
        headers,
      });
      const [head] = await store.log.heads(["demo"]);
      const last = await store.log.since("demo", head!.seq - 1, 1);
      t.match(last.entries, [
        { type: "file.added", by: { kind: "user", user } },
      ]);
      const id = urlOf(sent).split("/").at(-1)!.split(".")[0]!;
      return { url: at(`files/${id}/`) };
    },
  };
  const announcement = async () =>
    (await store.announcements.create("demo", { text: "x" })).id;
  const chat = async () =>
    (
      await rooms.create("demo", {
        ...{ name: "a", module_config: [{ type: "chat.native" }] },
      })
    ).value.id;
  const content = { type: "text", body: "x" };
  const settings = {
    ...{ url: "https://93.184.216.34/", types: ["*"] },
    ...{ enabled: false, description: "" },
  };
  const webhook = async () =>
    at(
      `webhooks/${(await store.webhooks.create("demo", settings, "whsec_")).id}/`,
    );
  // A world has at most 20.
  const withoutHooks = async () => {
    const all = { page: 1, pageSize: 100 };
    const { webhooks } = await store.webhooks.list("demo", all);
    for (const { id } of webhooks) await store.webhooks.delete("demo", id);
  };
  Object.assign(requests, {
    [`POST ${WORLD}webhooks/`]: async () => ({
      ...{ url: at("webhooks/"), body: { url: settings.url, enabled: false } },
    }),
    [`PATCH ${WORLD}webhooks/:webhook_id/`]: async () => ({
      ...{ url: await webhook(), body: { description: "x" } },
    }),
    [`DELETE ${WORLD}webhooks/:webhook_id/`]: async () => ({
      url: await webhook(),
    }),
    [`POST ${WORLD}webhooks/:webhook_id/redeliver`]: async () => {
      await withoutHooks();
      return { url: `${await webhook()}redeliver`, body: { after: "0" } };
    },
    [`POST ${WORLD}announcements/`]: async () => ({
      url: at("announcements/"),
      body: { text: "x" },
    }),
    [`PATCH ${WORLD}announcements/:announcement_id/`]: async () => ({
      url: at(`announcements/${await announcement()}/`),
      body: { text: "y" },
    }),
    [`PATCH ${WORLD}users/:user_id/`]: async () => {
      const traits = new Set<string>();
      const name = { tokenId: `${Math.random()}`, traits };
      const { id } = await store.users.enter("demo", name);
      return { url: at(`users/${id}/`), body: { moderation_state: "banned" } };
    },
    [`POST ${WORLD}rooms/:room_id/messages/`]: async () => ({
      ...{ url: at(`rooms/${await chat()}/messages/`), body: { content } },
      as: ofUser,
    }),
    [`DELETE ${WORLD}rooms/:room_id/messages/:event_id/`]: async () => {
      const id = await chat();
      const draft = { sender: user, content, volatile: true };
      const { event } = await store.chat.send("demo", id, draft);
      return { url: at(`rooms/${id}/messages/${event.id}/`), as: ofUser };
    },
  });
  const session = async () => {
    const made = await store.program.createSession("demo", { title: "x" });
    return "faults" in made ? assert.fail() : made.session.value.id;
  };
  const speaker = async () => {
    const made = await store.program.createSpeaker("demo", { name: "x" }, []);
    return "faults" in made ? assert.fail() : made.value.id;
  };
  const title = () => ({ title: `${Math.random()}` });
  Object.assign(requests, {
    [`POST ${WORLD}sessions/`]: async () => ({
      ...{ url: at("sessions/"), body: title() },
    }),
    [`PATCH ${WORLD}sessions/:session_id/`]: async () => ({
      ...{ url: at(`sessions/${await session()}/`), body: title() },
    }),
    [`DELETE ${WORLD}sessions/:session_id/`]: async () => ({
      url: at(`sessions/${await session()}/`),
    }),
    [`POST ${WORLD}speakers/`]: async () => ({
      ...{ url: at("speakers/"), body: { name: "x" } },
    }),
    [`PATCH ${WORLD}speakers/:speaker_id/`]: async () => ({
      ...{ url: at(`speakers/${await speaker()}/`), body: { name: "y" } },
    }),
    [`DELETE ${WORLD}speakers/:speaker_id/`]: async () => ({
      url: at(`speakers/${await speaker()}/`),
    }),
    [`PUT ${WORLD}program/`]: async () => ({
      ...{ url: at("program/"), body: { sessions: [title()], speakers: [] } },
    }),
  });
  // An upload is by the uploader, a user, and has another form. A token is not stored, and a test of a
  // webhook writes nothing.
  const writing = [...server.routes].filter(
    (route) =>
      !/^(GET|HEAD|OPTIONS) |\/(storage\/\w+|tokens|setup)\/$|\/test$/.test(
        route,
      ),
  );
  t.strictSame(writing.sort(), Object.keys(requests).sort(), "all routes");

  const callers: Record<string, (author: Author) => boolean> = {
    [ofUser]: ({ kind, user: id }) => kind === "api" && id === user,
    [ofStranger]: ({ kind, user: id, token }) =>
      kind === "api" && id === undefined && /^[\da-f]{32}$/.test(token ?? ""),
    [admin("demo")]: ({ kind, token }) =>
      kind === "api" && /^[\da-f]{32}$/.test(token ?? ""),
  };
  for (const [route, prepare] of Object.entries(requests)) {
    const method = route.split(" ")[0]!;
    for (const [as, isCaller] of Object.entries(callers)) {
      const request = await prepare();
      const [head] = await store.log.heads(["demo"]);
      // Only a user sends messages.
      if (request.as !== undefined && request.as !== as) continue;
      const { status } = await server.call({ method, as, ...request });
      t.ok(status < 300, `${route}: ${status}`);
      const { entries } = await store.log.since("demo", head!.seq, 100);
      t.ok(entries.length > 0, `${route} appends`);
      for (const { type, by } of entries) {
        t.ok(isCaller(by), `${route}: ${type} by ${JSON.stringify(by)}`);
        t.notOk(JSON.stringify(by).includes("bob"), "no name");
      }
    }
  }
});
