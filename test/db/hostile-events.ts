/** A new message of a channel, as its process sends it to others. */
const message = (content: unknown) => ({
  ...{ type: "chat.event", world: "demo", channel: "a" },
  delivery: {
    ...{ previous: 0, previousMessage: 0, notified: [], appeared: [] },
    event: {
      ...{ id: 1, channel: "a", sender: "b", timestamp: 0, edited: null },
      ...{ type: "channel.message", content, replaces: null, reactions: {} },
    },
  },
});

/** Events that no process of this Foyer sends, by their fault. */
export const hostileEvents: Readonly<Record<string, unknown>> = {
  "no object": "world.updated",
  null: null,
  "a list": [{ type: "world.updated", world: "demo" }],
  "no type": { world: "demo" },
  "a type that is no text": { type: ["world.updated"], world: "demo" },
  "no world": { type: "world.updated" },
  "a world that is a number": { type: "world.updated", world: 1 },
  "a world that is endless": { type: "world.updated", world: "x".repeat(9999) },
  "an author that is an object": {
    ...{ type: "room.updated", world: "demo", room: "a" },
    by: { toString: 1 },
  },
  "no room": { type: "room.updated", world: "demo" },
  "no user": { type: "user.moderated", world: "demo", user: null },
  "members that are no list": {
    ...{ type: "chat.memberships", world: "demo", channel: "a" },
    users: { length: 1 },
  },
  "a delivery that is null": {
    ...{ type: "chat.event", world: "demo", channel: "a" },
    delivery: null,
  },
  "a delivery without an event": {
    ...{ type: "chat.event", world: "demo", channel: "a" },
    delivery: { previous: 0, previousMessage: 0, notified: [], appeared: [] },
  },
  "a message that is no text": message({ type: "text", body: "x" }),
  "a message that is no JSON": message('{}]["x",{}'),
  "a message that is JSON of a list": message("[]"),
  "a message that is JSON of too many levels": message(
    `{"x":${"[".repeat(200)}${"]".repeat(200)}}`,
  ),
  "a hidden question without content": {
    ...{ type: "question.saved", world: "demo", room: "a" },
    ...{ question: "q", wasVisible: true, hidden: {} },
  },
  "a hidden poll whose options are no list": {
    ...{ type: "poll.saved", world: "demo", room: "a", poll: "p" },
    ...{ wasPublic: true, hidden: { options: 1 } },
  },
  "a message without a topic": { type: "live", data: {} },
  "a message that is too deep": {
    ...{ type: "live", topic: "presence" },
    data: JSON.parse("[".repeat(200) + "]".repeat(200)) as unknown,
  },
};

/** Events that a newer Foyer may send, and ones that processes notice themselves. */
export const foreignEvents: readonly object[] = [
  { type: "world.painted", world: "demo" },
  { type: "__proto__" },
  { type: "events.missed" },
  { type: "process.began", process: "x" },
];
