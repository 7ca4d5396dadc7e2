import { partsIn } from "./chat-content.js";

// The server knows mentions as `@` and the id of a user. People write and see `@` and a name.

/** A name in a text that stands for a user. */
export interface Mentioned {
  /** The name after the `@`, unique in a text. */
  readonly label: string;
  readonly id: string;
}

/** The longest name in a text. */
const MAX_LABEL = 40;

/** Characters that are invisible, or change the direction of the following text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}@]+/gu;

/** The name of a user in a text: one line, and unique in the text. */
export function labelFor(
  { id, name }: { id: string; name: string },
  others: readonly Mentioned[],
): string {
  const known = others.find((it) => it.id === id);
  if (known) return known.label;
  const plain =
    [...name.replace(UNSEEN, " ").trim().replace(/\s+/g, " ")].slice(0, MAX_LABEL).join("") || "?";
  let label = plain;
  for (let n = 2; others.some((it) => it.label === label); n++) {
    label = `${plain} (${n})`;
  }
  return label;
}

/** The text as the server stores it, with ids instead of names. */
export function withIds(text: string, mentions: readonly Mentioned[]): string {
  // "@Ada Lovelace" is no mention of Ada.
  const longest = [...mentions].sort((a, b) => b.label.length - a.label.length);
  let stored = "";
  for (let from = 0; ;) {
    const at = text.indexOf("@", from);
    if (at < 0) return stored + text.slice(from);
    const found = longest.find(({ label }) => isAt(text, at + 1, label));
    stored += `${text.slice(from, at)}@${found?.id ?? ""}`;
    from = at + 1 + (found?.label.length ?? 0);
  }
}

/** Whether a label stands there, and is not the beginning of another word. */
const isAt = (text: string, index: number, label: string): boolean =>
  text.startsWith(label, index) && !/^[\p{L}\p{N}_]/u.test(text.slice(index + label.length));

/**
 * A stored text as users see and edit it.
 * @param nameOf gives the name of a user.
 */
export function withNames(
  stored: string,
  nameOf: (id: string) => string,
): { text: string; mentions: Mentioned[] } {
  const mentions: Mentioned[] = [];
  const text = partsIn(stored)
    .map((part) => {
      if ("text" in part) return part.text;
      const id = part.mention;
      const label = labelFor({ id, name: nameOf(id) }, mentions);
      if (!mentions.some((it) => it.id === id)) mentions.push({ label, id });
      return `@${label}`;
    })
    .join("");
  return { text, mentions };
}

/** The typed text behind an `@`. */
export interface MentionQuery {
  /** Where the `@` is. */
  readonly from: number;
  readonly term: string;
}

/** The longest term that is looked for. */
const MAX_TERM = 30;

/** The name that is being typed before the caret; undefined if none is. */
export function queryAt(text: string, caret: number): MentionQuery | undefined {
  const from = text.lastIndexOf("@", caret - 1);
  if (from < 0 || caret - from > MAX_TERM) return undefined;
  if (from > 0 && !/[\s(]/.test(text[from - 1]!)) return undefined;
  const term = text.slice(from + 1, caret);
  // A name may have a few words, but the text after one is not a name.
  return /^\s|\n|\s\s/.test(term) || term.split(" ").length > 3 ? undefined : { from, term };
}
