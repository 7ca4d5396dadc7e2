import type { Shelf } from "../lib/storage.js";
import { ChatStore } from "./chat.js";
import type { Session } from "./session.js";

const known = new WeakMap<Session, Map<string, ChatStore>>();

/**
 * The chat of a channel: the same for as long as the session lasts, so that sending goes on
 * when the user opens another page.
 * @param maxBytes the largest file that the server takes.
 */
export function chatOf(
  session: Session,
  id: string,
  { shelf, maxBytes }: { shelf: Shelf; maxBytes: number },
): ChatStore {
  const chats = known.get(session) ?? new Map<string, ChatStore>();
  known.set(session, chats);
  const chat = chats.get(id) ?? new ChatStore(partsOf(), id);
  chats.set(id, chat);
  return chat;

  function partsOf() {
    const { api, live, people, world } = session;
    const upload = (file: File) => api.upload(file);
    return { live, people, shelf, world, upload, maxBytes };
  }
}
