import type { Commands } from "../../schemas/live/index.js";
import type { Module } from "../commands.js";

const later = (): never => {
  throw new Error();
};

const module = "question";

export const questions: Module<Extract<keyof Commands, `question.${string}`>> =
  {
    "question.ask": {
      inRoom: "question.ask",
      module,
      active: true,
      handler: later,
    },
    "question.update": {
      inRoom: "question.moderate",
      module,
      active: true,
      handler: later,
    },
    "question.delete": {
      inRoom: "question.moderate",
      module,
      active: true,
      handler: later,
    },
    "question.vote": {
      inRoom: "question.vote",
      module,
      active: true,
      handler: later,
    },
    "question.list": { inRoom: "question.read", handler: later },
    "question.pin": { inRoom: "question.moderate", handler: later },
    "question.unpin": { inRoom: "question.moderate", handler: later },
  };
