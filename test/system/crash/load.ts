import type { WorldKey } from "../../../schemas/worlds.js";
import { images, PDF } from "../../files.js";
import { tokenOf } from "../../helper.js";
import { isLost, type Model, type Thing, type UserThing } from "./model.js";
import type { Random } from "../../simulation/random.js";
import { type Answer, pathOf, request, upload } from "../requests.js";

/** The world that all write to; another has its keys changed all the time. */
export const WORLD = "sample";
export const ROTATED = "rotated";

/** Where clients reach the first, as uploads go by the host. */
export const DOMAIN = "127.0.0.1";

const ALL = { traits: ["admin", "api"] };

/** What is uploaded, by name. */
export const files: Record<string, Buffer> = {
  "small.pdf": Buffer.from(PDF),
  "large.pdf": Buffer.from(PDF.padEnd(1_500_000, "large ")),
  "small.png": await images.png(),
  "large.png": await images.png(1200, 900),
};

/** Sends a request to a server, with a token of a key. */
export const ask = (
  address: string,
  key: WorldKey,
  path: string,
  { method, body }: { method?: string; body?: unknown } = {},
): Promise<Answer> =>
  request({ address, token: tokenOf(key, ALL) }, path, method, body);

let serial = 0;

/** One client that writes, one request after the other, until no answer comes. */
export class Client {
  #over = false;
  readonly #mine: string[] = [];

  constructor(
    readonly model: Model,
    readonly address: string,
    readonly key: WorldKey,
    readonly random: Random,
    readonly round: number,
    readonly kind: "rooms" | "uploads" | "world" | "keys",
  ) {}

  /** Lets it end after the request under way. */
  stop(): void {
    this.#over = true;
  }

  async run(): Promise<void> {
    const { kind, random } = this;
    while (!this.#over) {
      const answered = await {
        rooms: () => [
          () => this.#createRoom(),
          () => this.#changeRoom(),
          () => this.#changeRoom(),
          () => this.#deleteRoom(),
        ],
        uploads: () => [
          () => this.#upload(),
          () => this.#upload(),
          () => this.#upload(),
          () => this.#eraseUser(),
        ],
        world: () => [() => this.#changeWorld()],
        keys: () => [() => this.#rotateKey()],
      }[kind]()[random.below(kind === "world" || kind === "keys" ? 1 : 4)]!();
      if (!answered) return;
    }
  }

  /** @returns whether it was done; a 503 says for sure that it was not. */
  async #send(
    path: string,
    method: string,
    body: unknown,
    done: number,
    key = this.key,
  ): Promise<boolean> {
    const answer = await ask(this.address, key, path, { method, body });
    if (answer.status === done) return true;
    if (answer.status === 503) return false;
    throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  }

  async #createRoom(): Promise<boolean> {
    const { model, random } = this;
    const name = `room ${++serial} of ${this.round}`;
    const room = {
      name,
      description: "words ".repeat(random.below(2000)),
      module_config: [{ type: "chat.native", config: { serial } }],
      permission_config: {},
      sorting_priority: random.below(100),
      domain: DOMAIN,
    };
    model.creating.set(name, room);
    try {
      const { domain: _, ...draft } = room;
      const path = `${WORLD}/rooms/`;
      const { status, body } = await ask(this.address, this.key, path, {
        method: "POST",
        body: draft,
      });
      if (status === 201) {
        const { id } = body as { id: string };
        model.rooms.set(id, { sure: { id, ...room } });
        this.#mine.push(id);
      } else if (status !== 503) throw new Error(`POST: ${status}`);
      model.creating.delete(name);
      model.answered++;
      return true;
    } catch (error) {
      if (!isLost(error)) throw error;
      model.doubtful++;
      return false;
    }
  }

  #room(): [id: string, thing: Thing] | undefined {
    const { model, random } = this;
    if (this.#mine.length === 0) return undefined;
    const id = random.pick(this.#mine);
    const thing = model.rooms.get(id)!;
    return thing.sure === "gone" ? undefined : [id, thing];
  }

  async #changeRoom(): Promise<boolean> {
    const [id, thing] = this.#room() ?? [];
    if (!thing || thing.sure === "gone") return true;
    const changes = {
      name: `changed ${++serial}`,
      description: "other words ".repeat(this.random.below(1000)),
      sorting_priority: serial,
    };
    return this.model.write(thing, { ...thing.sure, ...changes }, () =>
      this.#send(`${WORLD}/rooms/${id}/`, "PATCH", changes, 200),
    );
  }

  async #deleteRoom(): Promise<boolean> {
    const [id, thing] = this.#room() ?? [];
    if (!thing) return true;
    return this.model.write(thing, "gone", () =>
      this.#send(`${WORLD}/rooms/${id}/`, "DELETE", undefined, 204),
    );
  }

  async #changeWorld(): Promise<boolean> {
    const { world } = this.model;
    if (world.sure === "gone") throw new Error("There is no world.");
    const title = `Title ${++serial}`;
    return this.model.write(world, { ...world.sure, title }, () =>
      this.#send(`${WORLD}/`, "PATCH", { title }, 200),
    );
  }

  async #rotateKey(): Promise<boolean> {
    const thing = this.model.key!;
    const secret = `secret ${++serial} of ${this.round} `.padEnd(40, "x");
    const next = { ...thing.sure, secret };
    const config = { JWT_secrets: [next] };
    return this.model.write(thing, next, () =>
      this.#send(`${ROTATED}/`, "PATCH", { config }, 200, thing.sure),
    );
  }

  async #upload(): Promise<boolean> {
    const { model, random } = this;
    const file = random.pick(Object.keys(files));
    const uid = `uploader-${this.round}-${++serial}-with-a-name`;
    const user: UserThing = { sure: "gone", was: false };
    model.users.set(uid, user);
    const answered = await model.write(user, "there", async () => {
      const authorization = `Bearer ${tokenOf(this.key, { uid, traits: [] })}`;
      const answer = await upload(this, files[file], file, { authorization });
      if (answer.status === 503) return false;
      if (answer.status !== 201) {
        throw new Error(`upload: ${JSON.stringify(answer)}`);
      }
      const { round } = this;
      model.uploads.push({ path: pathOf(answer), file, round });
      this.#mine.push(uid);
      user.was = true;
      return true;
    });
    if (!answered) model.lostUploads++;
    return answered;
  }

  async #eraseUser(): Promise<boolean> {
    if (this.#mine.length === 0) return true;
    const uid = this.random.pick(this.#mine);
    const user = this.model.users.get(uid)!;
    if (user.sure === "gone") return true;
    const body = { token_id: uid };
    return this.model.write(user, "gone", () =>
      this.#send(`${WORLD}/delete_user`, "POST", body, 204),
    );
  }
}
