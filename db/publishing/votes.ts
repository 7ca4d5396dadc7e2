import type { Poll } from "../polls.js";
import type { Question } from "../questions.js";
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
  update: (
    { before, after, unpinned },
    world,
    room,
    id,
    _changes,
    _user,
    by,
  ) => {
    const saved = { type: "question.saved" as const, world, room, by };
    const wasVisible = isVisible(before);
    const isHidden = wasVisible && !isVisible(after);
    return [
      {
        ...saved,
        question: id,
        wasVisible,
        ...(isHidden && { hidden: { ...after, content: before.content } }),
      },
      ...[unpinned ?? []]
        .flat()
        .map((question) => ({ ...saved, question, wasVisible: false })),
    ];
  },
  delete: (before, world, room, question, by) => ({
    type: "question.deleted",
    world,
    room,
    question,
    wasVisible: isVisible(before),
    by,
  }),
  vote: (_, world, room, question, user, _vote, _all, by) => ({
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
    { before, after, unpinned, delivery },
    world,
    room,
    id,
    _changes,
    _user,
    by,
  ) => {
    const saved = { type: "poll.saved" as const, world, room, by };
    const wasPublic = isPublic(before);
    const isHidden = wasPublic && !isPublic(after);
    const { state, is_pinned } = after;
    const hidden = { ...before, state, is_pinned };
    return [
      { ...saved, poll: id, wasPublic, ...(isHidden && { hidden }) },
      ...[unpinned ?? []]
        .flat()
        .map((poll) => ({ ...saved, poll, wasPublic: false })),
      ...delivered({ world, channel: room, by }, delivery ? [delivery] : []),
    ];
  },
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

const isVisible = ({ state }: Question): boolean => state === "visible";

const isPublic = ({ state }: Poll): boolean =>
  state === "open" || state === "closed";
