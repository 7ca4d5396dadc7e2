import type { FastifyRequest } from "fastify";
import type { SharedCommand } from "../live/commands.js";
import { authorOf } from "../plugins/auth/guard.js";
import type { Commands } from "../schemas/live/index.js";

/**
 * Carries out a command of the websocket for the caller of a request, with the same rights,
 * limits and effects.
 * @param request on a route that requires permission keys.
 * @returns its result, as JSON.
 * @throws {Refusal | InvalidData}
 */
export const performAsJson = <N extends SharedCommand>(
  request: FastifyRequest,
  name: N,
  payload: Commands[N]["payload"],
): Promise<string> =>
  request.server.live.call(
    {
      identity: request.caller,
      user: request.callerId,
      author: authorOf(request),
      world: request.world!,
      expected: request.expectedVersions(),
    },
    name,
    payload,
  );

/** The same with the result as a value. */
export const perform = async <N extends SharedCommand>(
  request: FastifyRequest,
  name: N,
  payload: Commands[N]["payload"],
): Promise<Commands[N]["result"]> =>
  JSON.parse(await performAsJson(request, name, payload)) as Commands[N]["result"];
