import type { Module } from "../commands.js";
import { chatDenied } from "../problems.js";

/** What people have read, and direct channels. */
export const reading: Module<"chat.mark_read" | "chat.direct.create"> = {
  "chat.mark_read": {
    inChannel: "any",
    direct: "anybody",
    handler: async () => ({}),
  },
  "chat.direct.create": {
    requires: "chat.direct",
    async handler() {
      throw chatDenied();
    },
  },
};
