import type { Test } from "tap";
import type { Json } from "../../conformance/client.js";
import { type Answer, rules } from "./helper.js";
import { demo, type Server, startServer } from "./server.js";

/** The roles of the people in these tests, by trait. All of them may call the API. */
export type Trait = "admin" | "editor" | "reader" | "crew";

const TYPES = {
  json: "application/json",
  xml: "application/xml",
  ics: "text/calendar",
  csv: "text/csv",
};

/** The caller of a request, and how its body is sent. */
interface Call {
  method?: string;
  body?: unknown;
  as?: Trait;
  headers?: Record<string, string>;
}

interface Sending {
  type?: keyof typeof TYPES;
  query?: string;
  as?: Trait;
}

/** Administrators are also editors. */
const traitsOf = (trait: Trait) => (trait === "admin" ? ["admin", "editor"] : [trait]);

/** A server with two processes, and helpers that access its world over HTTP. */
export interface Site extends Server {
  /** Sends a request, by default as an administrator. */
  api(path: string, call?: Call): Promise<Answer & { body: Json }>;
  /** Creates or changes something. @returns its new state. */
  save(method: string, path: string, body?: unknown): Promise<Json>;
  /** Returns the titles of listed sessions, or the names of listed speakers. */
  list(path: string, as?: Trait): Promise<string[]>;
  /** Imports a document, by default as an editor. */
  put(document: unknown, how?: Sending): Promise<Answer & { body: Json }>;
  /** This and the following functions create something. @returns its id, or the address of a picture. */
  room(name: string, rules?: object): Promise<string>;
  session(title: string, more?: object): Promise<string>;
  upload(): Promise<string>;
}

export async function startSite(t: Test, env: Record<string, string> = {}): Promise<Site> {
  const server = await startServer(t, {
    processes: 2,
    // At this level, the log names the workers.
    env: { LOG_LEVEL: "info", ...env },
    worlds: [
      demo({
        // Uploads belong to the world whose host name the request uses.
        domain: "127.0.0.1",
        config: { timezone: "Europe/Berlin" },
        permission_config: rules({
          "world.api": [["admin", "editor", "reader", "crew"]],
          "world.secrets": ["admin"],
          "program.update": ["editor"],
          "room.create": ["admin"],
        }),
      }),
      demo({ id: "other" }),
    ],
  });
  const site: Site = Object.assign(server, {
    async api(path: string, { as = "admin", ...call }: Call = {}) {
      const token = server.tokenOf({
        uid: as,
        traits: traitsOf(as),
        profile: { display_name: as },
      });
      const url = `/api/v1/worlds/demo/${path}`;
      return (await server.call({ ...call, url, as: `Bearer ${token}` })) as Answer & {
        body: Json;
      };
    },
    async save(method: string, path: string, body?: unknown) {
      const answer = await site.api(path, { method, body });
      if (answer.status < 300) return answer.body;
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    },
    async list(path: string, as: Trait = "admin") {
      const { status, body, text } = await site.api(path, { as });
      if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
      return body.results.map(({ title, name }: Json) => title ?? name);
    },
    put(document: unknown, { type = "json", query = "", as = "editor" }: Sending = {}) {
      const isRaw = typeof document === "string" || document instanceof Uint8Array;
      return site.api(`program/${query}`, {
        method: "PUT",
        body: isRaw ? document : JSON.stringify(document),
        headers: { "content-type": TYPES[type] },
        as,
      });
    },
    async room(name: string, permission_config = {}) {
      return (await site.save("POST", "rooms/", { name, permission_config })).id;
    },
    async session(title: string, more = {}) {
      return (await site.save("POST", "sessions/", { title, ...more })).id;
    },
    async upload() {
      const form = new FormData();
      form.append("file", new Blob([PIXEL], { type: "image/png" }), "a.png");
      const headers = { authorization: "Client someone" };
      const url = `${server.baseUrl}/storage/upload/`;
      const answer = await fetch(url, { method: "POST", headers, body: form });
      return ((await answer.json()) as { url: string }).url;
    },
  } satisfies Omit<Site, keyof Server>);
  return site;
}

const PIXEL = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
