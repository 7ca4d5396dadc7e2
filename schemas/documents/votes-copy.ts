import { Type, type Static } from "@sinclair/typebox";
import {
  at,
  ONLY_ONCE,
  optional,
  type Referred,
  time,
  UNKNOWN_USER,
  Uuid,
} from "./document-values.js";
import { MAX_OPTIONS } from "../plain/limits.js";
import { uuid } from "../plain/texts.js";
import { compileValidator, type InvalidData } from "../validate.js";
import { List, OneOf, Text, TextOrNull } from "../values.js";

// The questions and polls of a world in its document, the oldest first.

/** The longest text, in characters: no message over a websocket is longer. */
const MAX_TEXT = 1024 * 1024;

const content = Text({ minLength: 1, maxLength: MAX_TEXT });

const QuestionCopy = Type.Object(
  {
    id: Uuid,
    room: Uuid,
    content,
    state: OneOf("mod_queue", "visible", "archived"),
    timestamp: Text(time),
    ...optional({
      /** Left out for an erased user, or without an author or editor. */
      sender: Uuid,
      moderator: Uuid,
      answered: Type.Boolean(),
      is_pinned: Type.Boolean(),
      /** The users who vote for it; null for each erased one. */
      votes: Type.Array(TextOrNull(uuid)),
    }),
  },
  { additionalProperties: false },
);
export type QuestionCopy = Static<typeof QuestionCopy>;

const PollCopy = Type.Object(
  {
    id: Uuid,
    room: Uuid,
    content,
    state: OneOf("draft", "open", "closed", "archived"),
    poll_type: OneOf("choice", "multi"),
    timestamp: Text(time),
    options: List(
      Type.Object(
        { id: Uuid, content, order: Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }) },
        { additionalProperties: false },
      ),
      MAX_OPTIONS,
    ),
    ...optional({
      is_pinned: Type.Boolean(),
      /**
       * The votes at the moment when the poll was closed or archived, by the id of an option,
       * which may be deleted by now. Left out, the ballots are counted.
       */
      results: Type.Record(
        Type.String(),
        Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      ),
      /** A ballot without a user belongs to an erased one. */
      ballots: Type.Array(
        Type.Object(
          {
            options: Type.Array(Uuid, { minItems: 1, maxItems: MAX_OPTIONS }),
            ...optional({ user: Uuid }),
          },
          { additionalProperties: false },
        ),
      ),
    }),
  },
  { additionalProperties: false },
);
export type PollCopy = Static<typeof PollCopy>;

const checkQuestion = compileValidator(QuestionCopy);
const checkPoll = compileValidator(PollCopy);
const checkId = compileValidator(Uuid);

type Check = (entry: unknown) => InvalidData | undefined;

/** Makes a check of the questions of a document. It gets one after the other. */
export function questionChecker({ rooms, users }: Referred): Check {
  const placeFault = placeChecker(rooms);
  return (entry) => {
    const fault = checkQuestion(entry);
    if (fault) return fault;
    const question = entry as QuestionCopy;
    const { sender, moderator, votes = [] } = question;
    const misplaced = placeFault(question);
    if (misplaced) return misplaced;
    for (const [field, user] of Object.entries({ sender, moderator })) {
      if (user !== undefined && !users.has(user)) return at(field, UNKNOWN_USER);
    }
    return votersFault(votes, users, (i) => `votes.${i}`);
  };
}

/** Makes a check of the polls of a document. It gets one after the other. */
export function pollChecker({ rooms, users }: Referred): Check {
  const placeFault = placeChecker(rooms);
  const known = new Set<string>();
  return (entry) => {
    const fault = checkPoll(entry);
    if (fault) return fault;
    const poll = entry as PollCopy;
    const { options, ballots = [] } = poll;
    const misplaced = placeFault(poll);
    if (misplaced) return misplaced;
    for (const [i, { id }] of options.entries()) {
      if (known.has(id)) return at(`options.${i}.id`, ONLY_ONCE);
      known.add(id);
    }
    return (
      resultsFault(poll) ??
      choicesFault(poll) ??
      votersFault(
        ballots.map(({ user = null }) => user),
        users,
        (i) => `ballots.${i}.user`,
      )
    );
  };
}

/** Makes a check of the common fields of questions and polls. */
function placeChecker(rooms: ReadonlySet<unknown>) {
  const known = new Set<string>();
  const pinnedIn = new Set<string>();
  return (entry: QuestionCopy | PollCopy): InvalidData | undefined => {
    const { id, room, is_pinned = false } = entry;
    if (!rooms.has(room)) {
      return at("room", "Must be the id of a room of this document.");
    }
    if (known.has(id)) return at("id", ONLY_ONCE);
    known.add(id);
    if (!is_pinned) return undefined;
    if (pinnedIn.has(room)) {
      return at("is_pinned", "May be true of only one in a room.");
    }
    pinnedIn.add(room);
    return undefined;
  };
}

/** Each user votes once. Erased users are null and cannot be distinguished. */
function votersFault(
  voters: readonly (string | null)[],
  users: ReadonlySet<unknown>,
  pathOf: (index: number) => string,
): InvalidData | undefined {
  const seen = new Set<string>();
  for (const [i, user] of voters.entries()) {
    if (user === null) continue;
    if (!users.has(user)) return at(pathOf(i), UNKNOWN_USER);
    if (seen.has(user)) return at(pathOf(i), ONLY_ONCE);
    seen.add(user);
  }
  return undefined;
}

function resultsFault({ state, results }: PollCopy): InvalidData | undefined {
  if (results === undefined) return undefined;
  if (state === "draft" || state === "open") {
    return at("results", "Only a closed or archived poll may have it.");
  }
  const ids = Object.keys(results);
  if (ids.length > MAX_OPTIONS) {
    return at("results", `May hold at most ${MAX_OPTIONS} entries.`);
  }
  return ids.some((id) => checkId(id))
    ? at("results", "The names in it must be ids of options.")
    : undefined;
}

/** The type of a poll may have changed since, so a ballot may have several options in any. */
function choicesFault({ options, ballots = [] }: PollCopy): InvalidData | undefined {
  const known = new Set(options.map(({ id }) => id));
  for (const [i, { options: chosen }] of ballots.entries()) {
    const path = `ballots.${i}.options`;
    const wrong = chosen.findIndex((id) => !known.has(id));
    if (wrong >= 0) {
      return at(`${path}.${wrong}`, "Must be the id of an option of the poll.");
    }
    if (new Set(chosen).size < chosen.length) {
      return at(path, "May name each option only once.");
    }
  }
  return undefined;
}
