import type { PollSummary } from "../../schemas/plain/polls.js";
import type { Session } from "./session.js";
import { dayOf } from "../lib/zones.js";

// Computes the figures of an event's report, by day, from its results.

/** An average rating. */
export interface Average {
  readonly stars: number;
  readonly count: number;
}

interface ReportSession {
  readonly id: string;
  readonly title: string;
  readonly room: string;
  /** The start, in milliseconds since 1970. */
  readonly at: number;
  /** Peak number of people in the room during the session; undefined if nothing was counted. */
  readonly people: number | undefined;
  readonly rating: Average | undefined;
}

interface ReportQuestion {
  readonly id: string;
  readonly content: string;
  readonly score: number;
  readonly room: string;
}

interface ReportPoll {
  readonly id: string;
  readonly content: string;
  readonly room: string;
  /** The choices or words with their votes, or with their points in a ranking. */
  readonly options: readonly { id: string; content: string; votes: number }[];
  /** The texts that people wrote, newest first. */
  readonly texts: readonly string[];
  /** The average on a scale. */
  readonly average?: number | undefined;
}

/** One day in the report. */
export interface ReportDay {
  /** Such as `2026-11-28`, in the event's time zone. */
  readonly day: string;
  readonly peak: { people: number; room: string; at: number } | undefined;
  readonly messages: number;
  readonly sessions: readonly ReportSession[];
  readonly questions: readonly ReportQuestion[];
  readonly polls: readonly ReportPoll[];
  readonly isEmpty: boolean;
}

/** The report of an event. */
export interface Report {
  readonly people: number;
  readonly messages: number;
  readonly rating: Average | undefined;
  /** Whether attendance was recorded. */
  readonly hasNumbers: boolean;
  readonly days: readonly ReportDay[];
}

interface ActivityAt {
  room_id: string;
  room: string;
  at: string;
  people: number | null;
  messages: number | null;
}

interface ExportedQuestion extends ReportQuestion {
  timestamp: string;
  state: string;
}

interface ExportedPoll {
  id: string;
  room: string;
  content: string;
  state: string;
  timestamp: string;
  options: readonly { id: string; content: string | null; votes: number }[];
  /** The results of a poll that is not counted per option. */
  summary?: PollSummary | null;
}

/** Number of questions per day. */
const MOST_QUESTIONS = 10;
/** Number of words, and of texts, per poll. */
const MOST_ANSWERS = 20;

/** Loads an event's report. */
export async function reportOf({ api, live }: Session): Promise<Report> {
  const get = async <T>(path: string): Promise<T[]> =>
    ((await (await api.request("GET", path)).json()) as { results: T[] }).results;
  const program = await live.call("program.get", {});
  const zone = program.timezone ?? "UTC";
  // One at a time, because an event may run only a few exports concurrently.
  const people = (await api.listUsers({ page_size: 1 })).count;
  const activity = await get<ActivityAt>("/results/activity/");
  const questions = await get<ExportedQuestion>("/results/questions/");
  const polls = await get<ExportedPoll>("/results/polls/");
  const ratings = await get<{ session_id: string; stars: number }>("/results/feedback/");

  const averages = averagesOf(ratings);
  const rooms = new Map((live.state?.rooms ?? []).map(({ id, name }) => [id, name]));
  const days = new Map<string, ReturnType<typeof emptyDay>>();
  const dayAt = (time: number) => {
    const day = dayOf(time, zone);
    let found = days.get(day);
    if (!found) days.set(day, (found = emptyDay(day)));
    return found;
  };
  const counts = new Map<string, { at: number; people: number }[]>();
  for (const { room_id, room, people, messages, at: text } of activity) {
    const at = Date.parse(text);
    const day = dayAt(at);
    day.messages += messages ?? 0;
    if (people === null) continue;
    if (people > (day.peak?.people ?? 0)) day.peak = { people, room, at };
    const list = counts.get(room_id);
    if (list) list.push({ at, people });
    else counts.set(room_id, [{ at, people }]);
  }
  for (const question of questions) {
    if (question.state !== "visible") continue;
    dayAt(Date.parse(question.timestamp)).questions.push(question);
  }
  for (const poll of polls) {
    if (poll.state === "draft") continue;
    dayAt(Date.parse(poll.timestamp)).polls.push(reportedPoll(poll));
  }
  for (const { id, title, room_id, starts_at, ends_at, state } of program.sessions ?? []) {
    if (state !== "public" || !starts_at || !ends_at || Date.parse(starts_at) > Date.now())
      continue;
    const [at, end] = [Date.parse(starts_at), Date.parse(ends_at)];
    const here = (counts.get(room_id ?? "") ?? []).filter((it) => it.at >= at && it.at < end);
    dayAt(at).sessions.push({
      ...{ id, title, at, room: rooms.get(room_id ?? "") ?? "–" },
      people: here.length === 0 ? undefined : Math.max(...here.map(({ people }) => people)),
      rating: averages.get(id),
    });
  }
  const stars = ratings.reduce((sum, rating) => sum + rating.stars, 0);
  return {
    people,
    messages: activity.reduce((sum, { messages }) => sum + (messages ?? 0), 0),
    rating:
      ratings.length === 0 ? undefined : { stars: stars / ratings.length, count: ratings.length },
    hasNumbers: activity.some(({ people }) => people !== null) || activity.length === 0,
    days: [...days.values()]
      .sort((a, b) => (a.day < b.day ? -1 : 1))
      .map((day) => ({
        ...day,
        sessions: day.sessions.sort((a, b) => (b.people ?? -1) - (a.people ?? -1) || a.at - b.at),
        questions: day.questions.sort((a, b) => b.score - a.score).slice(0, MOST_QUESTIONS),
        isEmpty:
          !day.peak &&
          day.messages + day.sessions.length + day.questions.length + day.polls.length === 0,
      })),
  };
}

const emptyDay = (day: string) => ({
  day,
  peak: undefined as { people: number; room: string; at: number } | undefined,
  messages: 0,
  sessions: [] as ReportSession[],
  questions: [] as ExportedQuestion[],
  polls: [] as ReportPoll[],
});

/** Returns a poll's entry in the report. */
export function reportedPoll({ id, content, room, options, summary }: ExportedPoll): ReportPoll {
  const named = options.flatMap(({ content, ...option }) =>
    content === null ? [] : [{ ...option, content }],
  );
  const poll = { id, content, room, texts: [], options: named };
  if (!summary) return poll;
  if ("words" in summary) {
    const words = summary.words.filter(({ hidden }) => !hidden).slice(0, MOST_ANSWERS);
    return {
      ...poll,
      options: words.map(({ text, count }) => ({ id: text, content: text, votes: count })),
    };
  }
  if ("answers" in summary) {
    const shown = summary.answers.filter(({ hidden, held }) => !hidden && !held);
    return { ...poll, texts: shown.slice(0, MOST_ANSWERS).map(({ text }) => text) };
  }
  if ("scores" in summary) {
    const pointed = named.map((option) => ({ ...option, votes: summary.scores[option.id] ?? 0 }));
    return { ...poll, options: pointed.sort((a, b) => b.votes - a.votes) };
  }
  return {
    ...poll,
    average: summary.average ?? undefined,
    options: Object.entries(summary.counts)
      .map(([value, votes]) => ({ id: value, content: value, votes }))
      .sort((a, b) => Number(a.content) - Number(b.content)),
  };
}

/** Returns the average rating of each session. */
function averagesOf(
  ratings: readonly { session_id: string; stars: number }[],
): Map<string, Average> {
  const sums = new Map<string, Average>();
  for (const { session_id, stars } of ratings) {
    const { stars: sum = 0, count = 0 } = sums.get(session_id) ?? {};
    sums.set(session_id, { stars: sum + stars, count: count + 1 });
  }
  return new Map([...sums].map(([id, { stars, count }]) => [id, { stars: stars / count, count }]));
}
