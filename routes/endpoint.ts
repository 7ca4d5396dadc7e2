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

/** A handler whose `params`, `query` and `body` are typed by a schema. */
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
 * Combines a route's schemas and handler. The route's path and requirement are in the route table
 * at the top of the file.
 * @param schema the schemas of the request and the responses, and the text for the OpenAPI
 * document.
 */
export const endpoint = <S extends FastifySchema>(schema: S, handler: Handler<S>) => ({
  schema,
  handler: handler as RouteHandlerMethod,
});

/**
 * Runs a websocket command for a request's caller, with the same rights, limits and effects as over
 * the websocket.
 * @param request a request on a route that requires permission keys.
 * @returns the result, as JSON.
 * @throws {Refusal | InvalidData} if the command fails.
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

/** Like {@link performAsJson}, but parses the result. */
export const perform = async <N extends SharedCommand>(
  request: FastifyRequest,
  name: N,
  payload: Commands[N]["payload"],
): Promise<Commands[N]["result"]> =>
  JSON.parse(await performAsJson(request, name, payload)) as Commands[N]["result"];

/**
 * Parses a time in a query into milliseconds since 1970.
 * @param name the parameter's name.
 * @throws {InvalidData} if the time does not exist.
 */
export function timeIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text);
  if (time !== undefined) return time;
  throw new InvalidData({ [name]: ["Must be a valid time."] });
}
