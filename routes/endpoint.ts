import type { TypeBoxTypeProvider } from "@fastify/type-provider-typebox";
import type {
  ContextConfigDefault,
  FastifySchema,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
  RouteGenericInterface,
  RouteHandlerMethod,
} from "fastify";

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
