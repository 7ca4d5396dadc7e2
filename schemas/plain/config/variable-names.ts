/** Prefixes of variables intended for Foyer. */
const OWN_PREFIX = /^(?:LIVE|S3|UPLOAD|METRICS|DATABASE)_/;

/** Whether Kubernetes injected a variable for a Service whose name happens to match a prefix. */
const isServiceLink = (name: string, value: string) =>
  /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_[A-Z]+(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
  (name.endsWith("_PORT") && /^\w+:\/\//.test(value));

/**
 * Looks for variables that are set and resemble Foyer's variables, but that Foyer does not read.
 * @param known the valid names.
 * @param warn receives a line about names that may belong to another program.
 * @returns the problem with the first name that is probably a mistake; undefined if there is none.
 */
export function checkNames(
  env: NodeJS.ProcessEnv,
  known: readonly string[],
  warn: (line: string) => void,
): string | undefined {
  // Windows variables are case-insensitive, so a known name is read in any casing.
  const isKnown = (name: string) =>
    known.includes(process.platform === "win32" ? name.toUpperCase() : name);
  const prefixed: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value || isKnown(name)) continue;
    if (name.startsWith("FOYER_")) {
      const rest = name.slice("FOYER_".length);
      const meant = isKnown(rest) ? rest : closestName(rest, known);
      prefixed.push(meant ? `${name} (${meant}?)` : name);
      continue;
    }
    if (env.KUBERNETES_SERVICE_HOST && isServiceLink(name, value)) continue;
    const meant = closestName(name, known);
    const [prefix] = OWN_PREFIX.exec(name) ?? [];
    if (meant === undefined && prefix === undefined) continue;
    if (meant !== undefined) {
      return `${name}: Unknown variable; did you mean ${meant}?`;
    }
    const own = known.filter((it) => it.startsWith(prefix!)).join(", ");
    return `${name}: Unknown variable; those that begin with ${prefix} are ${own}.`;
  }
  if (prefixed.length > 0) {
    warn(`No variable begins with FOYER_, so these are ignored: ${prefixed.join(", ")}.`);
  }
  return undefined;
}

/** Names of at least this length may have two typos; shorter names may have only one typo. */
const LONG = 8;

/**
 * Returns the valid name that a misspelled name probably stands for.
 * @param known the valid names.
 * @returns undefined if the name resembles no valid name.
 */
export function closestName(name: string, known: readonly string[]): string | undefined {
  const letters = lettersOf(name);
  const [nearest] = known
    .map((meant) => ({ meant, typos: typosIn(letters, lettersOf(meant)) }))
    .filter(({ meant, typos }) => typos <= (meant.length < LONG ? 1 : 2))
    .sort((a, b) => a.typos - b.typos);
  return nearest?.meant;
}

const lettersOf = (name: string) => name.replaceAll("_", "").toUpperCase();

/**
 * Counts letters that are missing, added, replaced, or swapped with the next letter ("optimal
 * string alignment" distance).
 */
function typosIn(text: string, meant: string): number {
  // More typos than any name may have.
  if (Math.abs(text.length - meant.length) > 2) return Infinity;
  // Each row holds the distances between a prefix of `text` and every prefix of `meant`. Three rows
  // are reused, because on startup every variable is compared with every name.
  let [last, above, row] = [[], Array.from(meant + " ", (_, j) => j), []] as [
    number[],
    number[],
    number[],
  ];
  for (let i = 1; i <= text.length; i++) {
    let least = (row[0] = i);
    for (let j = 1; j <= meant.length; j++) {
      const isSame = text[i - 1] === meant[j - 1];
      const isSwapped = text[i - 1] === meant[j - 2] && text[i - 2] === meant[j - 1];
      let typos = above[j - 1]! + (isSame ? 0 : 1);
      typos = Math.min(typos, above[j]! + 1, row[j - 1]! + 1);
      if (isSwapped) typos = Math.min(typos, last[j - 2]! + 1);
      row[j] = typos;
      least = Math.min(least, typos);
    }
    // Most names already differ at the beginning.
    if (least > 2) return Infinity;
    [last, above, row] = [above, row, last];
  }
  return above[meant.length]!;
}
