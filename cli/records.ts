import { Command, Option } from "commander";
import type { Store } from "../db/contract/store.js";
import { chat, directEvents } from "../db/results/chat-results.js";
import { polls, questions } from "../db/results/items.js";
import { type NamedRoom, pages, type Results } from "../db/results/results.js";
import { findWorld } from "../db/world-management.js";
import { csvRow } from "../schemas/plain/sheets/csv.js";
import { Failure } from "../schemas/plain/failure.js";
import { command, withStore } from "./command.js";
import { type JsonOption, printList, writeAll } from "./output.js";

/**
 * Returns a world's rooms, in list order.
 * @param asked the id or the exact name of a single room. By default, all rooms are returned.
 * @throws {Failure} if the room does not exist, or if several rooms have the name.
 */
const roomsIn = async (
  store: Store,
  world: string,
  asked?: string,
): Promise<AsyncIterable<NamedRoom> | NamedRoom[]> =>
  asked === undefined ? allRooms(store, world) : [await findRoom(store, world, asked)];

const allRooms = (store: Store, world: string) =>
  pages(async (page) =>
    (await store.rooms.all(world, page)).map(({ value: { id, name } }) => ({ id, name })),
  );

async function findRoom(store: Store, world: string, asked: string): Promise<NamedRoom> {
  const named: NamedRoom[] = [];
  for await (const room of allRooms(store, world)) {
    if (room.id === asked) return room;
    if (room.name === asked) named.push(room);
  }
  if (named.length > 1) {
    const ids = named.map(({ id }) => id).join(", ");
    throw new Failure(`${named.length} rooms have this name: ${ids}.`);
  }
  if (!named[0]) throw new Failure(`There is no room ${asked} in ${world}.`);
  return named[0];
}

/** The options of every command that {@link recordsCommand} creates. */
interface RecordsOptions extends JsonOption {
  room?: string;
  format: "json" | "csv";
}

/** Creates a command that prints records of a world's rooms, as JSON or CSV. */
const recordsCommand = (...args: Parameters<typeof command>): Command =>
  command(...args)
    .option("--room <room>", "only this room: its id, or its exact name")
    .addOption(
      new Option("--format <format>", "the format of the output")
        .choices(["json", "csv"])
        .default("json"),
    )
    .hook("preAction", (self) => {
      const { json, format } = self.opts<RecordsOptions>();
      if (json && format === "csv") self.error("--json and --format csv exclude each other");
    });

/**
 * Prints a world's results one by one, so that memory does not grow with the number of results.
 * @param elsewhere yields records that belong to no room. These records are printed after the
 * rooms' records.
 * @throws {Failure} if the world or the room does not exist, or if several rooms have the name.
 */
const printRecords = <T extends object>(
  world: string,
  { room, format }: RecordsOptions,
  { records: inRoom, columns, rowsOf }: Results<T>,
  elsewhere?: (store: Store, world: string) => AsyncIterable<T>,
): Promise<void> =>
  withStore(async (store) => {
    await findWorld(store, world);
    const rooms = await roomsIn(store, world, room);
    const records = async function* () {
      for await (const room of rooms) yield* inRoom(store, world, room);
      if (elsewhere) yield* elsewhere(store, world);
    };
    if (format === "json") return printList(true, records(), () => [], "");
    const lines = async function* () {
      yield csvRow(columns);
      for await (const record of records()) {
        for (const row of rowsOf(record)) {
          yield csvRow(columns.map((column) => row[column] ?? null));
        }
      }
    };
    return writeAll(lines());
  });

/**
 * Creates the commands for a kind of room item.
 * @param name the singular name of the kind.
 * @param shows the data printed along with the items.
 */
const itemCommand = <T extends object>(name: string, results: Results<T>, shows: string) =>
  new Command(name)
    .description(`print the ${name}s of a world with their ${shows}`)
    .addCommand(
      recordsCommand(
        "results <world>",
        `print the ${name}s of a world's rooms with their ${shows}, oldest first`,
        `${name} results summit --room "Main stage" --format csv > ${name}s.csv`,
      ).action((world: string, options: RecordsOptions) => printRecords(world, options, results)),
    );

/** `foyer question …` */
export const questionCommand = itemCommand("question", questions, "votes");

/** `foyer poll …` */
export const pollCommand = itemCommand("poll", polls, "results");

const exportChat = recordsCommand(
  "export <world>",
  "print all messages and other events of a world's rooms, oldest first",
  'chat export summit --room "Main stage" --format csv > chat.csv',
)
  .option("--direct", "include direct messages")
  .action(
    (
      world: string,
      { direct, ...options }: RecordsOptions & { direct?: boolean },
      self: Command,
    ) => {
      if (direct && options.room !== undefined) {
        self.error("--direct and --room exclude each other");
      }
      const elsewhere = direct ? directEvents : undefined;
      return printRecords(world, options, chat, elsewhere);
    },
  );

/** `foyer chat …` */
export const chatCommand = new Command("chat")
  .description("export the chat of a world")
  .addCommand(exportChat);
