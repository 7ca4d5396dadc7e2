import { LRUCache } from "lru-cache";
import type { Author } from "../../db/contract/author.js";
import type { Program } from "../../db/contract/program.js";
import type { Store } from "../../db/contract/store.js";
import { changed } from "../../db/rules/preconditions.js";
import {
  programVersion,
  type Reader,
  seenProgram,
} from "../../db/rules/program-views.js";
import type { EventDates } from "../../schemas/event-dates.js";
import type {
  ImportOptions,
  ImportResult,
} from "../../schemas/documents/program-document.js";
import type { Room } from "../../schemas/rooms.js";
import { InvalidData } from "../../schemas/validate.js";
import type { World } from "../../schemas/worlds.js";
import type { ProgramFormat } from "../../schemas/program/program-import.js";
import type { ExportedProgram } from "./exports/program.js";
import type { Formats } from "./formats.js";
import { isZone } from "./formats/zones.js";
import { abandoned } from "../work/turns.js";

/** How many bytes of exports are kept: more than the largest calendar has, which takes seconds to write. */
const KEPT = 96 * 1024 * 1024;

/** How many rooms are read at once. */
const PAGE = 200;

/** The rights of a reader or an author, as far as a program depends on them. */
export interface ProgramRights {
  readonly edits: boolean;
  readonly sees: (room: Room) => boolean;
}

/** A program document to import. */
export interface SentDocument {
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

/** Reads whole programs into the store, and writes them out of it. */
export class Programs {
  readonly #written = new LRUCache<string, Buffer>({
    maxSize: KEPT,
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
   * @param sender `admit` is called when the document is read, and throws if its sender may not write any
   *   more. `gone` aborts when its sender has left.
   * @throws {InvalidData} with the line or the path where the document breaks.
   * @throws {StoreError} `changed` if the program is not in a version that the sender expects.
   */
  async import(
    world: World,
    { bytes, isCsv, hosts }: SentDocument,
    options: ImportOptions,
    {
      rights,
      admit,
      gone,
      expected,
    }: {
      rights: ProgramRights;
      admit?: () => Promise<void>;
      gone?: AbortSignal;
      expected?: Expected | undefined;
    },
    by?: Author,
  ): Promise<ImportResult> {
    const zone = zoneOf(world);
    const reading = { isCsv, zone };
    const document = await this.formats.read(world.id, bytes, reading, gone);
    await admit?.();
    const rooms = await this.#rooms(world.id, rights);
    const stamp =
      expected && (await this.#stampOf(world, rooms, rights, expected));
    const result = await this.store.program.import(
      world.id,
      document,
      options,
      { visibleRooms: rooms.map(({ id }) => id), hosts, stamp },
      by,
    );
    if ("faults" in result) throw new InvalidData(result.faults);
    return result;
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
      Buffer.from(
        await this.#write(
          world,
          program,
          reader,
          { format, page, rooms: names },
          gone,
        ),
      );
    return {
      version,
      bytes: async (gone) =>
        this.#written.get(key) ?? (await this.#once(key, write, gone)),
    };
  }

  /**
   * The stamp of a program that has an expected version, in whatever format.
   * @throws {StoreError} `changed`.
   */
  async #stampOf(
    world: World,
    rooms: readonly Room[],
    rights: ProgramRights,
    { versions, page }: Expected,
  ): Promise<string> {
    const program = await this.store.program.get(world.id);
    const reader = readerOf(rooms, rights);
    const names = namesOf(rooms);
    const isExpected = (["json", "schedule.json"] as const).some((format) =>
      versions.includes(
        versionOf(world, program, reader, { names, format, page }),
      ),
    );
    if (!isExpected) throw changed();
    return program.stamp;
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
    {
      format,
      page,
      rooms,
    }: Pick<ExportedProgram, "page" | "rooms"> & { format: ProgramFormat },
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
    const found: Room[] = [];
    let page: Room[];
    do {
      const after = found.length;
      const rooms = await this.store.rooms.all(world, {
        page: after / PAGE + 1,
        pageSize: PAGE,
      });
      page = rooms.map(({ value }) => value);
      found.push(...page);
    } while (page.length === PAGE);
    return found.filter(sees);
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
  {
    names,
    format,
    page,
  }: { names: Names; format: ProgramFormat; page: string },
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
