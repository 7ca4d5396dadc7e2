import { openSync, readSync, closeSync } from "node:fs";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import Database from "better-sqlite3";
import { openEngines } from "../../db/open.js";
import { callersOf } from "../event.js";
import { newEvent, type Running, startFoyer } from "../servers.js";
import { Crowd } from "./crowd.js";
import type { Hall } from "./hall.js";

/** How many people send at the same time. */
export const SENDERS = 64;

/** The number of members in the chat with the longest possible list. */
export const MEMBERS = 1000;

/** How many events the small and the large channel have. */
export const FEW = 100;
export const MANY = Number(process.env.EVENTS ?? 1_000_000);

/** A channel with a history. */
export interface History {
  channel: string;
  /** An id with one page of events before it, counted from the beginning. */
  early: number;
}

/** The servers and channels for the measurements of chat. */
export interface ChatScene {
  /** The folder of the server with the crowd; all of its clients subscribe to `channel`. */
  dataDir: string;
  channel: string;
  /** A server without a crowd, whose chats have no subscribers. */
  quiet: { server: Running; dataDir: string };
  /** People who are members of `desk` on the quiet server. */
  senders: Crowd;
  desk: string;
  few: History;
  many: History;
  /** A chat with as many members as are listed. */
  club: string;
  /** A chat whose members are not listed. */
  hall: string;
  stop(): Promise<void>;
}

export const LIVE_PATH = "/ws/world/bench/";

/** How many events of a page. */
export const PAGE = 50;

/** Commands and messages may come as fast as the server can take them. */
const UNLIMITED = {
  LIVE_COMMANDS_PER_SECOND: "1000000",
  LIVE_MESSAGES_PER_SECOND: "1000000",
};

/**
 * Lets the crowd listen to a chat, and starts the quiet server.
 * @param crowded the server with the crowd. Its director becomes a member.
 * @param dataDir the folder of that server.
 * @param channel the chat that the crowd listens to.
 */
export async function openChatScene(
  { crowd, director }: Hall,
  dataDir: string,
  channel: string,
): Promise<ChatScene> {
  await crowd.expect("success");
  await crowd.say(JSON.stringify(["chat.subscribe", 1, { channel }]));
  await crowd.arrivals(1);
  await director.ask("user.update", { profile: { display_name: "Director" } });
  await director.ask("chat.join", { channel });

  const folder = await newEvent({ bench: { rooms: 20 }, other: { rooms: 1 } });
  const [few, many, club, desk, hall] = await makeRooms(folder);
  const server = await startFoyer(folder, UNLIMITED);
  const says = callersOf("bench", { count: SENDERS, roles: [] }).map(
    (header, n) => [
      JSON.stringify(["authenticate", { token: header.split(" ")[1] }]),
      JSON.stringify(["user.update", 1, { profile: { display_name: `${n}` } }]),
      JSON.stringify(["chat.join", 2, { channel: desk }]),
      // They only send.
      JSON.stringify(["chat.unsubscribe", 3, { channel: desk }]),
    ],
  );
  const { crowd: senders } = await Crowd.join(
    server.port,
    LIVE_PATH,
    says,
    SENDERS,
  );
  return {
    ...{ dataDir, channel, quiet: { server, dataDir: folder } },
    ...{ senders, desk, few, many, club, hall },
    async stop() {
      await senders.leave();
      await server.stop();
    },
  };
}

/** Creates the rooms of the quiet server, with members and histories. */
async function makeRooms(
  dataDir: string,
): Promise<
  [few: History, many: History, club: string, desk: string, hall: string]
> {
  const engines = await openEngines({ dataDir });
  const { rooms, users, chat } = engines.store;
  const make = async (name: string, volatile: boolean) => {
    const module_config = [{ type: "chat.native", config: { volatile } }];
    return (await rooms.create("bench", { name, module_config })).value.id;
  };
  try {
    const [few, many, club, desk, hall] = [
      await make("Few", false),
      await make("Many", false),
      await make("Club", false),
      await make("Desk", false),
      await make("Hall", true),
    ];
    const members = await Promise.all(
      Array.from({ length: MEMBERS }, (_, n) =>
        users.enter("bench", {
          tokenId: `member-${n}`,
          traits: new Set(),
          profile: { display_name: `Member ${n}` },
        }),
      ),
    );
    await Promise.all(members.map(({ id }) => chat.join("bench", club, id)));
    const author = members[0]!.id;
    for (const channel of [few, many])
      await chat.join("bench", channel, author);
    const earliest = await addHistory(dataDir, author, many, few);
    return [
      { channel: few, early: earliest[few]! },
      { channel: many, early: earliest[many]! },
      ...([club, desk, hall] as const),
    ];
  } finally {
    await engines.close();
  }
}

/**
 * Fills two channels with messages; the messages of the small one spread over the time of the
 * large one. It uses SQL, as a million writes of the store take minutes.
 * @returns for each channel, an id with one page of events before it.
 */
async function addHistory(
  dataDir: string,
  sender: string,
  many: string,
  few: string,
): Promise<Record<string, number>> {
  const db = new Database(join(dataDir, "foyer.db"));
  const numberOf = db
    .prepare<[string], number>("SELECT number FROM chat_channels WHERE id = ?")
    .pluck();
  const [large, small] = [numberOf.get(many)!, numberOf.get(few)!];
  const insert = db.prepare(
    `INSERT INTO chat_events (world_id, id, tag, channel, type, sender, timestamp, content)
     WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter LIMIT ?)
     SELECT 'bench', ? + n, 1, ?, 0, ?, ? + n, json_object('type', 'text', 'body', 'Message ' || n || ', of people who chat.')
     FROM counter`,
  );
  const perStep = Math.ceil(MANY / FEW);
  const head = db
    .prepare<[], number>("SELECT seq FROM log_heads WHERE world_id = 'bench'")
    .pluck();
  let last = head.get()!;
  for (let step = 0; step < FEW; step++) {
    const time = Date.now() - MANY + step * perStep;
    insert.run(perStep, last, large, sender, time);
    insert.run(1, last + perStep, small, sender, time);
    last += perStep + 1;
    // The websockets of this process have to answer pings.
    await setImmediate();
  }
  db.exec(
    `UPDATE chat_channels SET last_event = last, last_message = last
     FROM (SELECT channel, max(id) AS last FROM chat_events GROUP BY channel)
     WHERE channel = number AND last > last_event;
     UPDATE log_heads SET seq = ${last}, tag = 1 WHERE world_id = 'bench'`,
  );
  const page = db
    .prepare<[number, number], number>(
      "SELECT id FROM chat_events WHERE channel = ? ORDER BY id LIMIT 1 OFFSET ?",
    )
    .pluck();
  const early = {
    [many]: page.get(large, PAGE)!,
    [few]: page.get(small, PAGE)!,
  };
  db.close();
  return early;
}

/**
 * How many transactions a database has had, as SQLite counts them in the index of its
 * log: the 32-bit number at byte 8 (https://www.sqlite.org/walformat.html).
 */
export function transactionsOf(dataDir: string): number {
  const file = openSync(join(dataDir, "foyer.db-shm"), "r");
  const bytes = Buffer.alloc(4);
  readSync(file, bytes, 0, 4, 8);
  closeSync(file);
  return bytes.readUInt32LE();
}

let sent = 0;

/** A message as clients send it, unlike all others. */
export const messageIn = (channel: string) => ({
  channel,
  event_type: "channel.message",
  content: { type: "text", body: `Message ${++sent}, to all who listen.` },
});
