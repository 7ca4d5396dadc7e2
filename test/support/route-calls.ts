import type { Test } from "tap";
import { fileForm, PDF } from "./files.js";
import { type Request, rules, worldOf } from "./helper.js";
import { startServer } from "./server.js";

// A call of each route that there is, on things that exist.

/** Where nothing is, in place of what a path names. */
export const ABSENT_ID = "00000000-0000-4000-8000-000000000000";

const { headers: formHeaders, body: formBody } = fileForm("a.pdf", PDF);

let count = 0;
/** A text that nothing has yet: to write it is a change. */
const fresh = () => `made ${++count}`;

/** Bodies by the ends of routes. */
const bodies: Record<string, () => object> = {
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
  "/sessions/": () => ({ title: fresh() }),
  "/sessions/:session_id/": () => ({ title: fresh() }),
  "/webhooks/": () => ({ url: "https://1.1.1.1/", enabled: false }),
  "/webhooks/:webhook_id/": () => ({ description: fresh() }),
  "/redeliver": () => ({ after: "0" }),
  "/messages/": () => ({ content: { type: "text", body: fresh() } }),
  "PATCH /api/v1/worlds/:world_id/": () => ({ title: fresh() }),
  "/program/": () => ({ sessions: [{ title: fresh() }] }),
};

/** What makes a call of each method complete. */
export function bodyOf(route: string): Partial<Request> {
  if (!/^(POST|PATCH|PUT)\b/.test(route)) return {};
  if (route.startsWith("POST /storage/")) {
    if (route.includes("schedule")) return fileForm("a.json", '{"sessions":[]}');
    return { headers: formHeaders, body: formBody };
  }
  const [, body] = Object.entries(bodies).find(([end]) => route.endsWith(end)) ?? [];
  return { body: body?.() ?? { name: fresh() } };
}

export const idIn = (media: string) => media.split("/").at(-1)!.split(".")[0]!;

/** The ids in the path of a route, beside the ids of a world and a room. */
export type Ids = Record<
  "file" | "user" | "announcement" | "event" | "session" | "speaker" | "webhook",
  string
>;

/** The URL of a route, on things that exist. */
export const urlOf = (
  route: string,
  room: string,
  media: string,
  { file = idIn(media), ...ids }: Partial<Ids> = {},
): string =>
  route
    .replace(/^\w+ /, "")
    .replace(":kind", "people")
    .replace(":user_id", ids.user ?? ABSENT_ID)
    .replace(":announcement_id", ids.announcement ?? ABSENT_ID)
    .replace(":event_id", ids.event ?? "1")
    .replace(":webhook_id", ids.webhook ?? ABSENT_ID)
    .replace(":world_id", "demo")
    .replace(":room_id", room)
    .replace(":file_id", file)
    .replace(":session_id", ids.session ?? ABSENT_ID)
    .replace(":speaker_id", ids.speaker ?? ABSENT_ID)
    .replace("/docs/:name", "/docs/configure.md")
    .replace("/docs/guides/:name", "/docs/guides/configure")
    .replace("/docs/static/:name", "/docs/static/swagger-ui.css")
    .replace("/web/:name", "/web/icon.svg")
    .replace("/demo/:name", "/demo/init.mp4")
    .replace("/media/pub/:world/:name", media)
    .replace(":world", "demo");

/** A server with all that may be asked for; two worlds, so that the host says which. */
export async function furnished(t: Test, permissions = rules({})) {
  const server = await startServer(t, {
    worlds: [worldOf("demo", { permission_config: permissions }), worldOf("other")],
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
        module_config: ["chat.native", "question", "poll"].map((type) => ({
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
      ...bodyOf(route),
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
  /** The only webhook, which goes nowhere. */
  const webhook = async () => {
    const all = { page: 1, pageSize: 100 };
    const { webhooks } = await store.webhooks.list("demo", all);
    for (const { id } of webhooks) await store.webhooks.delete("demo", id);
    const settings = { url: "https://127.0.0.1/", types: ["*"], enabled: false, description: "" };
    return (await store.webhooks.create("demo", settings, "whsec_")).id;
  };
  /** What a path names beside a world and a room. */
  const idsFor = async (
    route: string,
    room: string,
    tokenId = "subject",
  ): Promise<Partial<Ids>> => {
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
    if (route.includes(":session_id")) {
      const draft = { title: "x", room_id: room };
      const made = await store.program.createSession("demo", draft);
      return "session" in made ? { session: made.session.value.id } : {};
    }
    if (route.includes(":speaker_id")) {
      const draft = { name: "x" };
      const made = await store.program.createSpeaker("demo", draft, []);
      return "value" in made ? { speaker: made.value.id } : {};
    }
    if (route.includes("/webhooks/")) return { webhook: await webhook() };
    if (!route.includes(":event_id")) return {};
    const { event } = await store.chat.send("demo", room, {
      sender: await user(),
      content: { type: "text", body: "x" },
      volatile: true,
    });
    return { event: String(event.id) };
  };
  return { ...server, room, closedRoom, send, upload, idsFor };
}
