// Finds names that probably mean the same thing, such as "Main Hal" and "Main Hall". The cost grows
// with the number of names, not with the number of pairs.

/** Maximum number of suggestions for a name. */
const MOST = 3;

/** Longer names are truncated before the comparison. */
const LONGEST = 60;

const wordsOf = (name: string): string[] =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/ß/g, "ss")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** Words that distinguish similar names: "Room 1" is not "Room 2", and "Hall A" is not "Hall B". */
const isMark = (word: string): boolean => word.length <= 2 || /\p{N}/u.test(word);

/** Returns the keys of a name. Names that share a key are similar. */
function* keysOf(name: string): Generator<string> {
  const words = wordsOf(name);
  const marks = words.filter(isMark).sort().join(" ");
  const long = words.filter((word) => !isMark(word)).sort();
  yield `w ${[...long].join(" ")} ${marks}`;
  // The first and the last word, of at least two long words, without the words between them.
  const [first, last] = [words[0], words.at(-1)];
  if (words.length > 1 && !isMark(first!) && !isMark(last!)) {
    yield `n ${[first!, last!].sort().join(" ")}`;
  }
  const text = long.join("").slice(0, LONGEST);
  if (text.length < 4) return;
  // The variants with one letter left out: names that share a variant differ in at most about two
  // letters.
  yield `d ${text} ${marks}`;
  for (let i = 0; i < text.length; i++) {
    yield `d ${text.slice(0, i)}${text.slice(i + 1)} ${marks}`;
  }
}

/** Returns a function that finds up to three known items whose names are similar to a name. */
export function nearNames<T extends { readonly name: string }>(
  known: readonly T[],
): (name: string) => T[] {
  const byKey = new Map<string, T[]>();
  for (const one of known) {
    for (const key of keysOf(one.name)) {
      const list = byKey.get(key);
      if (!list) byKey.set(key, [one]);
      else if (list.length < MOST && !list.includes(one)) list.push(one);
    }
  }
  return (name) => {
    const found = new Set<T>();
    for (const key of keysOf(name)) {
      for (const one of byKey.get(key) ?? []) {
        found.add(one);
        if (found.size === MOST) return [...found];
      }
    }
    return [...found];
  };
}
