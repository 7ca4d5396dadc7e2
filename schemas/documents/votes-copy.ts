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

// A world's questions and polls in its document, oldest first.

/** Maximum length of a question, poll or option, in characters: websocket messages cannot be longer. */
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
      /** Omitted for an erased user, or if there is no author or editor. */
      sender: Uuid,
      moderator: Uuid,
      answered: Type.Boolean(),
      is_pinned: Type.Boolean(),
      /** The users who voted for the question; null for erased users. */
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
       * The votes when the poll was closed or archived, by option id. An option may have been
       * deleted since. If `results` is omitted, the ballots are counted.
       */
      results: Type.Record(
        Type.String(),
        Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      ),
      /** A ballot without a user was cast by a user who has since been erased. */
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

/** Returns a stateful check, which must receive a document's questions one by one. */
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

/** Returns a stateful check, which must receive a document's polls one by one. */
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

/** Returns a stateful check for the fields that questions and polls have in common. */
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

/**
 * Returns a fault if a voter is unknown, or voted more than once. Erased users are null, and
 * therefore indistinguishable.
 */
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

/**
 * Returns a fault in the ballots' options. A ballot may have several options regardless of the
 * poll's type, because the type may have changed since.
 */
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
