import type { Session, SessionChanges, Speaker } from "../../schemas/program/program.js";

// Only Foyer's own format preserves everything in a program: some formats drop seconds, and most
// formats drop leading and trailing whitespace. These differences are ignored, so that re-importing
// an export changes nothing.

type Link = Session["links"][number];

/** The document fields that contain text, times, tags or links. */
type Fields = Partial<Omit<Session, "overrun"> & Speaker> & Pick<SessionChanges, "overrun">;

/** The limits of a document's format. */
export interface Limits {
  /** Whether a session can have only one link, without a title. */
  readonly hasOneLink?: boolean;
}

/** Control characters, which calendars and XML cannot contain. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

const plain = (text: string): string => text.replace(/\r\n?/g, "\n").replace(CONTROLS, "").trim();

/** The smallest significant difference between times, in milliseconds. */
const SECOND = 1000;

const isSoon = (one: string | null, other: string | null): boolean =>
  one === null || other === null
    ? one === other
    : Math.abs(Date.parse(one) - Date.parse(other)) < SECOND;

/** Normalizes a link. Schedules require titles, so they use the address as the title of an untitled link. */
const linkOf = ({ title, url }: Link): string => {
  const [text, address] = [plain(title), url.trim()];
  return `${text === address ? "" : text} ${address}`;
};

const areSame = <T>(one: readonly T[], other: readonly T[], textOf: (item: T) => string): boolean =>
  one.length === other.length && one.every((item, i) => textOf(item) === textOf(other[i]!));

function sameLinks(
  before: readonly Link[],
  after: readonly Link[],
  { hasOneLink = false }: Limits,
): boolean {
  if (areSame(before, after, linkOf)) return true;
  const [only, ...more] = after;
  if (!hasOneLink || more.length > 0 || only?.title !== "") return false;
  return before.some(({ url }) => url.trim() === only.url);
}

const tagsIn = (tags: readonly string[]): string[] => [...new Set(tags.map(plain))].filter(Boolean);

/**
 * Returns a document's fields, keeping the stored value wherever the format cannot express the
 * difference.
 * @param before the world's current values.
 */
export function likeStored<F extends Fields>(before: Fields, after: F, limits: Limits = {}): F {
  const isSame = (name: keyof Fields): boolean => {
    const [present, given] = [before[name], after[name]];
    if (present === undefined) return false;
    switch (name) {
      case "starts_at":
      case "ends_at":
        return isSoon(before[name]!, after[name] ?? null);
      case "tags":
        return areSame(tagsIn(before.tags!), tagsIn(after.tags!), (tag) => tag);
      case "links":
        return sameLinks(before.links!, after.links!, limits);
      default:
        return (
          typeof present === "string" &&
          typeof given === "string" &&
          plain(present) === plain(given)
        );
    }
  };
  const kept = Object.entries(after).map(([name, given]) => {
    const field = name as keyof Fields;
    return [name, isSame(field) ? before[field] : given];
  });
  return Object.fromEntries(kept) as F;
}
