import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { WebSocket } from "ws";
import { foyer, tokenOf, until } from "../helper.js";
import { shared } from "../shared.js";
import type { WorldKey } from "../../schemas/worlds.js";
import type { ListedConnection } from "../../live/control.js";

type Data = Record<string, unknown>;

/** A user who is connected to a world by websocket. */
export class Person {
  readonly ws: WebSocket;
  /** What was pushed so far. */
  readonly pushes: [name: string, data: Data][] = [];
  /** How the connection ended. */
  closed: { code: number; at: number } | undefined;
  /** After the login. */
  user = "";
  readonly #answers = new Map<number, (answer: unknown[]) => void>();
  #last = 0;

  private constructor(ws: WebSocket) {
    this.ws = ws;
    ws.on("error", () => {});
    ws.on("close", (code) => (this.closed = { code, at: Date.now() }));
    ws.on("message", (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as unknown[];
      const [name, second] = frame;
      const take = this.#answers.get(second as number);
      if (frame.length === 3 && take) take(frame);
      else this.pushes.push([name as string, second as Data]);
    });
  }

  /** Connects, and does not log in. */
  static async connect(
    t: Test,
    port: number,
    world = "sample",
  ): Promise<Person> {
    const url = `ws://127.0.0.1:${port}/ws/world/${world}/`;
    const person = new Person(new WebSocket(url));
    t.teardown(() => person.ws.terminate());
    await once(person.ws, "open");
    return person;
  }

  send(...frame: unknown[]): void {
    this.ws.send(JSON.stringify(frame));
  }

  /** @param credentials of a guest by default. */
  async logIn(credentials: Data = { client_id: "guest" }): Promise<this> {
    this.send("authenticate", credentials);
    const { "user.config": user } = await this.pushed("authenticated");
    this.user = (user as { id: string }).id;
    return this;
  }

  /** Sends a command. @returns its result, or its error. */
  async call(action: string, payload: unknown): Promise<Data> {
    const id = ++this.#last;
    const answer = new Promise<unknown[]>((resolve) =>
      this.#answers.set(id, resolve),
    );
    this.send(action, id, payload);
    return (await answer)[2] as Data;
  }

  /** What was pushed under a name. */
  all(name: string): Data[] {
    return this.pushes.filter(([one]) => one === name).map(([, data]) => data);
  }

  /** Waits for a push. @throws {Error} if the connection ends before. */
  async pushed(
    name: string,
    fits: (data: Data) => boolean = () => true,
  ): Promise<Data> {
    let found: Data | undefined;
    await until(() => {
      found = this.all(name).find(fits);
      return found !== undefined || this.closed !== undefined;
    });
    if (!found) throw new Error(`The connection ended without ${name}.`);
    return found;
  }

  /** Waits for the end. @returns its code. */
  async ended(): Promise<number> {
    await until(() => this.closed !== undefined);
    return this.closed!.code;
  }

  /** Reads nothing any more. */
  stopReading(): void {
    (this.ws as unknown as { _socket: Socket })._socket.pause();
  }
}

/** A data folder with a path that is short enough for sockets. */
export function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "foyer-"));
  t.teardown(async () => {
    await shared?.forget(folder);
    // Workers of a process that was killed may still write for a moment.
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });
  return folder;
}

/** The socket of the only process that serves a folder. */
export function socketOf(dataDir: string): string {
  const folder = join(dataDir, "control");
  const [name, ...others] = readdirSync(folder);
  if (name === undefined || others.length > 0) throw new Error("not one");
  return join(folder, name);
}

/** What `foyer connections list` says. */
export async function listed(dataDir: string): Promise<ListedConnection[]> {
  const got = await foyer(dataDir, ["connections", "list", "--json"]);
  if (got.code !== 0) throw new Error(got.stderr);
  return JSON.parse(got.stdout) as ListedConnection[];
}

/** Signs tokens with the first key of the world `sample`. */
export async function signer(
  dataDir: string,
): Promise<(uid: string, ...traits: string[]) => { token: string }> {
  const { stdout } = await foyer(dataDir, [
    "world",
    "show",
    "sample",
    "--json",
  ]);
  const { config } = JSON.parse(stdout) as {
    config: { JWT_secrets: WorldKey[] };
  };
  return (uid, ...traits) => ({
    token: tokenOf(config.JWT_secrets[0]!, { uid, traits }),
  });
}
