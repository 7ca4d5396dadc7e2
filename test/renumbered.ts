import type { WorldCopy } from "../schemas/documents/world-document.js";

/** Gives the place of an event among those of a document by its id; from 1. */
export function placesIn({ chat }: WorldCopy): (id: number) => number {
  const ids = chat!.events.map(({ id }) => id);
  return (id) => ids.filter((other) => other <= id).length;
}

const IDS = new Set(["id", "replaces", "event", "pointer", "listed"]);

/** A document whose events have their places as ids: an import gives them others. */
export function renumbered(document: WorldCopy): WorldCopy {
  const placeOf = placesIn(document);
  const chat = JSON.stringify(document.chat, (key, value: unknown) =>
    IDS.has(key) && typeof value === "number" ? placeOf(value) : value,
  );
  return { ...document, chat: JSON.parse(chat) as WorldCopy["chat"] };
}
