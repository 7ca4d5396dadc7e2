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

/** The texts of options by the paths of their fields. */
export const optionTexts = (
  options: readonly SentOption[],
): Record<string, string | undefined> =>
  Object.fromEntries(
    options.map(({ content }, i) => [`options.${i}.content`, content]),
  );

/** The options of a new poll. */
export const newOptions = (
  options: readonly (SentOption & { content: string })[],
): OptionDraft[] =>
  options.map(({ content, order }) => ({
    content,
    order: orderOf(order),
  }));

/** The options that a poll has from now on. @throws {LiveError} */
export const changedOptions = (
  options: readonly SentOption[],
): NonNullable<PollChanges["options"]> =>
  options.map(({ id, content, order }) => ({
    id: optionIdOf(id),
    content,
    order: orderOf(order),
  }));

/** @returns undefined for a new option. */
function optionIdOf(id: unknown): string | undefined {
  if (id === undefined || id === null || id === "") return undefined;
  if (typeof id === "string") return id;
  throw invalidPayload({ options: ["The poll has no such option."] });
}

const orderOf = (value: SentOption["order"]): number | undefined =>
  value === undefined ? undefined : Number(value);
