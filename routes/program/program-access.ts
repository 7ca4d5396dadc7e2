import type { FastifyRequest } from "fastify";
import type { Program, Refused } from "../../db/contract/program-store.js";
import { StoreError, type Versioned } from "../../db/contract/store.js";
import { hostOf } from "../../db/rules/file-rows.js";
import type { Reader } from "../../db/rules/program-views.js";
import { beyondQuota, Conflict } from "../../plugins/http/errors.js";
import { isWithheld, may, SEE } from "../../schemas/plain/permissions.js";
import { InvalidData } from "../../schemas/validate.js";
import type { PageQuery } from "../../schemas/values.js";
import { type ListOrder, readSlice } from "../pages.js";

// What a caller of the REST API sees of a program.

/** The largest page, in characters. */
const MAX_PAGE = 4 * 1024 * 1024;

/** The rooms of some sessions. */
interface InRooms {
  readonly sessions: readonly {
    readonly value: { readonly room_id: string | null };
  }[];
}

/** Whether the caller may change the program, and so sees drafts. */
export const edits = ({ caller, callerState, world }: FastifyRequest): boolean =>
  !isWithheld(callerState, "program.update") &&
  may(caller, ["program.update"], { world: world!.value });

/** What the caller may see of some sessions. */
export async function readerOf(
  request: FastifyRequest,
  { sessions }: InRooms | Program,
): Promise<Reader> {
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
 * The answer with a page of a list, as JSON.
 * @throws {StoreError} `large` when the page would take more than a few MiB.
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
 * The result of a write.
 * @throws {InvalidData | Refusal} if the store refused its values.
 */
export function accepted<T extends object>(written: T | Refused): T {
  if (!("faults" in written)) return written;
  const { faults, problem } = written;
  if (problem === "taken") throw new Conflict(faults);
  if (problem === "quota") {
    throw beyondQuota(Object.values(faults).flat().join(" "));
  }
  throw new InvalidData(faults);
}

/** The hosts under which uploads of the world of a request have addresses. */
export const hostsOf = ({ base, world }: FastifyRequest): string[] => [
  ...hostOf(base),
  ...hostOf(world!.value.domain),
];
