import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { WebSocketServer, type WebSocket } from "ws";
import {
  Live,
  type Authenticated,
  type LiveOptions,
} from "../../client/index.js";
import { until } from "../helper.js";

export const HALL = "0b7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";
export const ATTIC = "1c7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b";

/** What a login is answered with. */
export const welcome: Authenticated = {
  "user.config": {
    id: "2d7f8f0a-3f57-4c0c-9f0e-0d6f1a3e8c1b",
    profile: { display_name: "Ada" },
    pretalx_id: null,
    deleted: false,
    badges: [],
    inactive: false,
    client_state: {},
  },
  "world.config": {
    world: {
      id: "demo",
      title: "The demo",
      pretalx: {},
      profile_fields: [],
      social_logins: [],
      iframe_blockers: {},
      onsite_traits: [],
      vapid_public_key: null,
    },
    permissions: ["world:view"],
    rooms: [
      {
        id: HALL,
        name: "Hall",
        description: null,
        picture: null,
        import_id: null,
        pretalx_id: 0,
        force_join: false,
        schedule_data: null,
        permissions: ["room:view"],
        modules: [],
        users: "none",
      },
    ],
  },
  "chat.channels": [],
  "chat.read_pointers": {},
  "chat.notification_counts": {},
  exhibition: { exhibitors: [], contact_requests: [] },
  announcements: [],
};

/** The server's end of one connection. */
export class Peer {
  /** What came in, without pings. */
  readonly frames: unknown[][] = [];
  pings = 0;
  readonly #socket: WebSocket;

  constructor(
    readonly path: string,
    socket: WebSocket,
    answer: Answer,
  ) {
    this.#socket = socket;
    socket.on("error", () => {});
    socket.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as unknown[];
      if (frame[0] === "ping") this.pings++;
      else this.frames.push(frame);
      answer(this, frame);
    });
  }

  /** The names of the frames that came in. */
  get names(): unknown[] {
    return this.frames.map(([name]) => name);
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN;
  }

  /** Sends frames in one packet. */
  send(...frames: unknown[][]): void {
    const { _socket: tcp } = this.#socket as unknown as {
      _socket: { cork(): void; uncork(): void };
    };
    tcp.cork();
    for (const frame of frames) this.#socket.send(JSON.stringify(frame));
    tcp.uncork();
  }

  sendRaw(data: string | Buffer): void {
    this.#socket.send(data);
  }

  close(code?: number, reason?: string): void {
    this.#socket.close(code, reason);
  }

  /** Breaks the connection without a word. */
  drop(): void {
    this.#socket.terminate();
  }

  /** Reads nothing more, as a machine that is gone. */
  freeze(): void {
    this.#socket.pause();
  }

  /** Waits for a number of frames, the login included. */
  async received(count: number): Promise<unknown[][]> {
    await until(() => this.frames.length >= count);
    return this.frames;
  }
}

/** What a fake server does with a frame. */
export type Answer = (peer: Peer, frame: unknown[]) => void;

/** Answers as a server does to which everything succeeds. */
export const agree: Answer = (peer, [name, id]) => {
  if (name === "authenticate") peer.send(["authenticated", welcome]);
  else if (name === "ping") peer.send(["pong", id]);
  else peer.send(["success", id, {}]);
};

/** Like {@link agree}, but leaves frames with these names without an answer. */
export const ignore =
  (...names: string[]): Answer =>
  (peer, frame) => {
    if (!names.includes(frame[0] as string)) agree(peer, frame);
  };

/** A server that speaks the protocol and fails on demand. */
export interface FakeServer {
  readonly baseUrl: string;
  /** All connections so far. */
  readonly peers: readonly Peer[];
  /** How often an upgrade was asked for. */
  readonly attempts: number;
  /** How frames are answered from now on. */
  answer: Answer;
  /** Whether upgrades are refused with 503. */
  isFull: boolean;
  /** Waits for a connection, the first being 0, and its login. */
  peer(index: number): Promise<Peer>;
}

/** Starts a {@link FakeServer} on a free port, stopped with the test. */
export async function startFake(
  t: Test,
  answer: Answer = agree,
): Promise<FakeServer> {
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  const peers: Peer[] = [];
  const server = {
    baseUrl: "",
    peers,
    attempts: 0,
    answer,
    isFull: false,
    async peer(index: number) {
      await until(() => (peers[index]?.frames.length ?? 0) > 0);
      return peers[index]!;
    },
  };
  http.on("upgrade", (request, socket, head) => {
    // A client that is refused may reset the connection.
    socket.on("error", () => {});
    server.attempts++;
    if (server.isFull) {
      socket.end(
        "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n\r\n",
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => {
      peers.push(
        new Peer(request.url!, opened, (peer, frame) =>
          server.answer(peer, frame),
        ),
      );
    });
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  t.teardown(async () => {
    for (const peer of peers) peer.drop();
    await new Promise((done) => http.close(done));
  });
  server.baseUrl = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  return server;
}

/** A client of the server with short times, closed with the test. */
export function liveOf(
  t: Test,
  { baseUrl }: Pick<FakeServer, "baseUrl">,
  options: Partial<LiveOptions> = {},
): Live {
  const live = new Live({
    baseUrl,
    world: "demo",
    clientId: "ada",
    retryDelay: 2,
    maxRetryDelay: 20,
    ...options,
  });
  t.teardown(() => live.close());
  return live;
}

/** The data of the next event of a name. */
export const next = <T>(live: Live, name: string): Promise<T> =>
  new Promise((resolve) => {
    const stop = live.on(name, (data) => {
      stop();
      resolve(data as T);
    });
  });

/** What a promise is rejected with. */
export const rejection = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => new Error("It was not rejected."),
    (error: unknown) => error,
  );
