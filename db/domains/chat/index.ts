import { USERS } from "../../contract/author.js";
import type { ChatStore, NewMark } from "../../contract/chat.js";
import { frozen } from "../../rules/versions.js";
import { type Bound, domain } from "../domain.js";
import { chatErasures } from "./chat-erasing.js";
import { markRead } from "./mark-writes.js";
import { memberWrites } from "./member-writes.js";
import { messageWrites } from "./message-writes.js";
import { chatReads } from "./reads.js";
import { indexMessages } from "./search.js";

export const chat = domain({
  reads: chatReads,
  writes: (sql, log, own) => ({
    ...messageWrites(sql, log, own),
    ...memberWrites(sql, log, own),
    ...chatErasures(sql, log),
    index: (world: string, channel: string) => indexMessages(sql, world, channel),
    mark: (world: string, marks: readonly NewMark[]) => markRead(sql, log, world, marks),
  }),
  parameters: {
    send: 3,
    replace: 4,
    join: 3,
    leave: 4,
    react: 4,
    direct: 4,
    index: 2,
    mark: 2,
    empty: 3,
    expire: 2,
  },
});

/** The store of chat. Contents travel to a writer as JSON, which is copied faster than an object. */
export const chatStore = ({ replace, index, ...bound }: Bound<typeof chat>): ChatStore => ({
  ...bound,
  send(world, id, { content, ...rest }, by) {
    const draft = { content: JSON.stringify(content), ...rest };
    if (draft.replaces == null) return bound.send(world, id, draft, by);
    return replace(world, id, draft, content.type === "deleted", by);
  },
  async search(world, id, selection) {
    for (;;) {
      const { rows } = await bound.search(world, id, selection);
      if (rows) return rows;
      await index(world, id);
    }
  },
  react: async (...args) => frozen(await bound.react(...args)),
  async direct(...args) {
    const opened = await bound.direct(...args);
    return { ...opened, channel: frozen(opened.channel) };
  },
  async mark(marks) {
    const byWorld = new Map<string, NewMark[]>();
    for (const mark of marks) {
      const own = byWorld.get(mark.world);
      if (own) own.push(mark);
      else byWorld.set(mark.world, [mark]);
    }
    await Promise.all([...byWorld].map(([world, own]) => bound.mark(world, own, USERS)));
  },
});
