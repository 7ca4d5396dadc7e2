import type { Poll } from "../polls.js";
import type { Store } from "../store.js";
import { delivered } from "./chat.js";
import type { EventsOf } from "./published.js";

export const questionEvents: EventsOf<Store["questions"]> = {
  ask: ({ id }, world, room, _draft, by) => ({
    type: "question.saved",
    world,
    room,
    question: id,
    wasVisible: false,
    by,
  }),
  update: ({ before, unpinned }, world, room, id, _changes, _user, by) =>
    [id, unpinned ?? []].flat().map((question) => ({
      type: "question.saved" as const,
      world,
      room,
      question,
      wasVisible: question === id && before.state === "visible",
      by,
    })),
  delete: (before, world, room, question, by) => ({
    type: "question.deleted",
    world,
    room,
    question,
    wasVisible: before.state === "visible",
    by,
  }),
  vote: (_, world, room, question, user, _vote, by) => ({
    type: "question.voted",
    world,
    room,
    question,
    user,
    by,
  }),
  pin: (_, world, room, question, _user, by) => ({
    type: "question.pinned",
    world,
    room,
    question,
    by,
  }),
};

export const pollEvents: EventsOf<Store["polls"]> = {
  create: ({ id }, world, room, _draft, by) => ({
    type: "poll.saved",
    world,
    room,
    poll: id,
    wasPublic: false,
    by,
  }),
  update: (
    { before, unpinned, delivery },
    world,
    room,
    id,
    _changes,
    _user,
    by,
  ) => [
    ...[id, unpinned ?? []].flat().map((poll) => ({
      type: "poll.saved" as const,
      world,
      room,
      poll,
      wasPublic: poll === id && isPublic(before),
      by,
    })),
    ...delivered({ world, channel: room, by }, delivery ? [delivery] : []),
  ],
  delete: (before, world, room, poll, by) => ({
    type: "poll.deleted",
    world,
    room,
    poll,
    wasPublic: isPublic(before),
    by,
  }),
  vote: (_, world, room, poll, user, _options, by) => ({
    type: "poll.voted",
    world,
    room,
    poll,
    user,
    by,
  }),
  pin: (_, world, room, poll, by) => ({
    type: "poll.pinned",
    world,
    room,
    poll,
    by,
  }),
};

const isPublic = ({ state }: Poll): boolean =>
  state === "open" || state === "closed";
