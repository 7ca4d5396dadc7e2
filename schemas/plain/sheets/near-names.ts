// Finds names that are probably meant to be the same, such as "Main Hal" and "Main Hall". The work
// grows with the number of names, not with the number of pairs.

/** Maximum number of suggestions for a name. */
const MOST = 3;

/** Longer names are compared by their beginnings. */
const LONGEST = 60;

const wordsOf = (name: string): string[] =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/ß/g, "ss")
    .split(/[^\p{L}\p{N}]+/u)
    .filter(Boolean);

/** Words that tell similar names apart: "Room 1" is not "Room 2", nor "Hall A" "Hall B". */
const isMark = (word: string): boolean => word.length <= 2 || /\p{N}/u.test(word);

/** Returns the keys of a name. Names that share one are near. */
function* keysOf(name: string): Generator<string> {
  const words = wordsOf(name);
  const marks = words.filter(isMark).sort().join(" ");
  const long = words.filter((word) => !isMark(word)).sort();
  yield `w ${[...long].join(" ")} ${marks}`;
  // The first and the last of at least two long words, without what is between them.
  const [first, last] = [words[0], words.at(-1)];
  if (words.length > 1 && !isMark(first!) && !isMark(last!)) {
    yield `n ${[first!, last!].sort().join(" ")}`;
  }
  const text = long.join("").slice(0, LONGEST);
  if (text.length < 4) return;
  // With a letter left out: two names whose sets meet differ in about two letters.
  yield `d ${text} ${marks}`;
  for (let i = 0; i < text.length; i++) {
    yield `d ${text.slice(0, i)}${text.slice(i + 1)} ${marks}`;
  }
}

/** Returns a function that finds the known things whose names are near another name, at most three. */
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
