import type { FastifyRequest } from "fastify";
import type { Program, RejectedWrite } from "../../db/contract/program-store.js";
import { StoreError, type Versioned } from "../../db/contract/store.js";
import { hostOf } from "../../db/rules/file-rows.js";
import type { ProgramReader } from "../../db/rules/program-views.js";
import { beyondQuota, Conflict } from "../../plugins/http/errors.js";
import { isWithheld, may, SEE } from "../../schemas/plain/permissions.js";
import { InvalidData } from "../../schemas/validate.js";
import type { PageQuery } from "../../schemas/values.js";
import { type ListOrder, readSlice } from "../pages.js";

// REST callers' access to a program.

/** Maximum size of a page, in characters. */
const MAX_PAGE = 4 * 1024 * 1024;

/** Sessions, of which only the rooms are relevant. */
interface InRooms {
  readonly sessions: readonly {
    readonly value: { readonly room_id: string | null };
  }[];
}

/** Whether the caller may change the program, and can therefore see drafts. */
export const edits = ({ caller, callerState, world }: FastifyRequest): boolean =>
  !isWithheld(callerState, "program.update") &&
  may(caller, ["program.update"], { world: world!.value });

/** Returns a program reader with the caller's rights. The reader knows only the rooms of the given sessions. */
export async function readerOf(
  request: FastifyRequest,
  { sessions }: InRooms | Program,
): Promise<ProgramReader> {
  const { caller, params, server, world } = request;
  const { world_id } = params as { world_id: string };
  const place = { world: world!.value };
  const ids = new Set(sessions.flatMap(({ value }) => value.room_id ?? []));
  const visible = new Set<string>();
  for (const id of ids) {
    const room = await server.store.rooms.get(world_id, id);
    if (room && may(caller, SEE, { ...place, room: room.value })) {
      visible.add(id);
    }
  }
  return { edits: edits(request), seesRoom: (id) => visible.has(id) };
}

/**
 * Renders a page of a list as JSON.
 * @throws {StoreError} `large` if the page would exceed a few MiB.
 */
export async function jsonPageOf<T>(
  request: FastifyRequest,
  query: PageQuery,
  records: readonly Versioned<T>[],
  order: ListOrder<Versioned<T>>,
): Promise<string> {
  const { found, links } = await readSlice(request, query, records, order);
  const { count, items } = found;
  const results = items.map(({ json }) => json);
  const size = results.reduce((sum, { length }) => sum + length, 0);
  if (size > MAX_PAGE && results.length > 1) {
    throw new StoreError("large", "The page is too large.");
  }
  const head = JSON.stringify({ count, ...links }).slice(0, -1);
  return `${head},"results":[${results.join()}]}`;
}

/**
 * Returns the result of a write.
 * @throws {InvalidData | Refusal} if the store rejected the written values.
 */
export function accepted<T extends object>(written: T | RejectedWrite): T {
  if (!("faults" in written)) return written;
  const { faults, problem } = written;
  if (problem === "taken") throw new Conflict(faults);
  if (problem === "quota") {
    throw beyondQuota(Object.values(faults).flat().join(" "));
  }
  throw new InvalidData(faults);
}

/** Returns the hosts that serve uploads for the request's world. */
export const hostsOf = ({ base, world }: FastifyRequest): string[] => [
  ...hostOf(base),
  ...hostOf(world!.value.domain),
];
