/** The part of the product that a mutant breaks. It decides which suites are tried first. */
export type Area =
  | "rights"
  | "chat"
  | "votes"
  | "log"
  | "sqlite"
  | "postgres"
  | "uploads"
  | "limits"
  | "client"
  | "cli";

/** A place in the product, and a change that breaks it. */
export interface Mutant {
  readonly area: Area;
  /** From the root of the project. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly text: string;
  readonly by: string;
  /** The consequence for people. */
  readonly breaks: string;
}

type Row = readonly [file: string, text: string, by: string, breaks: string];

const inArea = (area: Area, rows: readonly Row[]): Mutant[] =>
  rows.map(([file, text, by, breaks]) => ({ area, file, text, by, breaks }));

const rights = inArea("rights", [
  [
    "schemas/plain/permissions.ts",
    `state === "banned" ||`,
    `state === undefined ||`,
    "banned users keep their rights",
  ],
  [
    "schemas/plain/permissions.ts",
    `"room.view",\n  "chat.read",`,
    `"room.view",\n  "chat.send",\n  "chat.read",`,
    "silenced users may write",
  ],
  [
    "live/rules/world-state.ts",
    `if (!mayInRoom(who, "room.view", world, value)) continue;`,
    ``,
    "hidden rooms are listed",
  ],
  [
    "live/rules/world-state.ts",
    `const key = [state, place, ...held].join("\\n");`,
    `const key = [place, ...held].join("\\n");`,
    "silenced people share the view of others",
  ],
  [
    "live/dispatch.ts",
    `if (!keys.some(may)) throw worldDenied();`,
    ``,
    "commands on the world ask for no right",
  ],
  [
    "live/dispatch.ts",
    `if (active) requireActive(target, module!);`,
    ``,
    "commands reach modules that are paused",
  ],
  [
    "plugins/auth/guard.ts",
    `const state = user?.moderation_state ?? "";
  // Of`,
    `const state = "" as UserRecord["moderation_state"];
  // Of`,
    "moderated users keep their access to REST",
  ],
  [
    "plugins/auth/guard.ts",
    `if (!may(identity, requires, place)) return false;`,
    ``,
    "REST asks for no right beyond world.api",
  ],
  [
    "plugins/auth/identification.ts",
    `if (!anywhere && identified.world.value.id !== worldId) throw foreign;`,
    ``,
    "a token of one world opens another",
  ],
  [
    "plugins/auth/tokens.ts",
    `if (alg !== "HS256" && !isForeign) {`,
    `if (alg === undefined) {`,
    "tokens may name another algorithm",
  ],
]);

const chat = inArea("chat", [
  [
    "live/modules/chat/audience.ts",
    `if (!this.isDirect && !view.reads(this.channel)) {`,
    `if (this.isDirect && !view.reads(this.channel)) {`,
    "events go to people who may not read the room",
  ],
  [
    "live/modules/chat/audience.ts",
    `waiting.sort((a, b) => a.id - b.id);`,
    ``,
    "events that waited for a subscription come out of order",
  ],
  [
    "live/modules/chat/audience.ts",
    `if (id > since) this.listener.connection.push(frame);`,
    `this.listener.connection.push(frame);`,
    "a subscriber gets events twice",
  ],
  [
    "db/sqlite/chat/chat-channels.ts",
    `if (state !== "") throw denied("The user is banned or silenced.");`,
    ``,
    "silenced users write direct messages",
  ],
  [
    "live/modules/chat/messages.ts",
    `if (!ports.rates.mayMessage(connection, size)) throw rateLimited();`,
    ``,
    "messages have no rate",
  ],
  [
    "live/modules/chat/direct.ts",
    `if (ids.size < 2 || ids.size > MAX_MEMBERS) throw chatDenied();`,
    `if (ids.size < 2) throw chatDenied();`,
    "direct channels have no bound",
  ],
  [
    "live/modules/chat/pages.ts",
    `(isVolatile(room.value) || room.value.extras.force_join === true);`,
    `isVolatile(room.value);`,
    "pages of rooms that all join hold every join",
  ],
  [
    "live/modules/chat/pages.ts",
    `const events = read.filter(({ id }) => id <= until);`,
    `const events = read;`,
    "an answer repeats what is pushed after it",
  ],
]);

const votes = inArea("votes", [
  [
    "live/modules/items/polls/commands.ts",
    `isPublic: !all,`,
    `isPublic: false,`,
    "drafts of polls are listed for everybody",
  ],
  [
    "live/modules/items/polls/commands.ts",
    `sentPoll(poll, seesAll || hasVoted || isOver(poll), withType);`,
    `sentPoll(poll, true || hasVoted, withType);`,
    "results are listed for people who have not voted",
  ],
  [
    "live/modules/items/polls/pushes.ts",
    `return frames.of(isOver(poll) || users.has(user), connection);`,
    `return frames.of(true, connection);`,
    "people who withdraw their vote go on to get results",
  ],
  [
    "live/modules/items/polls/voters.ts",
    `if (since) for (const user of users) since.add(user);`,
    ``,
    "a push overtakes the answer to a vote",
  ],
  [
    "live/modules/items/questions/commands.ts",
    `requires_moderation === false ? "visible" : "mod_queue"`,
    `requires_moderation === true ? "mod_queue" : "visible"`,
    "questions are visible before a moderator saw them",
  ],
  [
    "live/modules/items/shared.ts",
    "if (!may(context, `${name}.read`) && !may(context, kind.manage)) {",
    `if (!name) {`,
    "the answer to a vote shows an item that its caller may not read",
  ],
  [
    "db/rules/poll-rows.ts",
    `if (state !== "open") throw refused("The poll is not open.");`,
    ``,
    "closed polls take votes",
  ],
  [
    "db/rules/poll-rows.ts",
    `if (poll_type === "choice" && chosen.length > 1) {`,
    `if (poll_type === "choice" && chosen.length > 2) {`,
    "a choice of one takes two",
  ],
  [
    "db/rules/poll-rows.ts",
    `return ids.length > 0 && chosen.length === 0`,
    `return ids.length < 0`,
    "a vote for unknown options withdraws the vote",
  ],
  [
    "db/rules/question-rows.ts",
    `all || isVisible(question) || question.sender === user;`,
    `all || question.state !== "archived" || question.sender === user;`,
    "people vote for questions that they do not see",
  ],
]);

const log = inArea("log", [
  [
    "db/log/follower.ts",
    `if (cursor && seq <= cursor.seq) return;`,
    `if (cursor && seq < cursor.seq) return;`,
    "a doubled hint is read as a new one",
  ],
  [
    "db/log/follower.ts",
    `if (entry.seq <= own.seq) return true;`,
    ``,
    "entries that hints brought during a read are applied twice",
  ],
  [
    "db/log/follower.ts",
    `this.#clock.after(next, () => this.#catchUp(world, followed, next));`,
    ``,
    "a failed read of the log is not repeated",
  ],
  [
    "db/log/follower.ts",
    `if (tag !== cursor.tag) {`,
    `if (tag === undefined) {`,
    "a database that went back is not noticed",
  ],
  [
    "db/log/follower.ts",
    `entry.seq === seq + 1 && previous === tag;`,
    `entry.seq === seq + 1;`,
    "entries of two histories are mixed",
  ],
  [
    "db/log/draft.ts",
    `this.#hints.length = entries;`,
    ``,
    "a write that failed appends its entries",
  ],
  [
    "db/log/draft.ts",
    `if (known) known.votes.push(vote);`,
    `if (known) known.votes.splice(0);`,
    "votes of one transaction are lost",
  ],
]);

const sqlite = inArea("sqlite", [
  [
    "db/sqlite/chat/chat-messages.ts",
    `if (type !== MEMBER) channel.last_message = id;`,
    `channel.last_message = id;`,
    "a join makes a channel unread",
  ],
  [
    "db/sqlite/chat/chat-messages.ts",
    `if (!deletes || !mayDelete) throw denied("It is another user's.");`,
    `if (!mayDelete) throw denied("It is another user's.");`,
    "moderators rewrite what others said",
  ],
  [
    "db/sqlite/chat/chat-messages.ts",
    `removeEdits.run(worldId, channel.number, replaced.id);`,
    ``,
    "a deleted message leaves its edits",
  ],
  [
    "db/rules/poll-rows.ts",
    `chosen.filter(({ number }) => !before.has(number))`,
    `chosen.filter(() => true)`,
    "a vote may be counted twice",
  ],
  [
    "db/shared/polls.ts",
    `if (!(await sql.one(HAS_CHAT, [world, room]))) return undefined;`,
    ``,
    "a poll is announced in rooms without a chat",
  ],
  [
    "db/sqlite/votes/votes.ts",
    `if (changes > 0)\n        row.score`,
    `row.score`,
    "one user votes for a question twice",
  ],
  [
    "db/sqlite/users/user-writes.ts",
    `if (old?.moderation_state === "banned") return old;`,
    ``,
    "banned users change what is stored of them",
  ],
  [
    "db/shared/user-traces.ts",
    `"UPDATE poll_ballots SET user_id = NULL WHERE world_id = $1 AND user_id = $2"`,
    `"UPDATE poll_ballots SET user_id = user_id WHERE world_id = $1 AND user_id = $2"`,
    "ballots name users who are erased",
  ],
]);

const postgres = inArea("postgres", [
  [
    "db/postgres/chat/chat-messages.ts",
    `if (replaced.deleted && !deletes) throw denied("It is deleted.");`,
    ``,
    "a deleted message can be edited",
  ],
  [
    "db/postgres/chat/chat-posts.ts",
    "users.world_id = $1 AND users.id <> $4 AND",
    "users.world_id = $1 AND",
    "users are notified of their own messages",
  ],
  [
    "db/postgres/chat/chat-members.ts",
    `if (found.isBlocked) throw denied("One of the users blocks another.");`,
    ``,
    "blocked users open direct channels",
  ],
  [
    "db/postgres/engine/cache.ts",
    `if (!this.#followed()?.isCurrent(world)) return undefined;`,
    ``,
    "caches serve values that nothing has confirmed",
  ],
  [
    "db/postgres/engine/cache.ts",
    `else if (type.startsWith("room")) this.rooms.forget(world);`,
    "",
    "changes of rooms leave old values in caches",
  ],
]);

const uploads = inArea("uploads", [
  [
    "plugins/upload/form.ts",
    `if (size > limit) throw new FileRefusal("file.size");`,
    ``,
    "uploads may have any size",
  ],
  [
    "plugins/auth/uploader.ts",
    `if (user?.moderation_state) throw new Refusal(403, "");`,
    ``,
    "silenced users upload files",
  ],
  [
    "routes/uploads.ts",
    `if (!(await isOfType(type, head))) throw await refusedType(all);`,
    ``,
    "files need not be of the type that their name says",
  ],
  [
    "plugins/auth/uploader.ts",
    `await request.admission!(request);`,
    ``,
    "a right that was lost during an upload counts",
  ],
]);

const limits = inArea("limits", [
  [
    "live/socket/pace.ts",
    `this.#tokens = Math.min(this.rate * this.burst, refilled);`,
    `this.#tokens = refilled;`,
    "rates are saved up without a bound",
  ],
  [
    "live/people/spent.ts",
    `const count = total < before ? total : total - before;`,
    `const count = total;`,
    "other processes count what a user spent again and again",
  ],
  [
    "live/dispatch.ts",
    `(large ? undefined : crowdedIn(payload)) ??`,
    ``,
    "payloads may have any number of values",
  ],
]);

const client = inArea("client", [
  [
    "client/live/reader.ts",
    `if (this.#tail === undefined || this.#hasGap || id <= this.#tail) return;`,
    `if (this.#tail === undefined || this.#hasGap) return;`,
    "an iteration gives an event twice",
  ],
  [
    "client/live/reader.ts",
    `else if (after === undefined || this.#tail < after) return this.miss();`,
    ``,
    "events of a break are left out",
  ],
  [
    "client/live/delivery.ts",
    `if (event) return event;\n        if (isOver()) throw error;`,
    `if (isOver()) throw error;`,
    "a message whose answer was lost is sent twice",
  ],
  [
    "client/live/connection.ts",
    `this.#send(["ping", 0]);`,
    `return;`,
    "a dead connection is not noticed",
  ],
  [
    "client/live/retries.ts",
    `case "connection.replaced":`,
    ``,
    "two clients replace each other forever",
  ],
]);

const cli = inArea("cli", [
  [
    "db/results/lists.ts",
    `for (const item of items) if (!seen.has(item.id)) yield item;`,
    `for (const item of items) yield item;`,
    "a list shows an item twice",
  ],
  [
    "cli/users.ts",
    `if (!user?.deleted) await store.users.erase(world, { user_id: id });`,
    `await store.users.erase(world, { user_id: id });`,
    "messages of erased users cannot be erased",
  ],
  [
    "db/results/polls.ts",
    `...deleted.map((id) => ({`,
    `...[].map((id: string) => ({`,
    "frozen results lack deleted options",
  ],
]);

/** Each breaks something that a suite has to notice. */
export const mutants: readonly Mutant[] = [
  ...rights,
  ...chat,
  ...votes,
  ...log,
  ...sqlite,
  ...postgres,
  ...uploads,
  ...limits,
  ...client,
  ...cli,
];
