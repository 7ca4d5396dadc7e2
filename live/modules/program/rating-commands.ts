import { type Store, StoreError } from "../../../db/contract/store.js";
import type { Commands } from "../../../schemas/live/index.js";
import { FEWEST_RATINGS, feedbackIn, isRateable } from "../../../schemas/plain/stage/feedback.js";
import type { CommandContext, CommandTable } from "../../module.js";
import { LiveError } from "../../rules/problems.js";
import { type ProgramPorts, unknownSession, viewOf } from "./program-context.js";
import { sessionsFor } from "./program-pushes.js";

/** Ports of the commands for ratings. */
export interface RatingPorts extends ProgramPorts {
  readonly store: ProgramPorts["store"] & Pick<Store, "ratings">;
}

/** Commands for rating sessions. */
export const ratings: CommandTable<"session.rate" | "session.ratings", RatingPorts> = {
  "session.rate": { requires: "session.rate", handler: rate },
  "session.ratings": { requires: "session.rate", handler: list },
};

async function rate(
  context: CommandContext<RatingPorts>,
  { session: id, stars, text = "" }: Commands["session.rate"]["payload"],
) {
  const { ports, connection, me } = context;
  const { store, clock } = ports;
  const view = await viewOf(context);
  const program = await store.program.get(connection.world);
  if (typeof id !== "string" || !sessionsFor(view, program).has(id)) throw unknownSession();
  const { value } = program.sessions.find(({ value }) => value.id === id)!;
  const { sessions: asks } = feedbackIn(view.state.world.value.config);
  if (!asks || !isRateable(value, clock.date())) throw new LiveError("session.not_rateable");
  const rating = { session: id, stars, text: text.trim() };
  try {
    await store.ratings.rate(connection.world, me.id, rating, clock.date(), connection.author);
  } catch (error) {
    const isAbsent = error instanceof StoreError && error.problem === "absent";
    // The session has been deleted since the check.
    if (isAbsent && error.field === "session") throw unknownSession();
    throw error;
  }
  return {};
}

async function list(
  context: CommandContext<RatingPorts>,
): Promise<Commands["session.ratings"]["result"]> {
  const { ports, connection, me } = context;
  const { store } = ports;
  const view = await viewOf(context);
  const own = await store.ratings.own(connection.world, me.id);
  const { sessions, show_speakers } = feedbackIn(view.state.world.value.config);
  return {
    asks: sessions,
    ratings: own,
    averages: show_speakers ? await averagesOf(context) : [],
  };
}

/** Returns the averages of the sessions in which the user is a speaker. */
async function averagesOf({ ports, connection, me }: CommandContext<RatingPorts>) {
  const { program, ratings } = ports.store;
  const { sessions, speakers } = await program.get(connection.world);
  const mine = new Set(
    speakers.filter(({ value }) => value.user_id === me.id).map(({ value }) => value.id),
  );
  if (mine.size === 0) return [];
  const theirs = new Set(
    sessions
      .filter(({ value }) => value.speaker_ids.some((id) => mine.has(id)))
      .map(({ value }) => value.id),
  );
  return (await ratings.sums(connection.world))
    .filter(({ session, count }) => theirs.has(session) && count >= FEWEST_RATINGS)
    .map(({ session, count, stars }) => ({ session, stars: averageOf(stars, count), count }));
}

/** Rounds an average to one decimal place. */
export const averageOf = (sum: number, count: number): number =>
  Math.round((10 * sum) / count) / 10;
