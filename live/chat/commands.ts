import type { CommandName } from "../../schemas/live/index.js";
import type { Module } from "../commands.js";
import { chatDenied } from "../problems.js";
import { reading } from "./reading.js";

const handler = async () => {
  throw chatDenied();
};

/** Everything about chat. */
export const chat: Module<Extract<CommandName, `chat.${string}`>> = {
  "chat.subscribe": { inChannel: "chat.read", direct: "members", handler },
  "chat.unsubscribe": { inChannel: "any", direct: "anybody", handler },
  "chat.join": { inChannel: "chat.join", direct: "nobody", handler },
  "chat.leave": { inChannel: "any", direct: "members", handler },
  "chat.send": { inChannel: "chat.send", direct: "members", handler },
  "chat.fetch": { inChannel: "chat.read", direct: "members", handler },
  "chat.react": { inChannel: "chat.send", direct: "members", handler },
  ...reading,
};
