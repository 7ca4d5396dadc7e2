import type { Test } from "tap";
import { fileForm, PDF } from "./files.js";
import { type Request, rules, worldOf } from "./helper.js";
import { fromAll, identified } from "./resources.js";
import { startServer } from "./server.js";
import { TestEngine } from "./test-engine.js";

// Builds a call to every route, on objects that exist.

/** The id of an object that does not exist. */
export const ABSENT_ID = "00000000-0000-4000-8000-000000000000";

const { headers: formHeaders, body: formBody } = fileForm("a.pdf", PDF);

let count = 0;
/** Returns a text that is not in use yet, so that writing it is a change. */
const fresh = () => `made ${++count}`;

/** Bodies, by the end of the route. */
const bodies: Record<string, (fresh: string, url: string) => object> = {
  ...fromAll(({ bodies }) => bodies),
  "/delete_user": () => ({ token_id: "subject" }),
  "/schedule_update": () => ({ domain: "https://p.example", event: "demo" }),
  "/tokens/": () => ({ traits: [], expires_in: 60, page: null }),
  "PATCH /api/v1/worlds/:world_id/users/": () => ({
    token_id: "subject",
    moderation_state: "none",
  }),
  "/users/:user_id/": () => ({ moderation_state: "none" }),
  "/announcements/": () => ({ text: fresh() }),
  "/announcements/:announcement_id/": () => ({ text: fresh() }),
  "/captions/": () => ({ lang: "en", text: fresh(), final: true }),
  "/messages/": () => ({ content: { type: "text", body: fresh() } }),
  "PATCH /api/v1/worlds/:world_id/": () => ({ title: fresh() }),
  "/program/": () => ({ sessions: [{ title: fresh() }] }),
};

/** Returns the body and headers that a call of a route requires. */
export function bodyOf(route: string, url = ""): Partial<Request> {
  if (!/^(POST|PATCH|PUT)\b/.test(route)) return {};
  if (route.startsWith("POST /storage/")) {
    if (route.includes("schedule")) return fileForm("a.json", '{"sessions":[]}');
    return { headers: formHeaders, body: formBody };
  }
  const [, body] = Object.entries(bodies).find(([end]) => route.endsWith(end)) ?? [];
  return { body: body?.(fresh(), url) ?? { name: fresh() } };
}

export const idIn = (media: string) => media.split("/").at(-1)!.split(".")[0]!;

/** The ids in a route's path other than those of the world and the room. */
export type Ids = Readonly<Record<string, string>>;

/** Returns the URL of a route, for objects that exist. */
export const urlOf = (
  route: string,
  room: string,
  media: string,
  { file = idIn(media), ...ids }: Ids = {},
): string =>
  withIds(route, ids)
    .replace(/^\w+ /, "")
    .replace(":kind", "people")
    .replace(":user_id", ids.user ?? ABSENT_ID)
    .replace(":announcement_id", ids.announcement ?? ABSENT_ID)
    .replace(":event_id", ids.event ?? "1")
    .replace(":world_id", "demo")
    .replace(":room_id", room)
    .replace(":file_id", file)
    .replace("/docs/:name", "/docs/configure.md")
    .replace("/docs/guides/:name", "/docs/guides/configure")
    .replace("/docs/static/:name", "/docs/static/swagger-ui.css")
    .replace("/web/:name", "/web/icon.svg")
    .replace("/demo/:name", "/demo/init.mp4")
    .replace("/media/pub/:world/:name", media)
    .replace(":world", "demo");

/** Replaces the parameters of resources with their ids. */
const withIds = (route: string, ids: Ids) =>
  identified.reduce(
    (path, { parameter }) => path.replace(`:${parameter}`, ids[parameter] ?? ABSENT_ID),
    route,
  );

/** Starts a server with everything that the routes need. It has two worlds, so that the host name must select one. */
export async function startPopulatedServer(t: Test, permissions = rules({})) {
  const server = await startServer(t, {
    worlds: [worldOf("demo", { permission_config: permissions }), worldOf("other")],
    callEngines: { livekit: new TestEngine() },
    config: {
      adminToken: "a-token-of-the-operator-of-this-server",
      metrics: { host: "127.0.0.1", port: undefined, token: "a-token-for-the-metrics" },
    },
  });
  const { store } = server;
  const room = async (permission_config = {}) =>
    (
      await store.rooms.create("demo", {
        name: "x",
        permission_config,
        module_config: ["chat.native", "question", "poll", "call.native"].map((type) => ({
          type,
          config: { active: true },
        })),
      })
    ).value.id;
  const closedRoom = () =>
    room({ "room.view": ["crew"], "room.update": ["crew"], "room.delete": ["crew"] });
  const send = (route: string, request: Omit<Request, "method">) =>
    server.call({
      method: route.split(" ")[0]!,
      ...bodyOf(route, request.url),
      ...request,
      headers: { host: "demo.example.org", ...bodyOf(route).headers, ...request.headers },
    });
  const upload = async (as: string, host = "demo.example.org") => {
    const got = await send("POST /storage/upload/", {
      url: "/storage/upload/",
      as,
      headers: { host },
    });
    const { url } = got.body as { url: string };
    return new URL(url).pathname;
  };
  /** Creates the objects that a path names, except for the world and the room. */
  const idsFor = async (route: string, room: string, tokenId = "subject"): Promise<Ids> => {
    if (route.includes(":file_id")) {
      return { file: idIn(await upload("Client uploader")) };
    }
    const visitor = { tokenId, traits: new Set<string>() };
    const user = async () => (await store.users.enter("demo", visitor)).id;
    if (route.includes(":user_id")) return { user: await user() };
    if (route.includes(":announcement_id")) {
      const { id } = await store.announcements.create("demo", { text: "x" });
      return { announcement: id };
    }
    const resource = identified.find(({ parameter }) => route.includes(`:${parameter}`));
    if (resource) return { [resource.parameter]: await resource.make(store, room) };
    if (!route.includes(":event_id")) return {};
    const { event } = await store.chat.send("demo", room, {
      sender: await user(),
      content: { type: "text", body: "x" },
      volatile: true,
    });
    return { event: String(event.id) };
  };
  /** Starts a call in a room, if there is none yet. */
  const holdCall = async (room: string) => {
    const visitor = { tokenId: "caller", traits: new Set<string>() };
    const user = (await store.users.enter("demo", visitor)).id;
    const now = Date.now();
    const identity = `${user}:${now}`;
    const device = { identity, user, hidden: false, access: { traits: [] }, ends: now + 60_000 };
    await store.calls.issued("demo", room, device, { now });
    await store.calls.joined("demo", room, { identity, session: identity }, { at: now, now });
  };
  return { ...server, room, closedRoom, send, upload, idsFor, holdCall };
}
