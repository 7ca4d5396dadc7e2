import type { Commands } from "../../schemas/live/index.js";
import type { Module } from "../commands.js";

const later = (): never => {
  throw new Error();
};

const module = "poll";

export const polls: Module<Extract<keyof Commands, `poll.${string}`>> = {
  "poll.create": {
    inRoom: "poll.manage",
    module,
    active: true,
    handler: later,
  },
  "poll.update": {
    inRoom: "poll.manage",
    module,
    active: true,
    handler: later,
  },
  "poll.delete": {
    inRoom: "poll.manage",
    module,
    active: true,
    handler: later,
  },
  "poll.vote": { inRoom: "poll.vote", module, active: true, handler: later },
  "poll.list": { inRoom: "poll.read", module, active: true, handler: later },
  "poll.pin": { inRoom: "poll.manage", handler: later },
  "poll.unpin": { inRoom: "poll.manage", handler: later },
};
