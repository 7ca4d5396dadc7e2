import { Command, Option } from "commander";
import type { Store } from "../db/contract/store.js";
import { chat, directEvents } from "../db/results/chat-results.js";
import { polls, questions } from "../db/results/items.js";
import { type NamedRoom, pages, type Results } from "../db/results/results.js";
import { findWorld } from "../db/world-management.js";
import { csvRow } from "../schemas/plain/csv.js";
import { Failure } from "../schemas/plain/failure.js";
import { command, withStore } from "./command.js";
import { type JsonOption, printList, writeAll } from "./output.js";

/**
 * The rooms of a world, in the order of its list.
 * @param asked the id or the exact name of the only one that is meant; all by default.
 * @throws {Failure} if there is no such room, or several have the name.
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

/** What every command of {@link recordsCommand} takes. */
interface RecordsOptions extends JsonOption {
  room?: string;
  format: "json" | "csv";
}

/** Makes a command that prints records of the rooms of a world, as JSON or CSV. */
const recordsCommand = (...args: Parameters<typeof command>): Command =>
  command(...args)
    .option("--room <room>", "only this room: its id, or its exact name")
    .addOption(
      new Option("--format <format>", "how it is written").choices(["json", "csv"]).default("json"),
    )
    .hook("preAction", (self) => {
      const { json, format } = self.opts<RecordsOptions>();
      if (json && format === "csv") self.error("--json is no CSV");
    });

/**
 * Prints results of a world one by one, so memory does not grow with their number.
 * @param elsewhere gives the records that follow the records of all rooms; none by default.
 * @throws {Failure} if there is no such world or room, or several rooms have the name.
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
 * The commands of a kind of items of a room.
 * @param name of one item.
 * @param shows what is printed with the items.
 */
const itemCommand = <T extends object>(name: string, results: Results<T>, shows: string) =>
  new Command(name)
    .description(`print the ${name}s of a world with their ${shows}`)
    .addCommand(
      recordsCommand(
        "results <world>",
        `print the ${name}s of the rooms of a world with their ${shows}, the oldest first`,
        `${name} results summit --room "Main stage" --format csv > ${name}s.csv`,
      ).action((world: string, options: RecordsOptions) => printRecords(world, options, results)),
    );

/** `foyer question …` */
export const questionCommand = itemCommand("question", questions, "votes");

/** `foyer poll …` */
export const pollCommand = itemCommand("poll", polls, "results");

const exportChat = recordsCommand(
  "export <world>",
  "print all messages and other events of the rooms of a world, the oldest first",
  'chat export summit --room "Main stage" --format csv > chat.csv',
)
  .option("--direct", "also direct messages")
  .action(
    (
      world: string,
      { direct, ...options }: RecordsOptions & { direct?: boolean },
      self: Command,
    ) => {
      if (direct && options.room !== undefined) {
        self.error("direct messages belong to no room");
      }
      const elsewhere = direct ? directEvents : undefined;
      return printRecords(world, options, chat, elsewhere);
    },
  );

/** `foyer chat …` */
export const chatCommand = new Command("chat")
  .description("export the chat of a world")
  .addCommand(exportChat);
