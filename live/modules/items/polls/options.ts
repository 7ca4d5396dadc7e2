import type {
  OptionDraft,
  PollChanges,
} from "../../../../db/contract/polls.js";
import { invalidPayload } from "../../../rules/problems.js";

// The options of a poll, as clients send them.

/** An option in a payload. */
interface SentOption {
  id?: unknown;
  content?: string | undefined;
  /** A number or its decimal text. */
  order?: number | string | undefined;
}

/** The largest distance of an order from 0: what 32 bits hold. */
const MAX_ORDER = 2 ** 31;

/** The texts of options by the paths of their fields. */
export const optionTexts = (
  options: readonly SentOption[],
): Record<string, string | undefined> =>
  Object.fromEntries(
    options.map(({ content }, i) => [`options.${i}.content`, content]),
  );

/** The options of a new poll. @throws {LiveError} */
export const newOptions = (
  options: readonly (SentOption & { content: string })[],
): OptionDraft[] =>
  options.map(({ content, order }, i) => ({
    content,
    order: orderOf(order, i),
  }));

/** The options that a poll has from now on. @throws {LiveError} */
export const changedOptions = (
  options: readonly SentOption[],
): NonNullable<PollChanges["options"]> =>
  options.map(({ id, content, order }, i) => ({
    id: optionIdOf(id),
    content,
    order: orderOf(order, i),
  }));

/** @returns undefined for a new option. */
function optionIdOf(id: unknown): string | undefined {
  if (id === undefined || id === null || id === "") return undefined;
  if (typeof id === "string") return id;
  throw invalidPayload({ options: ["The poll has no such option."] });
}

function orderOf(value: SentOption["order"], i: number): number | undefined {
  if (value === undefined) return undefined;
  const order = Number(value);
  if (order >= -MAX_ORDER && order < MAX_ORDER) return order;
  const fault = `Must be a whole number from ${-MAX_ORDER} to ${MAX_ORDER - 1}.`;
  throw invalidPayload({ [`options.${i}.order`]: [fault] });
}
