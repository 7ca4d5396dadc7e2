/** Names that begin so are meant for Foyer. */
const OWN_PREFIX = /^(?:LIVE|S3|UPLOAD|METRICS|DATABASE)_/;

/**
 * Whether Kubernetes sets a variable in every container, for a Service that happens
 * to be called like the beginning of the name.
 */
const isServiceLink = (name: string, value: string) =>
  /_SERVICE_(?:HOST|PORT(?:_\w+)?)$|_PORT_\d+_[A-Z]+(?:_(?:PROTO|PORT|ADDR))?$/.test(name) ||
  (name.endsWith("_PORT") && /^\w+:\/\//.test(value));

/**
 * Looks for variables that are set, that nothing reads, and that look like ours.
 * @param known the names that there are.
 * @param warn gets a line about names that may belong to another program.
 * @returns the problem of the first of the others.
 */
export function checkNames(
  env: NodeJS.ProcessEnv,
  known: readonly string[],
  warn: (line: string) => void,
): string | undefined {
  // Variables of Windows ignore case, so there these names have been read.
  const isKnown = (name: string) =>
    known.includes(process.platform === "win32" ? name.toUpperCase() : name);
  const prefixed: string[] = [];
  for (const [name, value] of Object.entries(env)) {
    if (!value || isKnown(name)) continue;
    if (name.startsWith("FOYER_")) {
      const rest = name.slice("FOYER_".length);
      const meant = isKnown(rest) ? rest : meantBy(rest, known);
      prefixed.push(meant ? `${name} (${meant}?)` : name);
      continue;
    }
    if (env.KUBERNETES_SERVICE_HOST && isServiceLink(name, value)) continue;
    const meant = meantBy(name, known);
    const [prefix] = OWN_PREFIX.exec(name) ?? [];
    if (meant === undefined && prefix === undefined) continue;
    if (meant !== undefined) {
      return `${name}: There is no such variable; did you mean ${meant}?`;
    }
    const own = known.filter((it) => it.startsWith(prefix!)).join(", ");
    return `${name}: There is no such variable; those that begin with ${prefix} are ${own}.`;
  }
  if (prefixed.length > 0) {
    warn(`No variable begins with FOYER_, so these have no effect: ${prefixed.join(", ")}.`);
  }
  return undefined;
}

/** Names of this length or more may differ in two letters, others in one. */
const LONG = 8;

/**
 * The name that a misspelled one probably stands for.
 * @param known the names that there are.
 * @returns undefined if it resembles none.
 */
export function meantBy(name: string, known: readonly string[]): string | undefined {
  const letters = lettersOf(name);
  const [nearest] = known
    .map((meant) => ({ meant, typos: typosIn(letters, lettersOf(meant)) }))
    .filter(({ meant, typos }) => typos <= (meant.length < LONG ? 1 : 2))
    .sort((a, b) => a.typos - b.typos);
  return nearest?.meant;
}

const lettersOf = (name: string) => name.replaceAll("_", "").toUpperCase();

/**
 * How many letters are missing, added, replaced, or swapped with the next one
 * ("optimal string alignment").
 */
function typosIn(text: string, meant: string): number {
  // More than any name may have.
  if (Math.abs(text.length - meant.length) > 2) return Infinity;
  // A row has the distance of so many letters to each beginning of `meant`. Three of them are
  // used again and again, as a start compares all variables with all names.
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
    // Most names differ at once.
    if (least > 2) return Infinity;
    [last, above, row] = [above, row, last];
  }
  return above[meant.length]!;
}
