import fp from "fastify-plugin";
import { LRUCache } from "lru-cache";
import type { Author } from "../../db/contract/author.js";
import type { ImportChanges, ImportedFile, Program } from "../../db/contract/program-store.js";
import { type Store, StoreError } from "../../db/contract/store.js";
import { allRooms, basisOf } from "../../db/program-imports.js";
import { changed } from "../../db/rules/preconditions.js";
import { programVersion, type Reader, seenProgram } from "../../db/rules/program-views.js";
import type { ImportOptions, ImportResult } from "../../schemas/documents/program-document.js";
import type { EventDates } from "../../schemas/event-dates.js";
import type { ProgramFormat } from "../../schemas/program/program-import.js";
import type { Room } from "../../schemas/rooms.js";
import type { World } from "../../schemas/worlds.js";
import { Refusal } from "../http/errors.js";
import { abandoned } from "../long-work/turns.js";
import type { ExportedProgram } from "./exports/exported-program.js";
import { Formats } from "./formats.js";
import { isZone } from "./formats/zones.js";
import type { ImportPorts } from "./tasks.js";

/** How many bytes of exports are kept: more than the largest calendar has, which takes seconds to write. */
const MAX_CACHED_BYTES = 96 * 1024 * 1024;

/** How often an import is planned at most, as the world changed meanwhile. */
const MOST_PLANS = 5;

/** The rights of a reader or an author, as far as a program depends on them. */
export interface ProgramRights {
  readonly edits: boolean;
  readonly sees: (room: Room) => boolean;
}

/** A program document to import. */
interface SentDocument {
  readonly bytes: Uint8Array;
  readonly isCsv: boolean;
  /** The hosts under which uploads of the world have addresses. */
  readonly hosts: readonly string[];
}

/** An export. */
export interface Exported {
  /** Of what it shows. */
  readonly version: string;
  /**
   * Its text. All readers of a version share it, however slowly they read.
   * @param gone aborts when its reader has left. When all readers have, it is not written.
   * @throws {Refusal} see {@link Turns.run}.
   */
  readonly bytes: (gone?: AbortSignal) => Promise<Buffer>;
}

/** An export that is being written. */
interface Pending {
  readonly bytes: Promise<Buffer>;
  readonly end: AbortController;
  /** How many readers wait for it. */
  readers: number;
}

/** The versions in which an import may change a program. */
export interface Expected {
  readonly versions: readonly string[];
  /** The address of the event page, which is in versions. */
  readonly page: string;
}

/** Who sends a document, and what has to be done with it. */
export interface Sender {
  readonly rights: ProgramRights;
  /** Called when the document is read. It throws if its sender may not write any more. */
  readonly admit?: () => Promise<void>;
  /** Aborts when the sender has left. */
  readonly gone?: AbortSignal;
  readonly expected?: Expected | undefined;
  /**
   * Saves the document where the import is written.
   * @param write writes the import with the record of a file; undefined if nothing changes.
   */
  readonly save?: (write: (file: ImportedFile) => Promise<void> | undefined) => Promise<void>;
}

/** Reads whole programs into the store, and writes them out of it. */
export class Programs {
  readonly #written = new LRUCache<string, Buffer>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ length }) => length + 1,
  });
  /** The exports that are being written, so that a crowd waits for one. */
  readonly #pending = new Map<string, Pending>();

  constructor(
    private readonly store: Pick<Store, "rooms" | "program">,
    readonly formats: Formats,
  ) {}

  /**
   * Makes the program of a world agree with a document.
   * @throws {InvalidData} with the line or the path where the document breaks.
   * @throws {StoreError} `changed` if the program is not in a version that the sender expects.
   * @throws {Refusal} see {@link Turns.run}; or 503 if the world changes again and again meanwhile.
   */
  async import(
    world: World,
    { bytes, isCsv, hosts }: SentDocument,
    options: ImportOptions,
    { rights, admit, gone, expected, save }: Sender,
    by?: Author,
  ): Promise<ImportResult> {
    const { program } = this.store;
    const sight = { sees: rights.sees, hosts };
    const write = async (changes: ImportChanges, file?: ImportedFile) =>
      program.import(world.id, changes, hosts, file, by);
    let plans = 0;
    const ports: ImportPorts = {
      basis: async (named) => {
        if (plans++ === 0) await admit?.();
        const basis = await basisOf(this.store, world.id, named, sight);
        if (expected) await this.#expect(world, rights, expected, basis.stamp);
        return basis;
      },
      apply: async (changes) => {
        try {
          if (save) await save((file) => changes && write(changes, file));
          else if (changes) await write(changes);
          return true;
        } catch (error) {
          const isOld = error instanceof StoreError && error.problem === "changed";
          if (!isOld) throw error;
          if (plans < MOST_PLANS) return false;
          throw new Refusal(503, "The program keeps changing. Try again soon.", {
            "retry-after": "2",
          });
        }
      },
    };
    const reading = { isCsv, zone: zoneOf(world) };
    const task = { bytes, reading, options };
    return this.formats.import(world.id, task, ports, gone);
  }

  /**
   * The program of a world as a reader sees it. It is not written before its bytes are asked for.
   * @param page the address of the event page.
   */
  async export(
    world: World,
    rights: ProgramRights,
    format: ProgramFormat,
    page: string,
  ): Promise<Exported> {
    const rooms = await this.#rooms(world.id, rights);
    const program = await this.store.program.get(world.id);
    const reader = readerOf(rooms, rights);
    const names = namesOf(rooms);
    const version = versionOf(world, program, reader, { names, format, page });
    const key = `${world.id} ${version}`;
    const write = async (gone: AbortSignal) =>
      Buffer.from(await this.#write(world, program, reader, { format, page, rooms: names }, gone));
    return {
      version,
      bytes: async (gone) => this.#written.get(key) ?? (await this.#once(key, write, gone)),
    };
  }

  /**
   * Checks that the program has an expected version, in whatever format.
   * @param stamp of the program that an import is planned from.
   * @throws {StoreError} `changed`.
   */
  async #expect(
    world: World,
    rights: ProgramRights,
    { versions, page }: Expected,
    stamp: string,
  ): Promise<void> {
    const rooms = await this.#rooms(world.id, rights);
    const program = await this.store.program.get(world.id);
    const reader = readerOf(rooms, rights);
    const names = namesOf(rooms);
    const isExpected = (["json", "schedule.json"] as const).some((format) =>
      versions.includes(versionOf(world, program, reader, { names, format, page })),
    );
    if (!isExpected || program.stamp !== stamp) throw changed();
  }

  #once(
    key: string,
    write: (gone: AbortSignal) => Promise<Buffer>,
    gone: AbortSignal | undefined,
  ): Promise<Buffer> {
    const pending = this.#pending.get(key) ?? this.#begin(key, write);
    pending.readers++;
    const leave = () => {
      if (--pending.readers > 0) return;
      this.#forget(key, pending);
      pending.end.abort(abandoned());
    };
    if (gone?.aborted) leave();
    else gone?.addEventListener("abort", leave, { once: true });
    return pending.bytes;
  }

  #begin(key: string, write: (gone: AbortSignal) => Promise<Buffer>): Pending {
    const end = new AbortController();
    const bytes = write(end.signal)
      .then((written) => {
        this.#written.set(key, written);
        return written;
      })
      .finally(() => this.#forget(key, pending));
    const pending: Pending = { bytes, end, readers: 0 };
    this.#pending.set(key, pending);
    return pending;
  }

  #forget(key: string, pending: Pending): void {
    if (this.#pending.get(key) === pending) this.#pending.delete(key);
  }

  async #write(
    world: World,
    program: Program,
    reader: Reader,
    { format, page, rooms }: Pick<ExportedProgram, "page" | "rooms"> & { format: ProgramFormat },
    gone: AbortSignal,
  ): Promise<string> {
    const { sessions, speakers } = seenProgram(program, reader);
    if (format === "json") {
      const listOf = (list: readonly { json: string }[]) =>
        `[${list.map(({ json }) => json).join()}]`;
      return `{"sessions":${listOf(sessions)},"speakers":${listOf(speakers)}}`;
    }
    const { id, title } = world;
    const whole: ExportedProgram = {
      world: { id, title },
      zone: zoneOf(world),
      page,
      event: eventOf(world),
      sessions: sessions.map(({ value }) => value),
      revisions: program.revisions,
      speakers: speakers.map(({ value }) => value),
      rooms,
    };
    return this.formats.write(format, whole, Date.now(), gone);
  }

  async #rooms(world: string, { sees }: ProgramRights): Promise<Room[]> {
    return (await allRooms(this.store, world)).filter(sees);
  }
}

function readerOf(rooms: readonly Room[], { edits }: ProgramRights): Reader {
  const visible = new Set(rooms.map(({ id }) => id));
  return { edits, seesRoom: (id) => visible.has(id) };
}

type Names = ExportedProgram["rooms"];

const namesOf = (rooms: readonly Room[]): Names =>
  rooms.map(({ id, name, description }) => ({ id, name, description }));

/** The version of a program in a format, as a reader sees it. */
function versionOf(
  world: World,
  program: Program,
  reader: Reader,
  { names, format, page }: { names: Names; format: ProgramFormat; page: string },
): string {
  const more = [eventOf(world), world.title, zoneOf(world), format];
  // Calendars have no address of a page, so all nodes give them the same version.
  if (format !== "ics") more.push(page);
  // Foyer's own JSON names no room.
  const shown = format === "json" ? [] : [more, names];
  return programVersion(program, reader, shown);
}

/** The zone of a world; UTC if it has none that exists. */
function zoneOf({ config }: World): string {
  const { timezone } = config as { timezone?: unknown };
  return typeof timezone === "string" && isZone(timezone) ? timezone : "UTC";
}

const eventOf = ({ config }: World): EventDates | undefined =>
  (config as { event?: EventDates | null }).event ?? undefined;

declare module "fastify" {
  interface FastifyInstance {
    /** Imports and exports of whole programs. */
    readonly programs: Programs;
  }
}

/** Imports and exports of whole programs. */
export default fp(
  async (app) => {
    const formats = new Formats();
    app.decorate("programs", new Programs(app.store, formats));
    app.addHook("onClose", async () => formats.close());
  },
  { name: "programs", dependencies: ["engines"] },
);
