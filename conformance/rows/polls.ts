import type { CommandRow, Like, Push, Rows } from "../row.js";
import type { PollChanges, Stage } from "../stage.js";

const CHANGED = "poll.created_or_updated";
const MANAGERS = "mine moderator";

/** A poll's results, for audiences that see the results of every poll. */
const RESULTS = { poll: { results: {}, poll_type: undefined } };
const SECRET = { poll: { results: undefined } };

const PINNED = { poll: { is_pinned: true } };
const UNPINNED = { poll: { is_pinned: false } };
const UNPINNED_SECRET = { poll: { is_pinned: false, results: undefined } };

const managed = (
  payload: NonNullable<CommandRow["payload"]>,
  pushes: readonly Push[],
  answer?: Like,
): CommandRow => ({
  as: "moderator",
  inRoom: "poll.manage",
  payload,
  pushes,
  ...(answer && { answer }),
});

/** Creates a poll, and returns a payload about it. */
const about =
  (fields: object = {}, changes?: PollChanges) =>
  async (it: Stage) => {
    const [id] = await it.poll(changes);
    return { room: it.room, id, ...fields };
  };

/** Pins another poll before creating the payload. */
const besidePinned =
  (pinned: PollChanges, fields: object, changes?: PollChanges) => async (it: Stage) => {
    const [other] = await it.poll(pinned);
    await it.pinPoll(other);
    return about(fields, changes)(it);
  };

export const pollRows: Rows = {
  "poll.create": managed(
    ({ room }) => ({ room, content: "Tea?", options: [{ content: "Yes" }, { content: "No" }] }),
    [[CHANGED, MANAGERS, RESULTS]],
    { poll: { state: "draft", content: "Tea?" } },
  ),
  "poll.create: open": managed(
    ({ room }) => ({ room, content: "Tea?", state: "open" }),
    [
      [CHANGED, MANAGERS, { poll: { results: [] } }],
      [CHANGED, "neighbor silenced", SECRET],
    ],
  ),
  "poll.update: opened": managed(
    about({ state: "open" }, { state: "draft" }),
    [
      [CHANGED, MANAGERS, RESULTS],
      [CHANGED, "neighbor silenced", SECRET],
      ["chat.event", "room", { event_type: "channel.poll" }],
      ["chat.unread_pointers", "neighbor moderator elsewhere silenced"],
    ],
    { poll: { state: "open", results: {} } },
  ),
  "poll.update: closed": managed(
    async (it) => {
      const [id, yes] = await it.poll();
      await it.vote(id, "neighbor", yes);
      return { room: it.room, id, state: "closed" };
    },
    [
      [
        CHANGED,
        "room",
        ({ payload }) => ({ poll: { id: payload.id, state: "closed", results: {} } }),
      ],
    ],
  ),
  "poll.update: hidden": managed(about({ state: "archived" }), [
    [CHANGED, "room", { poll: { state: "archived" } }],
  ]),
  "poll.update: pinned": managed(
    besidePinned({}, { is_pinned: true }),
    [
      [CHANGED, "room", PINNED],
      [CHANGED, MANAGERS, UNPINNED],
      [CHANGED, "neighbor silenced", UNPINNED_SECRET],
    ],
    { poll: { is_pinned: true } },
  ),
  "poll.update: a draft pinned": managed(
    besidePinned({}, { is_pinned: true }, { state: "draft" }),
    [
      [CHANGED, MANAGERS, PINNED],
      [CHANGED, "room", UNPINNED],
    ],
  ),
  "poll.delete": managed(about(), [["poll.deleted", "room"]], ({ payload }) => ({
    poll: payload.id,
  })),
  "poll.delete: a draft": managed(about({}, { state: "draft" }), [["poll.deleted", MANAGERS]]),
  "poll.vote": {
    inRoom: "poll.vote",
    payload: async (it) => {
      const [id, yes] = await it.poll();
      await it.vote(id, "neighbor", yes);
      return { room: it.room, id, options: [yes] };
    },
    answer: ({ payload: { options } }) => ({ poll: { results: { [options[0]]: 2 } } }),
    // Pushed to all voters, and to all users who see every poll's results.
    pushes: [
      [
        CHANGED,
        "mine neighbor moderator",
        ({ payload }) => ({ poll: { results: { [payload.options[0]]: 2 } } }),
      ],
    ],
  },
  "poll.vote: withdrawn": {
    inRoom: "poll.vote",
    payload: async (it) => {
      const [id, yes] = await it.poll();
      await it.vote(id, "me", yes);
      return { room: it.room, id, options: [] };
    },
    answer: SECRET,
    pushes: [
      [CHANGED, "mine", SECRET],
      [CHANGED, "moderator", RESULTS],
    ],
  },
  "poll.list": {
    inRoom: "poll.read",
    payload: async (it) => {
      await it.poll({ state: "draft" });
      await it.poll({ content: "Shown" });
      return { room: it.room };
    },
    answer: [{ content: "Shown", results: undefined, answers: undefined }],
  },
  "poll.pin": managed(
    about(),
    [["poll.pinned", "room", ({ room, payload }) => ({ room, id: payload.id })]],
    ({ payload: { id } }) => ({ id }),
  ),
  "poll.pin: in place of a draft": managed(besidePinned({ state: "draft" }, {}), [
    ["poll.pinned", "room"],
  ]),
  "poll.pin: a draft": managed(about({}, { state: "draft" }), [["poll.pinned", MANAGERS]]),
  "poll.unpin": managed(
    async (it) => {
      const [id] = await it.poll();
      await it.pinPoll(id);
      return { room: it.room };
    },
    [["poll.unpinned", "room"]],
    {},
  ),
  // No connection of the run names the kinds that it shows, so none hears of a poll of words.
  "poll.answers.hide": managed(
    async (it) => {
      const [id, answer] = await it.cloud();
      return { room: it.room, id, answer, hidden: true };
    },
    [],
    {},
  ),
  "poll.leaderboard": {
    inRoom: "poll.read",
    payload: async (it) => ({ room: it.room }),
    answer: { players: [] },
  },
};
