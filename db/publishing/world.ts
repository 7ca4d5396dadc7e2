import { isVisible } from "../../schemas/plain/announcements.js";
import type { Store } from "../store.js";
import type { EventsOf } from "./published.js";

export const worldEvents: EventsOf<Store["worlds"]> = {
  create: ({ value: { id } }) => ({ type: "world.created", world: id }),
  import: ({ value: { id } }, _, options) =>
    options?.dryRun ? undefined : { type: "world.created", world: id },
  update: (_, world, _changes, _versions, by) => ({
    type: "world.updated",
    world,
    by,
  }),
  configure: (_, world, _changes, _versions, by) => ({
    type: "world.updated",
    world,
    by,
  }),
  delete: (_, world) => ({ type: "world.deleted", world }),
};

export const roomEvents: EventsOf<Store["rooms"]> = {
  create: ({ value: { id } }, world, _draft, by) => ({
    type: "room.created",
    world,
    room: id,
    by,
  }),
  open: ({ value: { id } }, world, _draft, by) => ({
    type: "room.opened",
    world,
    room: id,
    by,
  }),
  update: (_, world, room, _changes, _versions, by) => ({
    type: "room.updated",
    world,
    room,
    by,
  }),
  schedule: (_, world, room, _data, by) => ({
    type: "room.scheduled",
    world,
    room,
    by,
  }),
  reorder: (_, world, _ids, by) => ({ type: "rooms.reordered", world, by }),
  delete: (rules, world, room, _versions, by) => ({
    type: "room.deleted",
    world,
    room,
    rules,
    by,
  }),
};

export const userEvents: EventsOf<Store["users"]> = {
  enter: ({ id }, world, _visitor, by) => ({
    type: "user.entered",
    world,
    user: id,
    by,
  }),
  update: (_, world, user, _changes, by) => ({
    type: "user.updated",
    world,
    user,
    by,
  }),
  moderate: (_, world, user, _state, by) => ({
    type: "user.moderated",
    world,
    user,
    by,
  }),
  block: (_, world, user, _other, by) => ({
    type: "user.blocked",
    world,
    user,
    by,
  }),
  unblock: (_, world, user, _other, by) => ({
    type: "user.unblocked",
    world,
    user,
    by,
  }),
  erase: (user, world, _name, by) => ({
    type: "user.erased",
    world,
    user,
    by,
  }),
};

export const announcementEvents: EventsOf<Store["announcements"]> = {
  create: ({ id }, world, _draft, by) => ({
    type: "announcement.created",
    world,
    announcement: id,
    wasVisible: false,
    by,
  }),
  update: ({ before, after }, world, announcement, _changes, by) => {
    const wasVisible = isVisible(before);
    const isHidden = wasVisible && !isVisible(after);
    return {
      type: "announcement.updated",
      world,
      announcement,
      wasVisible,
      ...(isHidden && { hidden: { ...after, text: before.text } }),
      by,
    };
  },
};

export const fileEvents: EventsOf<Store["files"]> = {
  add: (_, world) => ({ type: "file.added", world }),
  delete: (_, world) => ({ type: "file.deleted", world }),
};
