import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type {
  ContextConfigDefault,
  FastifyRequest,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
} from "fastify";
import type { SharedCommand } from "../live/commands.js";
import { authorOf } from "../plugins/auth/guard.js";
import type { Commands } from "../schemas/live/index.js";
import { timeIn as readTime } from "../schemas/plain/times.js";
import { InvalidData } from "../schemas/validate.js";

/** A handler whose `params`, `query` and `body` have the types of a schema. */
export type Handler<S extends FastifySchema> = RouteHandlerMethod<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  RouteGenericInterface,
  ContextConfigDefault,
  S,
  TypeBoxTypeProvider
>;

/**
 * The schemas and the handler of a route. Its path and its requirement are in the
 * table of routes at the top of the file.
 * @param schema the schemas of the request and the answers, and the words for the
 *   OpenAPI document.
 */
export const endpoint = <S extends FastifySchema>(schema: S, handler: Handler<S>) => ({
  schema,
  handler: handler as RouteHandlerMethod,
});

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

/**
 * A time in a query, in milliseconds since 1970.
 * @param name the parameter.
 * @throws {InvalidData} about a time that does not exist.
 */
export function timeIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text);
  if (time !== undefined) return time;
  throw new InvalidData({ [name]: ["Must be a time that exists."] });
}
