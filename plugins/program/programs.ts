import fp from "fastify-plugin";
import { LRUCache } from "lru-cache";
import type { Author } from "../../db/contract/author.js";
import type { ImportChanges, ImportedFile, Program } from "../../db/contract/program-store.js";
import { type Store, StoreError } from "../../db/contract/store.js";
import { allRooms, basisOf } from "../../db/program-imports.js";
import { changed } from "../../db/rules/preconditions.js";
import { programVersion, type ProgramReader, seenProgram } from "../../db/rules/program-views.js";
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

/** Size of the export cache, in bytes. The cache must hold the largest calendar, which takes seconds to generate. */
const MAX_CACHED_BYTES = 96 * 1024 * 1024;

/** Maximum planning attempts per import. The world may change between planning and writing. */
const MAX_PLAN_ATTEMPTS = 5;

/** A reader's or author's rights that matter for a program. */
export interface ProgramRights {
  readonly edits: boolean;
  readonly sees: (room: Room) => boolean;
}

/** A program document to import. */
interface SentDocument {
  readonly bytes: Uint8Array;
  readonly isCsv: boolean;
  /** The hosts that serve the world's uploads. */
  readonly hosts: readonly string[];
}

/** A lazily generated export. */
export interface Exported {
  /** The version of the exported content. */
  readonly version: string;
  /**
   * Returns the exported text. All readers of a version share one buffer, however slowly they read.
   * @param gone aborts when the reader disconnects. Generation is canceled once all readers have
   * disconnected.
   * @throws {Refusal} see {@link WorkQueue.run}.
   */
  readonly bytes: (gone?: AbortSignal) => Promise<Buffer>;
}

/** An export in progress. */
interface Pending {
  readonly bytes: Promise<Buffer>;
  readonly end: AbortController;
  /** Number of readers waiting for the export. */
  readers: number;
}

/** The program versions that an import may replace. */
export interface Expected {
  readonly versions: readonly string[];
  /** The URL of the event page, which is part of the version. */
  readonly page: string;
}

/** A document's sender, with the hooks that run during the import. */
export interface ImportSender {
  readonly rights: ProgramRights;
  /** Called once the document is parsed. Throws if the sender may no longer write. */
  readonly admit?: () => Promise<void>;
  /** Aborts when the sender disconnects. */
  readonly gone?: AbortSignal;
  readonly expected?: Expected | undefined;
  /**
   * Stores the document together with the import.
   * @param write writes the import along with the file's record, or returns undefined if the import
   * changes nothing.
   */
  readonly save?: (write: (file: ImportedFile) => Promise<void> | undefined) => Promise<void>;
}

/** Imports whole programs into the store, and exports them. */
export class Programs {
  readonly #written = new LRUCache<string, Buffer>({
    maxSize: MAX_CACHED_BYTES,
    sizeCalculation: ({ length }) => length + 1,
  });
  /** Exports in progress, which concurrent readers share. */
  readonly #pending = new Map<string, Pending>();

  constructor(
    private readonly store: Pick<Store, "rooms" | "program">,
    readonly formats: Formats,
  ) {}

  /**
   * Updates a world's program to match a document.
   * @throws {InvalidData} with the line or the path of the fault in the document.
   * @throws {StoreError} `changed` if the program does not have a version that the sender expects.
   * @throws {Refusal} see {@link WorkQueue.run}; or 503 if the world keeps changing during the
   * import.
   */
  async import(
    world: World,
    { bytes, isCsv, hosts }: SentDocument,
    options: ImportOptions,
    { rights, admit, gone, expected, save }: ImportSender,
    by?: Author,
  ): Promise<ImportResult> {
    const { program } = this.store;
    const models = options.choices?.rooms?.flatMap(({ like }) => like ?? []) ?? [];
    const sight = { sees: rights.sees, hosts, models };
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
          if (plans < MAX_PLAN_ATTEMPTS) return false;
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
   * Exports a world's program as visible to a reader. The text is generated only when its bytes are
   * requested.
   * @param page the URL of the event page.
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
   * Checks that the program has an expected version, in either JSON format.
   * @param stamp the stamp of the program from which the import is planned.
   * @throws {StoreError} `changed` if the program has no expected version, or another stamp.
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
    reader: ProgramReader,
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

function readerOf(rooms: readonly Room[], { edits }: ProgramRights): ProgramReader {
  const visible = new Set(rooms.map(({ id }) => id));
  return { edits, seesRoom: (id) => visible.has(id) };
}

type Names = ExportedProgram["rooms"];

const namesOf = (rooms: readonly Room[]): Names =>
  rooms.map(({ id, name, description }) => ({ id, name, description }));

/** Returns the version of a program in a format, as visible to a reader. */
function versionOf(
  world: World,
  program: Program,
  reader: ProgramReader,
  { names, format, page }: { names: Names; format: ProgramFormat; page: string },
): string {
  const more = [eventOf(world), world.title, zoneOf(world), format];
  // Calendars don't contain the page's URL, so all nodes compute the same version for calendars.
  if (format !== "ics") more.push(page);
  // Foyer's own JSON contains no room names.
  const shown = format === "json" ? [] : [more, names];
  return programVersion(program, reader, shown);
}

/** Returns the world's time zone, or UTC if the time zone is missing or unknown. */
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

/** Provides imports and exports of whole programs. */
export default fp(
  async (app) => {
    const formats = new Formats();
    app.decorate("programs", new Programs(app.store, formats));
    app.addHook("onClose", async () => formats.close());
  },
  { name: "programs", dependencies: ["engines"] },
);
