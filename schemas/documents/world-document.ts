import { Type, type Static } from "@sinclair/typebox";
import { type ChatCopy, checkChatCopy } from "./chat-history.js";
import { at, JsonObject, time, UNKNOWN_USER, Uuid } from "./document-values.js";
import type { Faults } from "../errors.js";
import { checkModules, RoomDraft } from "../rooms.js";
import { compileValidator, InvalidData } from "../validate.js";
import { type PollCopy, pollChecker, type QuestionCopy, questionChecker } from "./votes-copy.js";
import { Expected, title, tokenId, uid } from "../plain/texts.js";
import { OneOf, Text, TextOrNull } from "../values.js";
import { World } from "../worlds.js";

/** The number of changes so far. It preserves the `ETag` when a world is copied to another server. */
const revision = Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }));

const WorldRecord = Type.Object(
  { ...World.properties, title: Text(title), revision },
  { additionalProperties: false },
);

const JsonObjectOrNull = Type.Union([JsonObject, Type.Null()], { [Expected]: "an object or null" });

/** A room, in the form in which rooms are created. A room without a `domain` uses the world's domain. */
const RoomRecord = Type.Object(
  {
    id: Uuid,
    ...RoomDraft.properties,
    name: Text(title),
    ...Type.Partial(
      Type.Object({
        picture: TextOrNull(),
        import_id: TextOrNull(),
        pretalx_id: Type.Integer({
          minimum: Number.MIN_SAFE_INTEGER,
          maximum: Number.MAX_SAFE_INTEGER,
        }),
        force_join: Type.Boolean(),
        schedule_data: JsonObjectOrNull,
      }),
    ).properties,
    revision,
  },
  { ...checkModules, additionalProperties: false },
);
export type RoomRecord = Static<typeof RoomRecord>;

/** A user with either a `token_id` or a `client_id`, and the ids of the users whom the user blocks. */
const UserCopy = Type.Object(
  {
    id: Uuid,
    token_id: TextOrNull(tokenId),
    client_id: TextOrNull(uid),
    profile: JsonObjectOrNull,
    traits: Type.Array(Text()),
    last_seen: Text(time),
    ...Type.Partial(
      Type.Object({
        moderation_state: OneOf("silenced", "banned"),
        client_state: JsonObject,
        pretalx_id: TextOrNull(),
        last_login: TextOrNull(time),
        blocked: Type.Array(Uuid),
      }),
    ).properties,
  },
  { additionalProperties: false },
);
export type UserCopy = Static<typeof UserCopy>;

const AnnouncementCopy = Type.Object(
  {
    id: Uuid,
    text: Text(),
    show_until: TextOrNull(time),
    state: OneOf("draft", "active", "archived"),
  },
  { additionalProperties: false },
);
export type AnnouncementCopy = Static<typeof AnnouncementCopy>;

/** A world with its keys and all of its contents except files, used to move the world to another server. */
export interface WorldCopy {
  world: Static<typeof WorldRecord>;
  rooms: RoomRecord[];
  users?: UserCopy[];
  announcements?: AnnouncementCopy[];
  questions?: QuestionCopy[];
  polls?: PollCopy[];
  chat?: ChatCopy;
}

const FORMAT = "foyer.world";

/** The latest version of this format, which predates exports with rows. */
const VERSION = 1;

const Head = Type.Object(
  { format: OneOf(FORMAT), version: Type.Integer({ minimum: 1 }) },
  { additionalProperties: false },
);

const checkHead = compileValidator(Head);
const checkWorld = compileValidator(WorldRecord);
const checkRoom = compileValidator(RoomRecord);
const checkUser = compileValidator(UserCopy);
const checkAnnouncement = compileValidator(AnnouncementCopy);

/** Maximum number of fields with messages in an error. */
const MAX_FAULTS = 20;

/** Validators for worlds and rooms. */
export const recordFaults = { world: checkWorld, room: checkRoom };

/**
 * Reads a document in this version or an earlier version of the format.
 * @throws {InvalidData} with the same messages as the API.
 */
export function readWorldDocument(document: unknown): WorldCopy {
  if (!isObject(document)) throw checkHead(document)!;
  const { world, rooms, users, announcements, questions, polls, chat, ...head } = document;
  if (Number(head.version) > VERSION) {
    throw new InvalidData({
      version: [`Must be at most ${VERSION}: use a newer Foyer.`],
    });
  }
  const faults: Faults = {};
  let count = 0;
  // Each part is checked separately, so that the API's limits apply.
  const note = (path: string, found: InvalidData | undefined) => {
    for (const [field, messages] of Object.entries(found?.faults ?? {})) {
      if (++count > MAX_FAULTS) return;
      const whole = field === "non_field_errors";
      faults[whole ? path : `${path}.${field}`.replace(/^\./, "")] = messages;
    }
  };
  note("", checkHead(head));
  note("world", checkWorld(world ?? null));
  const noteEach = (
    name: string,
    list: unknown,
    check: (entry: unknown) => InvalidData | undefined,
  ) => {
    if (!Array.isArray(list)) {
      note("", new InvalidData({ [name]: ["Must be a list."] }));
    } else list.forEach((entry, i) => note(`${name}.${i}`, check(entry)));
  };
  noteEach("rooms", rooms, checkRoom);
  if (users !== undefined) noteEach("users", users, userChecker(users));
  if (announcements !== undefined) {
    noteEach("announcements", announcements, checkAnnouncement);
  }
  const refers = { rooms: idsOf(rooms), users: idsOf(users) };
  if (questions !== undefined) {
    noteEach("questions", questions, questionChecker(refers));
  }
  if (polls !== undefined) noteEach("polls", polls, pollChecker(refers));
  if (chat !== undefined && count === 0) checkChatCopy(chat, refers, note);
  if (count > 0) throw new InvalidData(faults);
  return {
    world,
    rooms,
    ...(users !== undefined && { users }),
    ...(announcements !== undefined && { announcements }),
    ...(questions !== undefined && { questions }),
    ...(polls !== undefined && { polls }),
    ...(chat !== undefined && { chat }),
  } as WorldCopy;
}

/** Returns a check for users. The check includes rules that a single user's schema cannot express. */
function userChecker(users: unknown) {
  const ids = idsOf(users);
  return (user: unknown): InvalidData | undefined => {
    const fault = checkUser(user);
    if (fault) return fault;
    const { token_id, client_id, blocked = [] } = user as UserCopy;
    if ((token_id === null) === (client_id === null)) {
      return at("token_id", "Either this or client_id must be null.");
    }
    const wrong = blocked.findIndex((id) => !ids.has(id));
    return wrong === -1 ? undefined : at(`blocked.${wrong}`, UNKNOWN_USER);
  };
}

/** Returns the ids in an unvalidated list. */
const idsOf = (list: unknown): Set<unknown> =>
  new Set(Array.isArray(list) ? list.map((entry) => (entry as { id?: unknown } | null)?.id) : []);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
