import { isSame, type Listed } from "../../../../client/live/item-kind.js";
import { Random } from "../random.js";
import { type Faults, faultsOf, NO_FAULTS } from "../timeline.js";
import { type Action, actionOf, actions, changeProgram, PRIVILEGED } from "./actions.js";
import { Client } from "./client.js";
import { House } from "./house.js";

/** Duration of the disturbances, and of the time to settle afterwards, in milliseconds. */
const TROUBLE = 20_000;
const SETTLING = 10_000;

/** Time for new clients to log in and fetch their lists, in milliseconds. */
const LOGIN = 2_000;

/** One step of a scenario. */
export type Step = { at: number } & (
  | { do: "act"; action: Action; client: number; seed: number }
  | { do: "pause"; node: number; duration: number }
  | { do: "kill"; node: number; duration: number }
  | { do: "go back"; duration: number }
  | { do: "drop"; client: number; silent: boolean }
  | { do: "stall"; client: number; duration: number }
  | { do: "session"; seed: number }
  | { do: "break"; faults: Faults }
);

/** Everything that happens in one run, as determined by a seed. */
interface Scenario {
  seed: number;
  nodes: number;
  clients: number;
  hasProgram: boolean;
  steps: Step[];
}

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const nodes = 1 + random.below(3);
  const clients = 4 + random.below(6);
  const length = 40 + random.below(120);
  const goesBack = random.chance(0.3);
  const steps = Array.from({ length }, (): Step => {
    const at = random.between(500, TROUBLE);
    const node = random.below(nodes);
    const client = random.below(clients);
    const kind = random.next();
    if (kind < 0.86) {
      const action = actionOf(random);
      // The third client is an administrator, and the fourth a moderator.
      const isFor = PRIVILEGED.has(action) && random.chance(0.85);
      const who = isFor ? 2 + random.below(2) : client;
      const seed = random.below(2 ** 32);
      return { at, do: "act", action, client: who, seed };
    }
    if (kind < 0.88) {
      const isLong = random.chance(0.15);
      const duration = random.between(10, isLong ? 60_000 : 1_500);
      return { at, do: "pause", node, duration };
    }
    if (kind < 0.9) {
      return { at, do: "kill", node, duration: random.between(50, 3_000) };
    }
    if (kind < 0.91 && goesBack) {
      return { at, do: "go back", duration: random.between(0, 3_000) };
    }
    if (kind < 0.94) {
      return { at, do: "drop", client, silent: random.chance(0.3) };
    }
    if (kind < 0.95) {
      return { at, do: "stall", client, duration: random.between(10, 3_000) };
    }
    return { at, do: "break", faults: faultsOf(random) };
  });
  steps.sort((a, b) => a.at - b.at);
  return { seed, nodes, clients, hasProgram: false, steps };
}

/** Returns {@link scenarioOf}, in a world whose sessions come and go. */
export function programScenarioOf(seed: number): Scenario {
  const scenario = scenarioOf(seed);
  const random = new Random(~seed);
  const more = Array.from({ length: 10 + random.below(30) }, (): Step => {
    const at = random.between(500, TROUBLE);
    return { at, do: "session", seed: random.below(2 ** 32) };
  });
  const steps = [...scenario.steps, ...more].sort((a, b) => a.at - b.at);
  return { ...scenario, hasProgram: true, steps };
}

/**
 * Runs a scenario.
 * @param trace receives a line for each frame that a client sends or receives.
 * @returns the violations.
 */
export async function run(
  { steps, ...people }: Scenario,
  trace: (line: string) => void = () => {},
): Promise<string[]> {
  const house = await House.open({ ...people, seed: ~people.seed }, trace);
  try {
    await play(house, steps);
  } finally {
    house.close();
  }
  return house.violations;
}

async function play(house: House, steps: readonly Step[]): Promise<void> {
  let end = TROUBLE;
  for (const step of steps) {
    if (step.do === "pause") end = Math.max(end, step.at + step.duration);
    plan(house, step);
  }
  const { timeline } = house;
  await timeline.runUntil(TROUBLE);
  house.faults = NO_FAULTS;
  await timeline.runUntil(end + SETTLING);
  await checkSettled(house);
}

function plan(house: House, step: Step): void {
  const { timeline, database } = house;
  if (step.do !== "go back") {
    timeline.at(step.at, () => perform(house, step));
    return;
  }
  let earlier: Buffer;
  timeline.at(step.at - step.duration, () => {
    earlier = database.copy();
  });
  timeline.at(step.at, () => database.goBack(earlier));
}

function perform(house: House, step: Exclude<Step, { do: "go back" }>): void {
  const { nodes, clients } = house;
  switch (step.do) {
    case "act": {
      const client = clients[step.client % clients.length]!;
      actions[step.action](client, new Random(step.seed), house);
      break;
    }
    case "pause":
      nodes[step.node]!.pause(step.duration);
      break;
    case "kill":
      house.kill(step.node, step.duration);
      break;
    case "drop":
      clients[step.client]!.drop(step.silent);
      break;
    case "stall":
      clients[step.client]!.stall(step.duration);
      break;
    case "session":
      void changeProgram(house, new Random(step.seed));
      break;
    case "break":
      house.faults = step.faults;
  }
}

/** Checks that each client, after some quiet time, knows what a new client of the same user learns. */
async function checkSettled(house: House): Promise<void> {
  const { clients, timeline } = house;
  const twins = clients.map((client, i) => {
    const name = `twin of ${client.name}`;
    return new Client(house, name, client.who, true, i, client);
  });
  for (const twin of twins) twin.connect();
  await timeline.runUntil(timeline.now + LOGIN);
  clients.forEach((client, i) => checkClient(house, client, twins[i]!));
}

function checkClient(house: House, client: Client, twin: Client): void {
  const { clients, database } = house;
  const { userId } = client;
  const isBanned = database.present.users.get(userId ?? "")?.moderation_state === "banned";
  if (isBanned && client.state) {
    house.complain(`${client.name} is banned and still connected`);
  }
  if (!client.state !== !twin.state) {
    house.complain(
      `${client.name} is ${client.state ? "" : "not "}connected, and its twin is ${twin.state ? "" : "not"}`,
    );
  }
  if (!client.state || !twin.state) return;
  const { changes, who } = client;
  const isAlone = clients.filter((other) => other.who === who).length === 1;
  const [actual, expected] = [client, twin].map((it) => pictureOf(it, { isAlone, changes }));
  for (const difference of differences(actual, expected)) {
    house.complain(`${client.name} (${client.node?.name}): ${difference}`);
  }
  for (const [channel, { from, events }] of client.channels.listening) {
    const said = database.eventsOf(channel);
    const missed = said.flatMap((event) => {
      const { id } = event;
      if (id < from || events.includes(id)) return [];
      return house.mayAlwaysRead(client, channel, event) ? [id] : [];
    });
    const gone = events.filter((id) => !said.some((event) => event.id === id));
    if (missed.length + gone.length === 0) continue;
    house.complain(
      `${client.name} (${client.node?.name}) missed ${missed.join()} of ${channel}, and has ${gone.join()} that are not there`,
    );
  }
}

/** Removes what differs between runs from a violation. */
const kindOf = (violation = ""): string =>
  violation
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "id")
    .replace(/\d+/g, "n")
    .slice(0, 70);

/** Returns {@link run}, limited to violations of the same kind as the scenario's first one. */
export async function likeFirst(
  scenario: Scenario,
): Promise<(scenario: Scenario) => Promise<string[]>> {
  const kind = kindOf((await run(scenario))[0]);
  return async (other) => {
    const violations = await run(other);
    return violations.filter((violation) => kindOf(violation) === kind);
  };
}

/** Which parts of a picture are compared. */
export interface Scope {
  /** Whether no other client has the same user: the server does not push what a user does on another client. */
  readonly isAlone: boolean;
  /**
   * Whether the client asked for changes. Other clients receive only the schedules of rooms they
   * are in, and never learn that their user is silenced, or a poll's type.
   */
  readonly changes: boolean;
}

/** Returns what a client must know, in a comparable form. */
export function pictureOf(
  { state, lists, program, viewers, isSilenced }: Client,
  { isAlone, changes }: Scope,
): Record<string, unknown> {
  if (!state) return {};
  const may = (room: string, right: string) =>
    state.rooms.find(({ id }) => id === room)?.permissions.includes(`room:${right}`) ?? false;
  // The server does not push a user's own question while others cannot see it.
  const isOwn = (it: Listed & { state?: string }, room: string) =>
    ["mod_queue", "archived"].includes(it.state ?? "") &&
    !may(room, "question.moderate") &&
    !may(room, "poll.manage");
  const items = (list: readonly Listed[] | undefined, room: string) =>
    list
      ?.filter((it) => !isOwn(it, room))
      .map((it) => ({
        ...it,
        ...(!changes && { poll_type: undefined }),
        ...(!isAlone && { voted: null, answers: null, results: null }),
      }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return {
    user: {
      ...state.user,
      inactive: undefined,
      moderation_state: changes ? state.user.moderation_state : undefined,
    },
    world: state.world,
    permissions: state.permissions.toSorted(),
    rooms: state.rooms.map(({ permissions, users: _users, count: _count, ...room }) => ({
      ...room,
      schedule_data: changes && room.schedule_data,
      permissions: permissions.toSorted(),
    })),
    // Clients append an announcement that becomes active; lists are in order of creation.
    announcements: state.announcements.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    program: program?.sessions ?? null,
    viewers: viewers?.ids ? [...viewers.ids].toSorted() : null,
    channels: Object.fromEntries(
      state.channels.flatMap(({ id, members }) =>
        members || (may(id, "chat.read") && !isSilenced)
          ? [[id, members?.map((member) => member.id).toSorted() ?? null]]
          : [],
      ),
    ),
    lists: Object.fromEntries(
      [...lists.rooms].map(([id, { questions, polls }]) => [
        id,
        { questions: items(questions.items, id), polls: items(polls.items, id) },
      ]),
    ),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Describes where two JSON values differ. */
export function differences(actual: unknown, expected: unknown, path = ""): string[] {
  if (isSame(actual, expected)) return [];
  if (!isObject(actual) || !isObject(expected)) {
    const [is, not] = [actual, expected].map(
      (value) => JSON.stringify(value)?.slice(0, 200) ?? "nothing",
    );
    return [`${path} is ${is}, not ${not}`];
  }
  const keys = new Set([...Object.keys(actual), ...Object.keys(expected)]);
  return [...keys].flatMap((key) => differences(actual[key], expected[key], `${path}.${key}`));
}
