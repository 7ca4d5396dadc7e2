import { createHash } from "node:crypto";
import { basename } from "node:path";
import type { Test } from "tap";
import type { WorldKey } from "../../../schemas/worlds.js";
import { textsBelow, unfinished } from "../../files.js";
import { foyerProcess, until } from "../../helper.js";
import { ask, files, ROTATED, WORLD } from "./load.js";
import { settle, type Model, type State } from "./model.js";

type Found = Record<string, unknown> & { id: string; name: string };

/** All rooms of the world, page by page. */
export async function allRooms(
  address: string,
  key: WorldKey,
): Promise<Found[]> {
  const rooms: Found[] = [];
  for (let page = 1; ; page++) {
    const path = `${WORLD}/rooms/?page_size=1000&page=${page}`;
    const { body } = await ask(address, key, path);
    const { results, next } = body as { results: Found[]; next: unknown };
    rooms.push(...results);
    if (next === null) return rooms;
  }
}

const digest = (bytes: Uint8Array) =>
  createHash("sha256").update(bytes).digest("hex");

/** Images are encoded again: each request for one must get the bytes that the first got. */
const known = new Map(
  Object.entries(files)
    .filter(([name]) => name.endsWith(".pdf"))
    .map(([name, bytes]) => [name, digest(bytes)]),
);

/** Whether a server knows all that it answered, and nothing that is half of something. */
export class Verifier {
  constructor(
    readonly t: Test,
    readonly model: Model,
    readonly dataDir: string,
    readonly key: WorldKey,
    /** How many files the demo has. */
    readonly demoFiles: number,
  ) {}

  /** @param since the round from which on uploads are looked at, one by one. */
  async verify(address: string, since: number, name: string): Promise<void> {
    const faults = [
      ...(await this.#rooms(address)),
      ...(await this.#worlds(address)),
      ...(await this.#uploads(address, since)),
      ...(await this.#users()),
      ...(await this.#checked()),
    ];
    this.t.strictSame(faults, [], name);
  }

  async #rooms(address: string): Promise<string[]> {
    const { model } = this;
    const faults: string[] = [];
    const found = new Map<string, Found>();
    for (const room of await allRooms(address, this.key)) {
      found.set(room.id, room);
    }
    for (const [id, thing] of model.rooms) {
      const { sure, maybe } = thing;
      const state: State = found.get(id) ?? "gone";
      if (!settle(thing, state)) {
        const was = JSON.stringify({ sure, maybe, state });
        faults.push(`the room ${id}: ${was}`);
      }
      // What is gone stays gone, and is asked for no more.
      if (state === "gone") model.rooms.delete(id);
      found.delete(id);
    }
    for (const [id, room] of found) {
      const expected = model.creating.get(room.name);
      const thing = { sure: { id, ...expected } };
      if (!expected || !settle(thing, room)) {
        faults.push(`an unknown room: ${JSON.stringify(room)}`);
      }
      model.rooms.set(id, { sure: room });
    }
    model.creating.clear();
    return faults;
  }

  async #worlds(address: string): Promise<string[]> {
    const { model } = this;
    const faults: string[] = [];
    const { body } = await ask(address, this.key, `${WORLD}/`);
    if (!settle(model.world, body as State)) faults.push("the world");
    const { sure, maybe } = model.key!;
    const statusOf = async (key: WorldKey) =>
      (await ask(address, key, `${ROTATED}/`)).status;
    const works = (await statusOf(sure)) === 200;
    if (maybe === undefined) {
      if (!works) faults.push("the last key that was answered");
      return faults;
    }
    if (works === ((await statusOf(maybe)) === 200)) {
      faults.push("not just one of two keys");
    }
    model.key = { sure: works ? sure : maybe };
    return faults;
  }

  async #uploads(address: string, since: number): Promise<string[]> {
    const faults: string[] = [];
    for (const { path, file, round } of this.model.uploads) {
      if (round < since) continue;
      const answer = await fetch(address + path);
      const sum = digest(new Uint8Array(await answer.arrayBuffer()));
      if (!known.has(file)) known.set(file, sum);
      if (answer.status !== 200 || known.get(file) !== sum) {
        faults.push(`${file} of round ${round}: ${answer.status}`);
      }
    }
    for (const path of await unfinished(this.dataDir)) {
      faults.push(`${path} was not swept`);
      const { status } = await fetch(
        `${address}/media/pub/${WORLD}/${basename(path)}`,
      );
      if (status !== 404) faults.push(`${path} can be had`);
    }
    return faults;
  }

  async #users(): Promise<string[]> {
    const { users } = this.model;
    const faults: string[] = [];
    const args = ["user", "list", WORLD, "--json"];
    const { stdout } = await foyerProcess(this.t, this.dataDir, args);
    const list = JSON.parse(stdout) as { token_id: string }[];
    const there = new Set(list.map(({ token_id }) => token_id));
    for (const [uid, thing] of users) {
      if (!settle(thing, there.delete(uid) ? "there" : "gone")) {
        faults.push(`the user ${uid}`);
      }
      thing.was ||= thing.sure === "there";
    }
    for (const uid of there) {
      // The people of the demo were there before.
      if (!uid.startsWith("demo-")) faults.push(`an unknown user: ${uid}`);
    }
    const gone = [...users].filter(([, { sure }]) => sure === "gone");
    const names = gone.filter(([, { was }]) => was).map(([uid]) => uid);
    // A server that was just started sees to it in its own time.
    const deadline = performance.now() + 60_000;
    let left = names;
    await until(async () => {
      left = await textsBelow(this.dataDir, left);
      return left.length === 0 || performance.now() > deadline;
    });
    for (const uid of left) {
      faults.push(`${uid} is erased, and in the bytes`);
    }
    for (const [uid] of gone) users.delete(uid);
    return faults;
  }

  async #checked(): Promise<string[]> {
    const { model } = this;
    const args = ["check", "--json"];
    const { code, stdout } = await foyerProcess(this.t, this.dataDir, args);
    const found = JSON.parse(stdout) as { files: number; findings: unknown[] };
    const least = this.demoFiles + model.uploads.length;
    const most = least + model.lostUploads;
    return [
      ...(code === 0 ? [] : [JSON.stringify(found.findings)]),
      ...(found.files >= least && found.files <= most
        ? []
        : [`${found.files} files, and not ${least} to ${most}`]),
    ];
  }
}
