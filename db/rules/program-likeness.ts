import type { Session, Speaker } from "../../schemas/program/program.js";

// No format but Foyer's own says all that a program has: some have no seconds, most no blanks
// around a text. What differs only in that is no change, so an export imports as unchanged.

type Link = Session["links"][number];

/** The fields of a document that have texts, times, tags or links. */
type Fields = Partial<Session & Speaker>;

/** How the format of a document limits what it says. */
export interface Limits {
  /** Whether a session has at most one link, without a title. */
  readonly hasOneLink?: boolean;
}

/** Control characters, which calendars and XML do not have. */
const CONTROLS = /[^\P{Cc}\t\n]/gu;

const plain = (text: string): string => text.replace(/\r\n?/g, "\n").replace(CONTROLS, "").trim();

/** The least difference of times, in milliseconds. */
const SECOND = 1000;

const isSoon = (one: string | null, other: string | null): boolean =>
  one === null || other === null
    ? one === other
    : Math.abs(Date.parse(one) - Date.parse(other)) < SECOND;

/** A link as schedules have it, whose links have titles. */
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
 * The fields of a document, with the present value of each whose difference its format cannot say.
 * @param before what the world has.
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
