import type { Client, Json } from "../../conformance/client.js";
import { ofTraits, type OpenWorld } from "./open-world.js";

/** Rules that grant each right to the trait of its name. */
export const byTrait = ofTraits(
  "question.read",
  "question.ask",
  "question.vote",
  "question.moderate",
  "poll.read",
  "poll.vote",
  "poll.manage",
  "poll.results",
);

/** What differs in a room; a module that is null is not there. */
interface RoomOptions {
  question?: Json;
  poll?: Json;
  chat?: boolean;
  rules?: Record<string, unknown>;
}

const ACTIVE = { active: true };

/** The modules of a room. A config of `none` is left out. */
export function modulesOf({ question = ACTIVE, poll = ACTIVE, chat }: RoomOptions = {}): Json[] {
  return Object.entries({ question, poll, "chat.native": chat ? {} : null })
    .filter(([, config]) => config !== null)
    .map(([type, config]) => (config === "none" ? { type } : { type, config }));
}

/** Creates a room with questions and polls. @returns its id. */
export const voteRoom = (world: OpenWorld, { rules = {}, ...options }: RoomOptions = {}) =>
  world.room({ module_config: modulesOf(options), permission_config: rules });

/** Connects a user with all keys in rooms, who enters none. */
export const hostOf = (world: OpenWorld): Promise<Client> =>
  world.person("host", "admin", "api", ...Object.keys(byTrait));

/** Connects a user who enters a room. */
export async function entered(world: OpenWorld, room: string, uid: string, ...traits: string[]) {
  const client = await world.person({ uid, traits });
  await client.do("room.enter", { room });
  return client;
}

let count = 0;

/** Makes a question. @returns it as moderators see it. */
export async function makeQuestion(host: Client, room: string, state = "visible"): Promise<Json> {
  const asked = await host.do("question.ask", { room, content: `Question ${++count}?` });
  const { id } = asked.question;
  if (asked.question.state === state) return asked.question;
  return (await host.do("question.update", { room, id, state })).question;
}

/** Makes a poll, open and with three options by default. @returns it as managers see it. */
export async function makePoll(host: Client, room: string, draft: object = {}): Promise<Json> {
  const options = ["A", "B", "C"].map((content, i) => ({ content, order: i + 1 }));
  const content = `Poll ${++count}?`;
  return (await host.do("poll.create", { room, content, state: "open", options, ...draft })).poll;
}

/** Votes in a poll by the positions of its options. @returns the poll of the answer. */
export async function vote(client: Client, poll: Json, ...positions: number[]): Promise<Json> {
  const options = positions.map((position) => poll.options[position].id);
  return (await client.do("poll.vote", { room: poll.room_id, id: poll.id, options })).poll;
}

/** The votes for each option in their order; undefined without results. */
export const countsOf = ({ options, results }: Json): number[] | undefined =>
  results && options.map(({ id }: Json) => results[id]);
