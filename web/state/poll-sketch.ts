import type { ListedPoll, PollChanges } from "../../client/index.js";
import {
  hasOptions,
  MAX_LABEL,
  type PollSettings,
  type PollType,
  RANKED,
  settingFault,
} from "../../schemas/plain/polls.js";

/** Minimum and maximum number of options in a poll. */
export const MIN_OPTIONS = 2;
export const MAX_OPTIONS = 100;

/** Maximum length of a poll's question and of each option, in characters. The server has the same default. */
export const MAX_TEXT = 10_000;

/** The kinds of polls that people can create. A choice may allow several options. */
export const SKETCH_KINDS = ["choice", "words", "text", "scale", "rank", "quiz"] as const;
export type SketchKind = (typeof SKETCH_KINDS)[number];

/** A draft of a poll. */
export interface Sketch {
  readonly kind: SketchKind;
  readonly content: string;
  /** An existing option keeps its id, and therefore its votes. */
  readonly options: readonly {
    readonly id?: string;
    readonly content: string;
    /** Whether the option of a quiz is correct. */
    readonly correct?: boolean;
  }[];
  /** Whether voters may choose several options. */
  readonly isMulti: boolean;
  /** The settings of each kind that has any. An empty number field is undefined. */
  readonly settings: Readonly<Partial<Record<SketchKind, PollSettings>>>;
}

const freshSettings = {
  words: { answers: 3, length: 25 },
  text: { answers: 1, length: 250, hold: false },
  scale: { min: 1, max: 5 },
  quiz: { seconds: 30 },
} satisfies Sketch["settings"];

export const emptySketch: Sketch = {
  kind: "choice",
  content: "",
  options: [{ content: "" }, { content: "" }],
  isMulti: false,
  settings: freshSettings,
};

/** Returns a sketch for editing a poll. */
export function sketchOf({ content, options, poll_type, settings }: ListedPoll): Sketch {
  const kind = poll_type === undefined || poll_type === "multi" ? "choice" : poll_type;
  const texts = options.map(({ id, content, correct }) => ({
    ...{ id, content },
    ...(correct && { correct }),
  }));
  return {
    ...{ kind, content },
    isMulti: poll_type === "multi",
    options: texts.length > 0 ? texts : emptySketch.options,
    settings: { ...freshSettings, ...(settings && { [kind]: settings }) },
  };
}

/** Returns a sketch for a new poll, copied from another poll. */
export function copyOf(poll: ListedPoll): Sketch {
  const sketch = sketchOf(poll);
  return { ...sketch, options: sketch.options.map(({ id: _, ...option }) => option) };
}

/** Parses a stored sketch. Returns undefined if the sketch is invalid. */
export function readSketch(value: unknown): Sketch | undefined {
  const { kind, content, options, isMulti, settings } = (value ?? {}) as Partial<
    Record<keyof Sketch, unknown>
  >;
  if (typeof content !== "string" || !Array.isArray(options)) return undefined;
  const texts = options
    .filter((option: unknown): option is { content: string; correct?: unknown } => {
      return typeof (option as { content?: unknown } | null)?.content === "string";
    })
    .slice(0, MAX_OPTIONS);
  if (texts.length < MIN_OPTIONS) return undefined;
  const stored = typeof settings === "object" ? (settings as Sketch["settings"]) : undefined;
  return {
    kind: SKETCH_KINDS.find((it) => it === kind) ?? "choice",
    content,
    options: texts.map(({ content, correct }) => ({
      content,
      ...(correct === true && { correct }),
    })),
    isMulti: isMulti === true,
    settings: { ...freshSettings, ...stored },
  };
}

/** Why a sketch is not a valid poll. */
export type Fault = "content" | "options" | "long" | "many" | "correct" | "range";

/** Whether people choose among options that the poll's author writes. */
export const asksOptions = (kind: SketchKind): boolean => hasOptions(kind);

/** Returns why a sketch is not a valid poll, or undefined if it is valid. Empty options are ignored. */
export function faultOf(sketch: Sketch): Fault | undefined {
  const { kind, content, options, settings } = sketch;
  if (content.trim() === "") return "content";
  const filled = asksOptions(kind) ? options.filter(({ content }) => content.trim() !== "") : [];
  if (asksOptions(kind) && filled.length < MIN_OPTIONS) return "options";
  if (kind === "rank" && filled.length > RANKED.most) return "many";
  if (kind === "quiz" && !filled.some(({ correct }) => correct)) return "correct";
  if ([content, ...filled.map(({ content }) => content)].some((it) => it.trim().length > MAX_TEXT))
    return "long";
  return settingFault(kind, settings[kind] ?? {}) ? "range" : undefined;
}

const typeOf = ({ kind, isMulti }: Sketch): PollType =>
  kind === "choice" && isMulti ? "multi" : kind;

/** Converts a sketch to the server's format. */
export function contentOf(sketch: Sketch) {
  const { kind, content, options, settings } = sketch;
  const own = settings[kind];
  return {
    content: content.trim(),
    poll_type: typeOf(sketch),
    options: (asksOptions(kind) ? options : [])
      .map(({ id, content, correct = false }) => ({
        ...(id !== undefined && { id }),
        content: content.trim(),
        ...(kind === "quiz" && { correct }),
      }))
      .filter(({ content }) => content !== "")
      .map((option, order) => ({ ...option, order })),
    ...(own && { settings: sentSettings(kind, own) }),
  };
}

/** Returns the settings to send: null resets a setting whose field was cleared. */
function sentSettings(kind: SketchKind, own: PollSettings) {
  if (kind === "quiz") return { seconds: own.seconds ?? null };
  if (kind !== "scale") return own;
  const label = (text = "") => text.trim().slice(0, MAX_LABEL) || null;
  return { ...own, min_label: label(own.min_label), max_label: label(own.max_label) };
}

/** Returns a sketch's changes to a poll, or undefined if there are none. */
export function changesOf(poll: ListedPoll, sketch: Sketch): PollChanges | undefined {
  const { content, options, poll_type, settings } = contentOf(sketch);
  const isOfType = poll_type === (poll.poll_type ?? "choice");
  const isSame =
    options.length === poll.options.length &&
    options.every(({ id, content, correct }, at) => {
      const before = poll.options[at];
      return (
        id === before?.id &&
        content === before?.content &&
        (correct === undefined || correct === (before.correct ?? false))
      );
    });
  const known: Record<string, unknown> = poll.settings ?? {};
  const changed = Object.entries(settings ?? {}).filter(
    ([name, value]) => (known[name] ?? null) !== (value ?? null),
  );
  if (isSame && isOfType && changed.length === 0 && content === poll.content) return undefined;
  return {
    ...(!isOfType && { poll_type }),
    ...(content !== poll.content && { content }),
    ...(!isSame && { options }),
    ...(changed.length > 0 && { settings: Object.fromEntries(changed) }),
  };
}

/** Returns a list with an entry moved to another position, or the same list if there is no such position. */
export function moved<T>(list: readonly T[], from: number, to: number): readonly T[] {
  if (to < 0 || to >= list.length) return list;
  const others = list.toSpliced(from, 1);
  return others.toSpliced(to, 0, list[from]!);
}
