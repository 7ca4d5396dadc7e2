import { type Commands, linesIn } from "../../../schemas/live/index.js";
import { AHEAD_MS, CAPTION, languageIn } from "../../../schemas/plain/stage/captions.js";
import { timeIn } from "../../../schemas/plain/times.js";
import {
  bind,
  type CommandSender,
  type CommandTable,
  type EntryHandlers,
  type LiveModule,
  type RoomContext,
} from "../../module.js";
import { invalidPayload, rateLimited } from "../../rules/problems.js";
import type { Connection } from "../../socket/connection.js";
import { type CaptionPorts, CaptionSubscriptions } from "./caption-pushes.js";
import { SpokenLanguages } from "./spoken-languages.js";

/** Ports of the commands. */
export interface CaptionCommandPorts extends CaptionPorts {
  readonly subscriptions: CaptionSubscriptions;
}

/** The command that is also available over HTTP. */
export const sharedCaptions: CommandTable<
  "room.captions.send",
  CaptionCommandPorts,
  CommandSender
> = {
  "room.captions.send": { inRoom: "room.caption", handler: send },
};

/**
 * Commands for captions. Everyone who can see a room may read its captions, even without entering
 * it.
 */
export const captions: CommandTable<
  Extract<keyof Commands, `room.captions${string}`>,
  CaptionCommandPorts
> = {
  "room.captions": { inRoom: "any", handler: subscribe },
  "room.captions.list": { inRoom: "any", handler: list },
  ...sharedCaptions,
};

async function subscribe(
  { ports, connection, room }: RoomContext<CaptionCommandPorts>,
  { lang }: Commands["room.captions"]["payload"],
) {
  const language = lang === null ? undefined : languageIn(lang);
  ports.subscriptions.set(connection, room.value.id, language);
  return {};
}

async function list(
  { ports, connection, room }: RoomContext<CaptionCommandPorts>,
  { lang, session_id, after }: Commands["room.captions.list"]["payload"],
) {
  const { captions } = ports.store;
  const place = [connection.world, room.value.id] as const;
  const [at = -1, number = 0] = after?.split("-").map(Number) ?? [];
  const lines = await captions.list(...place, {
    lang: lang === undefined ? undefined : languageIn(lang),
    session: session_id,
    from: [at, number],
    limit: CAPTION.page,
  });
  const last = lines.length < CAPTION.page ? undefined : lines.at(-1);
  return {
    captions: lines.map(({ lang, text, at }) => ({ lang, text, at: new Date(at).toISOString() })),
    next: last ? `${last.at}-${last.number}` : null,
    languages: await captions.kept(...place, session_id ?? null),
  };
}

async function send(
  { ports, connection, room }: RoomContext<CaptionCommandPorts, CommandSender>,
  payload: Commands["room.captions.send"]["payload"],
) {
  const now = ports.clock.date();
  const { world, author } = connection;
  const { rates, store } = ports;
  const sender = author.user ?? author.uid ?? author.token;
  if (!rates.maySendCaptions(world, `${sender} ${room.value.id}`)) throw rateLimited();
  const lines = linesIn(payload).map(({ lang, text, final, at, session_id }, i) => {
    const spoken = at === undefined ? now : timeIn(at)!;
    if (spoken > now + AHEAD_MS) {
      const field = payload.captions ? `captions.${i}.at` : "at";
      throw invalidPayload({ [field]: ["May not be in the future."] });
    }
    return { lang: languageIn(lang)!, text, final, at: spoken, session: session_id };
  });
  const bytes = lines.reduce(
    (sum, { text, final }) => sum + (final ? Buffer.byteLength(text) : 0),
    0,
  );
  if (!rates.mayStore(connection, bytes)) throw rateLimited();
  await store.captions.add(world, room.value.id, lines, author.user ?? null, now, author);
  return {};
}

/** Creates the captions module. */
export function captionModule(ports: CaptionPorts) {
  const subscriptions = new CaptionSubscriptions(ports);
  const languages = new SpokenLanguages(ports);
  const onEntry: EntryHandlers = {
    "caption.added": (entry) => {
      languages.heard(entry, [entry.lang]);
      subscriptions.added(entry);
    },
    "caption.heard": (entry) => {
      languages.heard(entry, entry.langs);
      subscriptions.heard(entry);
    },
  };
  return {
    bound: bind(captions, { ...ports, subscriptions }),
    onEntry,
    leave: (connection) => subscriptions.end(connection),
    forget: (world) => languages.forget(world),
    stop: () => languages.stop(),
    /** Pushes a room's spoken languages to a connection that has entered the room. */
    entered: (connection: Connection, room: string) => languages.entered(connection, room),
  } satisfies LiveModule & { entered: unknown };
}
