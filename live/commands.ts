import type { Author } from "../db/contract/author.js";
import {
  StoreError,
  type UserRecord,
  type UserStore,
  type Versioned,
} from "../db/contract/store.js";
import type { Identity } from "../plugins/auth/identity.js";
import { forbidden, missing, Refusal } from "../plugins/http/errors.js";
import type { CommandName, Commands } from "../schemas/live/index.js";
import { InvalidData } from "../schemas/validate.js";
import type { World } from "../schemas/worlds.js";
import type { Runnable } from "./dispatch.js";
import type { Call, CommandTable, CommandContext, CommandSender } from "./module.js";
import { announcements } from "./modules/announcements/announcement-commands.js";
import { calls, sharedCalls } from "./modules/calls/call-commands.js";
import { meetings } from "./modules/calls/meetings.js";
import { POLL_KINDS } from "../schemas/plain/polls.js";
import { captions, sharedCaptions } from "./modules/captions/caption-commands.js";
import { chat } from "./modules/chat/chat-commands.js";
import { sharedMessages } from "./modules/chat/chat-messages.js";
import { pollList, polls } from "./modules/items/poll-commands.js";
import { questionList, questions } from "./modules/items/question-commands.js";
import { program } from "./modules/program/program-commands.js";
import { ratings } from "./modules/program/rating-commands.js";
import { invites, rooms } from "./modules/rooms/room-commands.js";
import { reports } from "./modules/reports/report-commands.js";
import { screens } from "./modules/screens/screen-commands.js";
import { guests } from "./modules/users/guests.js";
import { kiosks } from "./modules/users/kiosks.js";
import { moderation, users, webPush } from "./modules/users/user-commands.js";
import { records } from "./modules/world/records.js";
import { world } from "./modules/world/world-commands.js";
import { jsonOf } from "./rules/encoding.js";
import { type LiveError, liveErrorOf } from "./rules/problems.js";
import { mayInWorld } from "./rules/rights.js";
import type { Login } from "./socket/login-state.js";

/** Every command, with its requirements. */
export const commands = {
  ...users,
  ...kiosks,
  ...guests,
  ...webPush,
  ...world,
  ...records,
  ...rooms,
  ...invites,
  ...announcements,
  ...chat,
  ...reports,
  ...questions,
  ...polls,
  ...program,
  ...ratings,
  ...calls,
  ...meetings,
  ...screens,
  ...captions,
};

/** Commands that are also available over HTTP. */
const sharedCommands = {
  ...announcements,
  ...moderation,
  ...sharedMessages,
  ...questionList,
  ...pollList,
  ...sharedCalls,
  ...sharedCaptions,
} satisfies Partial<CommandTable<CommandName, never, CommandSender>>;

export type SharedCommand = keyof typeof sharedCommands;

// Exposes the host commands over HTTP. Rights, limits and handlers are the same as over the
// websocket; only the caller and the error format differ.

/** The caller of a command over HTTP, and the world's current version. */
export interface HttpCaller {
  readonly identity: Identity;
  /** The id of the user; null if the token names no user in the world. */
  readonly user: string | null;
  readonly author: Author;
  readonly world: Versioned<World>;
  /** See {@link Call}. */
  readonly expected?: readonly string[] | undefined;
}

/**
 * Runs a command.
 * @returns its result, as JSON.
 * @throws {Refusal | InvalidData}
 */
export type Calls = <N extends SharedCommand>(
  caller: HttpCaller,
  name: N,
  payload: Commands[N]["payload"],
) => Promise<string>;

/** Placeholder for callers without a user. */
const NO_USER = "00000000-0000-0000-0000-000000000000";
const noUser = { id: NO_USER, traits: [] as string[], moderation_state: "" } as UserRecord;

const EVERY_KIND: ReadonlySet<string> = new Set(POLL_KINDS);

/** Creates the function that runs commands for HTTP. */
export function callsOf(users: UserStore, runs: ReadonlyMap<string, Runnable>): Calls {
  return async ({ identity, user, author, world, expected }, name, payload) => {
    const { run, ports } = runs.get(name)!;
    const found = user === null ? undefined : await users.get(world.value.id, user);
    if (user !== null && (!found || found.deleted)) throw forbidden();
    const me = found ?? noUser;
    const login: Login = {
      identity,
      user: me.id,
      traits: identity.traits,
      state: me.moderation_state,
      changes: false,
      pollKinds: EVERY_KIND,
    };
    const connection: Call = { isCall: true, world: world.value.id, author, login, expected };
    const context: CommandContext<unknown, CommandSender> = {
      ports,
      connection,
      login,
      world,
      me,
      may: (key) => mayInWorld(login, key, world.value),
    };
    const order = { action: name, payload, losses: () => undefined };
    try {
      return jsonOf(await run(context, order));
    } catch (error) {
      // The caller's precondition failed.
      const isCondition = error instanceof StoreError && error.problem === "changed";
      if (expected && isCondition) throw error;
      const refused = liveErrorOf(error, name);
      if (!refused) throw error;
      const what = unknown[refused.code];
      if (what === undefined) throw refusalOf(refused);
      const state = me.moderation_state;
      throw missing({ identity, state, world: world.value }, what);
    }
  };
}

/** For each error code, the request field to blame. */
const fields: Record<string, string> = {
  "chat.empty": "content",
  "chat.blocked_word": "content",
  "chat.unsupported_content_type": "content",
  "chat.unsupported_event_type": "event_type",
};

/** For each error code, the kind of object that was not found. */
const unknown: Record<string, string> = {
  "user.not_found": "user",
  "announcement.unknown": "announcement",
  "chat.unknown": "chat",
  "chat.unknown_event": "message",
};

/**
 * Translates a refused command into an HTTP error. A missing object and a forbidden object cause
 * the same response.
 */
function refusalOf({ code, message, details, retryAfter }: LiveError) {
  if (retryAfter !== undefined) {
    return new Refusal(429, message, { "retry-after": String(retryAfter) });
  }
  if (details) return new InvalidData(details);
  const field = fields[code];
  if (field !== undefined) return new InvalidData({ [field]: [message] });
  if (code.endsWith(".self")) {
    return new InvalidData({ moderation_state: [message] });
  }
  switch (code) {
    case "call.missing_profile":
      return new Refusal(400, message, {}, code);
    case "call.unknown":
      return new Refusal(404, message, {}, code);
    case "call.full":
      return new Refusal(409, message, {}, code);
    case "call.unavailable":
      return new Refusal(503, message, { "retry-after": "5" }, code);
    case "protocol.rate_limited":
      return new Refusal(429, message, { "retry-after": "1" });
    case "server.too_large":
      return new InvalidData({ limit: ["The answer would be too large."] });
    case "server.unavailable":
    case "server.doubtful":
      return new Refusal(503, message, { "retry-after": "5" });
    default:
      return forbidden();
  }
}
